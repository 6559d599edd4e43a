#include "connectors/http/url.hpp"

#include <algorithm>
#include <charconv>

#include "connectors/http/http_text.hpp"
#include "drom/model/headers.hpp"

namespace drom::http {
namespace {

Error wrong(std::string what, std::string hint = {}) {
  return Error(ErrorKind::config, std::move(what), std::move(hint));
}

Result<void> parse_authority(std::string_view text, Target& target) {
  if (text.find('@') != std::string_view::npos)
    return wrong("the URL holds a user or a password",
                 "use the options authMethod, authUsername and authPassword");
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return wrong("the URL has an unbalanced '['");
    host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':') return wrong("the URL has characters behind ']'");
    port = rest.empty() ? rest : rest.substr(1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (host.empty()) return wrong("the URL has no host");
  for (const char c : host)
    if (c <= ' ' || c == '\x7f' ||
        std::string_view("/?#[]@\\\"<>^`{|}").find(c) != std::string_view::npos)
      return wrong("the URL has a bad host name");
  target.host = host;
  target.port = target.tls ? 443 : 80;
  if (port.empty()) return {};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), target.port);
  if (error != std::errc() || end != port.data() + port.size() || target.port == 0)
    return wrong("the URL has a bad port '" + std::string(port) + "'", "ports go from 1 to 65535");
  return {};
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Url out;
  const size_t colon = text.find(':');
  const std::string_view scheme = text.substr(0, colon);
  if (colon == std::string_view::npos || !(iequals(scheme, "http") || iequals(scheme, "https")))
    return wrong("the URL must start with http:// or https://");
  out.target.tls = iequals(scheme, "https");
  text.remove_prefix(colon + 1);
  if (text.starts_with("//")) text.remove_prefix(2);
  const size_t end = text.find_first_of("/?#");
  Result<void> authority = parse_authority(text.substr(0, end), out.target);
  if (!authority) return std::move(authority.error());
  std::string_view rest = end == std::string_view::npos ? std::string_view() : text.substr(end);
  rest = rest.substr(0, rest.find('#'));
  const size_t question = rest.find('?');
  out.path = encode_path(rest.substr(0, question));
  if (!out.path.starts_with('/')) out.path.insert(0, "/");
  if (question != std::string_view::npos) {
    // A query that stands in the text is on the wire as it is, but for what may not be there.
    std::string_view query = rest.substr(question + 1);
    out.path += '?';
    while (true) {
      const size_t mark = query.find('?');
      out.path += encode_path(query.substr(0, mark));
      if (mark == std::string_view::npos) break;
      out.path += '?';
      query.remove_prefix(mark + 1);
    }
  }
  return out;
}

namespace {

bool has_scheme(std::string_view text) {
  const size_t end = text.find_first_of(":/?#");
  return end != std::string_view::npos && end > 0 && text[end] == ':';
}

// RFC 3986, 5.2.4, for a path that begins with a slash.
std::string without_dots(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const size_t end = path.find('/', 1);
    const std::string_view segment = path.substr(0, end);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
    const bool last = path.empty();
    if (segment == "/..") {
      out.resize(out.find_last_of('/') == std::string::npos ? 0 : out.find_last_of('/'));
      if (last) out += '/';
    } else if (segment == "/.") {
      if (last) out += '/';
    } else {
      out += segment;
    }
  }
  return out;
}

}  // namespace

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  if (has_scheme(reference)) return parse_url(reference);
  const std::string scheme = base.target.tls ? "https:" : "http:";
  if (reference.starts_with("//")) return parse_url(scheme + std::string(reference));
  const std::string_view path = std::string_view(base.path).substr(0, base.path.find('?'));
  const size_t mark = std::min(reference.find_first_of("?#"), reference.size());
  std::string merged(reference.substr(0, mark));
  if (merged.empty())
    merged = path;
  else if (!merged.starts_with('/'))
    merged.insert(0, path.substr(0, path.find_last_of('/') + 1));
  std::string tail(reference.substr(mark));
  if (reference.empty() || reference.front() == '#') tail = base.path.substr(path.size());
  return parse_url(scheme + "//" + base.target.authority() + without_dots(merged) + tail);
}

bool is_secret_name(std::string_view name) {
  std::string folded;
  for (const char c : name)
    if (c != '-' && c != '_' && c != '.')
      folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (const std::string_view part : {"password", "passwd", "pwd", "secret", "token", "apikey",
                                      "accesskey", "auth", "credential", "signature"})
    if (folded.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace drom::http
