#include <charconv>

#include "sql/mysql/mysql_database.hpp"

namespace drom::sql {
namespace {

Error wrong_url(std::string what) {
  return Error(ErrorKind::config, "the url is no MariaDB or MySQL url: " + std::move(what),
               "write mysql://user@host:3306/database");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0))
      return wrong_url("a '%' in it is not followed by two hexadecimal digits");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

constexpr std::string_view kSchemes[] = {"mysql://", "mariadb://", "jdbc:mysql://",
                                         "jdbc:mariadb://"};

// What stands behind the scheme; empty data when it is none of ours.
std::optional<std::string_view> after_scheme(std::string_view url) {
  for (const std::string_view scheme : kSchemes)
    if (url.starts_with(scheme)) return url.substr(scheme.size());
  return std::nullopt;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// sslMode and useSSL as Connector/J and MariaDB's Java driver have them.
std::optional<MysqlOptions::Tls> java_tls(std::string_view name, const std::string& value) {
  using Tls = MysqlOptions::Tls;
  if (name == "usessl") return value == "false" ? Tls::disable : Tls::verify_full;
  if (value == "disabled" || value == "disable") return Tls::disable;
  if (value == "preferred") return Tls::prefer;
  if (value == "required" || value == "trust") return Tls::require;
  // The library knows no check of the authority without that of the name.
  if (value == "verify_identity" || value == "verify-full" || value == "verify_ca" ||
      value == "verify-ca")
    return Tls::verify_full;
  return std::nullopt;
}

Result<void> set_parameter(const std::string& name, std::string value, bool jdbc,
                           MysqlOptions& options) {
  if (name == "user") {
    options.user = std::move(value);
  } else if (name == "password") {
    options.password = std::move(value);
  } else if (name == "socket" || (jdbc && name == "localSocket")) {
    options.socket = std::move(value);
  } else if (name == "sslrootcert") {
    options.ca_file = std::move(value);
  } else if (name == "sslmode") {
    const auto mode = tls_mode(value);
    if (!mode) return wrong_url("sslmode is disable, prefer, require or verify-full");
    options.tls = *mode;
  } else if (jdbc) {
    const std::string key = lower(name);
    if (key == "sslmode" || key == "usessl") {
      const auto mode = java_tls(key, lower(value));
      if (!mode) return wrong_url("it has an unknown " + name);
      options.tls = *mode;
    }
  } else {
    return wrong_url("it has an unknown parameter");
  }
  return {};
}

Result<void> read_parameters(std::string_view query, bool jdbc, MysqlOptions& options) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (pair.empty()) continue;
    Result<std::string> name = decoded(pair.substr(0, equals));
    Result<std::string> value =
        decoded(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    if (!name) return name.error();
    if (!value) return value.error();
    if (Result<void> set = set_parameter(*name, std::move(*value), jdbc, options); !set) return set;
  }
  return {};
}

Result<void> read_user(std::string_view text, MysqlOptions& options) {
  const size_t colon = text.find(':');
  Result<std::string> user = decoded(text.substr(0, colon));
  if (!user) return user.error();
  options.user = std::move(*user);
  if (colon == std::string_view::npos) return {};
  Result<std::string> password = decoded(text.substr(colon + 1));
  if (!password) return password.error();
  options.password = std::move(*password);
  return {};
}

Result<void> read_host(std::string_view text, MysqlOptions& options) {
  if (text.find(',') != std::string_view::npos) return wrong_url("it names several hosts");
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong_url("'[' is not closed");
    options.host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return wrong_url("the port is wrong");
    if (!rest.empty()) port = rest.substr(1);
  } else {
    const size_t colon = text.find(':');
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
    Result<std::string> host = decoded(text.substr(0, colon));
    if (!host) return host.error();
    if (!host->empty()) options.host = std::move(*host);
  }
  if (port.empty()) return {};
  const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), options.port);
  if (failed != std::errc() || end != port.data() + port.size() || options.port == 0 ||
      options.port > 65'535)
    return wrong_url("the port is wrong");
  return {};
}

}  // namespace

bool is_mysql_url(std::string_view url) { return after_scheme(url).has_value(); }

std::optional<MysqlOptions::Tls> tls_mode(std::string_view text) {
  using Tls = MysqlOptions::Tls;
  if (text == "disable") return Tls::disable;
  if (text == "prefer") return Tls::prefer;
  if (text == "require") return Tls::require;
  if (text == "verify-full") return Tls::verify_full;
  return std::nullopt;
}

Result<void> read_mysql_url(std::string_view url, MysqlOptions& options) {
  const std::optional<std::string_view> found = after_scheme(url);
  if (!found) return wrong_url("it does not begin with mysql:// or mariadb://");
  std::string_view rest = *found;
  const bool jdbc = url.starts_with("jdbc:");
  const size_t question = rest.find('?');
  const std::string_view query =
      question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  rest = rest.substr(0, question);
  const size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    Result<std::string> database = decoded(rest.substr(slash + 1));
    if (!database) return database.error();
    if (!database->empty()) options.database = std::move(*database);
    rest = rest.substr(0, slash);
  }
  // A password may hold an '@' that somebody forgot to encode.
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    if (Result<void> read = read_user(rest.substr(0, at), options); !read) return read;
    rest = rest.substr(at + 1);
  }
  if (Result<void> read = read_host(rest, options); !read) return read;
  return read_parameters(query, jdbc, options);
}

}  // namespace drom::sql
