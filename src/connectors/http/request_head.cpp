#include "connectors/http/request_head.hpp"

#include <algorithm>
#include <charconv>

#include "config/utf8.hpp"

namespace drom::http {
namespace {

// A head is refused with the first reason found.
using Check = std::optional<Refusal>;

Refusal bad(std::string_view reason) { return Refusal{400, reason}; }

// Control characters except the tab, CR and LF; bytes from 0x80 on are text of some encoding.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7f;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

enum class Known : uint8_t {
  other,
  host,
  content_length,
  transfer_encoding,
  content_type,
  connection,
  expect,
  cookie,
  transport,  // of the connection, for nobody else
};

struct KnownName {
  std::string_view name;
  Known known;
};

// By length, so that most names cost one comparison or none.
Known known_field(std::string_view name) {
  constexpr KnownName kNames[] = {
      {"TE", Known::transport},
      {"Host", Known::host},
      {"Cookie", Known::cookie},
      {"Expect", Known::expect},
      {"Trailer", Known::transport},
      {"Upgrade", Known::transport},
      {"Connection", Known::connection},
      {"Keep-Alive", Known::transport},
      {"Content-Type", Known::content_type},
      {"Content-Length", Known::content_length},
      {"HTTP2-Settings", Known::transport},
      {"Proxy-Connection", Known::transport},
      {"Transfer-Encoding", Known::transfer_encoding},
      {"Proxy-Authenticate", Known::transport},
      {"Proxy-Authorization", Known::transport},
  };
  for (const KnownName& known : kNames) {
    if (known.name.size() < name.size()) continue;
    if (known.name.size() > name.size()) break;
    if (iequals(known.name, name)) return known.known;
  }
  return Known::other;
}

// "HTTP/1.1" and "HTTP/1.0"; others of its form are a version that we do not speak.
Check read_version(std::string_view text, Request& request) {
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is_digit(text[5]) || text[6] != '.' ||
      !is_digit(text[7]))
    return bad("the request line is malformed");
  if (text[5] != '1' || text[7] > '1') return Refusal{505, "the server speaks HTTP/1.1"};
  request.old = text[7] == '0';
  return {};
}

Check read_request_line(std::string_view line, Request& request) {
  const size_t blank = line.find(' ');
  const size_t last = line.rfind(' ');
  if (blank == std::string_view::npos || blank == last || !is_token(line.substr(0, blank)))
    return bad("the request line is malformed");
  request.method = parse_method(line.substr(0, blank));
  const std::string_view target = line.substr(blank + 1, last - blank - 1);
  if (target.empty() || target.find_first_of(" \t#") != std::string_view::npos)
    return bad("the target is malformed");
  if (find_invalid_utf8(target) != std::string_view::npos) return bad("the target is no UTF-8");
  request.target = target;
  return read_version(line.substr(last + 1), request);
}

bool is_host_byte(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._~%").find(c) != std::string_view::npos;
}

// "name", "name:port", "[address]:port". Empty is allowed (RFC 9112, 3.2).
bool is_authority(std::string_view text) {
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    for (const char c : text.substr(1, end - 1))
      if (c != ':' && !is_host_byte(c)) return false;
    text.remove_prefix(end + 1);
  } else {
    while (!text.empty() && is_host_byte(text.front())) text.remove_prefix(1);
  }
  if (text.empty()) return true;
  return text.front() == ':' && text.size() <= 6 &&
         std::all_of(text.begin() + 1, text.end(), is_digit);
}

// Brings "http://host/path" down to its path. The authority must be the one that Host names: who
// routes by one and checks the other is what an attacker is after.
Check read_absolute(Request& request, bool has_host) {
  const size_t scheme = request.target.find("://");
  if (scheme == std::string::npos) return bad("the target is no path");
  const std::string_view target = request.target;
  const std::string_view name = target.substr(0, scheme);
  if (!iequals(name, "http") && !iequals(name, "https")) return bad("the target is no path");
  const std::string_view rest = target.substr(scheme + 3);
  const size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.empty() || !is_authority(authority)) return bad("the target is no path");
  if (!has_host) request.host = authority;
  if (!iequals(authority, request.host))
    return bad("the target names another host than the Host header");
  std::string path(rest.substr(end));
  if (!path.starts_with('/')) path.insert(0, "/");
  request.target = std::move(path);
  return {};
}

// One digit after another: no sign, no blank, no list, no overflow.
bool read_length(std::string_view text, uint64_t& out) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// One head being read.
struct HeadReader {
  Request& request;
  Framing& framing;
  size_t fields = 0;
  bool has_host = false;
  bool has_length = false;
  bool has_type = false;
  bool close = false;
  bool keep_alive = false;
  bool strange_expectation = false;

  void connection(std::string_view list) {
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      const std::string_view option = trim(list.substr(0, comma));
      close = close || iequals(option, "close");
      keep_alive = keep_alive || iequals(option, "keep-alive");
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }

  // A second length, or a length beside chunks, is how requests are smuggled (RFC 9112, 6.1).
  Check length(std::string_view value) {
    if (has_length || framing.chunked) return bad("the length of the body is given twice");
    has_length = true;
    if (!read_length(value, framing.length)) return bad("the Content-Length is no number");
    return {};
  }

  Check coding(std::string_view value) {
    if (framing.chunked || !iequals(value, "chunked"))
      return Refusal{501, "only the transfer encoding 'chunked' is understood"};
    if (has_length) return bad("the length of the body is given twice");
    framing.chunked = true;
    return {};
  }

  void keep(const Field& field, std::string_view glue) {
    const Value* const old = request.headers.find(field.name);
    if (!old)
      request.headers.append(std::string(field.name), Value(field.value));
    else
      request.headers.set(field.name,
                          Value(std::string(old->raw()).append(glue).append(field.value)));
  }

  Check field(const Field& field) {
    if (++fields > kRequestFieldsMax) return Refusal{431, "too many header fields"};
    switch (known_field(field.name)) {
      case Known::content_length: return length(field.value);
      case Known::transfer_encoding: return coding(field.value);
      case Known::connection: connection(field.value); return {};
      case Known::transport: return {};
      case Known::expect:
        request.expects_continue = iequals(field.value, "100-continue");
        strange_expectation = strange_expectation || !request.expects_continue;
        return {};
      case Known::host:
        if (has_host) return bad("the Host header is given twice");
        if (!is_authority(field.value)) return bad("the Host header is malformed");
        has_host = true;
        request.host = field.value;
        break;
      case Known::content_type:
        if (has_type) return bad("the Content-Type header is given twice");
        has_type = true;
        break;
      case Known::cookie: keep(field, "; "); return {};
      case Known::other:
        if (is_engine_header(field.name)) return {};
        break;
    }
    keep(field, ", ");
    return {};
  }

  // What can be said only when all fields are known.
  Check finish() {
    if (!has_host && !request.old) return bad("the Host header is missing");
    if (request.old && framing.chunked) return bad("HTTP/1.0 knows no chunks");
    if (request.old) request.expects_continue = false;
    if (strange_expectation && !request.old)
      return Refusal{417, "only 100-continue can be expected"};
    request.keep_alive = !close && (!request.old || keep_alive);
    request.has_body = framing.chunked || framing.length > 0;
    if (request.target == "*" && request.method == Method::options) return {};
    if (request.target.starts_with('/')) return {};
    return read_absolute(request, has_host);
  }
};

}  // namespace

std::optional<size_t> HeadScanner::scan(std::string_view input, std::optional<Refusal>& refusal) {
  for (; at_ < input.size(); ++at_) {
    const char c = input[at_];
    const bool after_cr = at_ > line_ && input[at_ - 1] == '\r';
    if (after_cr != (c == '\n')) {
      refusal = bad("a line does not end with CR LF");
      return std::nullopt;
    }
    if (is_control(c)) {
      refusal = bad("a control character");
      return std::nullopt;
    }
    if (at_ == line_ && line_ > 0 && (c == ' ' || c == '\t')) {
      refusal = bad("a header field continues on the next line");
      return std::nullopt;
    }
    if (at_ == 0 && !is_token(input.substr(0, 1))) {
      refusal = bad("the request line is malformed");
      return std::nullopt;
    }
    if (c != '\n') continue;
    const bool empty = at_ == line_ + 1;
    line_ = at_ + 1;
    if (empty) return line_;
  }
  return std::nullopt;
}

Check check_request_line(std::string_view input) {
  Request ignored;
  return read_request_line(input.substr(0, input.find("\r\n")), ignored);
}

std::optional<Field> read_field(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
  return Field{line.substr(0, colon), trim(line.substr(colon + 1))};
}

bool is_framing_field(std::string_view name) {
  switch (known_field(name)) {
    case Known::host:
    case Known::content_length:
    case Known::transfer_encoding:
    case Known::content_type:
    case Known::connection:
    case Known::expect:
    case Known::transport: return true;
    default: return false;
  }
}

Check read_request_head(std::string_view head, Request& request, Framing& framing) {
  size_t end = head.find("\r\n");
  Check refused = read_request_line(head.substr(0, end), request);
  if (refused) return refused;
  HeadReader reader{request, framing};
  for (head.remove_prefix(end + 2); !head.starts_with("\r\n"); head.remove_prefix(end + 2)) {
    end = head.find("\r\n");
    const std::optional<Field> field = read_field(head.substr(0, end));
    if (!field) return bad("a header field is malformed");
    refused = reader.field(*field);
    if (refused) return refused;
  }
  return reader.finish();
}

}  // namespace drom::http
