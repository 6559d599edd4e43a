#include "connectors/http/http_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "drom/base/json.hpp"
#include "drom/model/headers.hpp"

namespace drom::http {
namespace {

constexpr std::array<std::string_view, 7> kMethods{"GET",    "HEAD",  "POST",   "PUT",
                                                   "DELETE", "PATCH", "OPTIONS"};
constexpr std::array<std::string_view, 7> kDays{"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_escape(std::string_view text, size_t at) {
  return text[at] == '%' && at + 2 < text.size() && hex_digit(text[at + 1]) >= 0 &&
         hex_digit(text[at + 2]) >= 0;
}

std::string encode(std::string_view text, std::string_view kept, bool keep_escapes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kept.find(c) != std::string_view::npos ||
                       (keep_escapes && is_escape(text, i));
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Cuts the next element off a comma separated list.
std::string_view next_element(std::string_view& list) {
  const size_t comma = list.find(',');
  const std::string_view element = list.substr(0, comma);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  return trim(element);
}

std::string_view without_parameters(std::string_view type) {
  return trim(type.substr(0, type.find(';')));
}

// One pattern ("text/*", "*/*", "application/json") against one type.
bool type_matches(std::string_view pattern, std::string_view type) {
  if (pattern == "*/*" || pattern == "*") return true;
  if (pattern.ends_with("/*"))
    return type.size() >= pattern.size() - 1 &&
           iequals(type.substr(0, pattern.size() - 1), pattern.substr(0, pattern.size() - 1));
  return iequals(pattern, type);
}

std::optional<int64_t> digits(std::string_view text) {
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 0) return std::nullopt;
  return out;
}

void append_two(std::string& out, int64_t number) {
  out += static_cast<char>('0' + number / 10 % 10);
  out += static_cast<char>('0' + number % 10);
}

bool is_plain_text(std::string_view text) {
  for (const char c : text)
    if ((c < ' ' && c != '\t') || c == '\x7f') return false;  // also all bytes from 0x80 on
  return true;
}

bool append_line(std::string& out, std::string_view name, std::string_view value) {
  if (has_header_injection(value)) return false;
  out.append(name).append(": ").append(value).append("\r\n");
  return true;
}

}  // namespace

Method parse_method(std::string_view name) {
  for (size_t i = 0; i < kMethods.size(); ++i)
    if (kMethods[i] == name) return static_cast<Method>(i);
  return Method::unknown;
}

std::string_view to_string(Method method) {
  const auto i = static_cast<size_t>(method);
  return i < kMethods.size() ? kMethods[i] : std::string_view("UNKNOWN");
}

MethodSet MethodSet::all() {
  MethodSet out;
  for (size_t i = 0; i < kMethods.size(); ++i) out.add(static_cast<Method>(i));
  return out;
}

std::string MethodSet::text() const {
  std::string out;
  for (size_t i = 0; i < kMethods.size(); ++i) {
    if (!has(static_cast<Method>(i))) continue;
    if (!out.empty()) out += ", ";
    out += kMethods[i];
  }
  return out;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 203: return "Non-Authoritative Information";
    case 204: return "No Content";
    case 205: return "Reset Content";
    case 206: return "Partial Content";
    case 300: return "Multiple Choices";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 423: return "Locked";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Unknown";
  }
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (!is_escape(text, i)) return std::nullopt;
      c = static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    out += c;
  }
  if (has_header_injection(out)) return std::nullopt;
  return out;
}

std::string encode_query(std::string_view text) { return encode(text, "-._~/:@!$'()*,;?", false); }

std::string encode_path(std::string_view text) { return encode(text, "-._~/:@!$'()*,;&=+", true); }

bool media_type_matches(std::string_view types, std::string_view content_type) {
  const std::string_view type = without_parameters(content_type);
  while (!types.empty())
    if (type_matches(without_parameters(next_element(types)), type)) return true;
  return false;
}

bool is_transport_header(std::string_view name) {
  for (const std::string_view own :
       {"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
        "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings", "Host", "Content-Length",
        "Date", "Expect"})
    if (iequals(name, own)) return true;
  return false;
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  if (text.empty()) return false;
  for (const char c : text) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!word && kMarks.find(c) == std::string_view::npos) return false;
  }
  return true;
}

bool append_header(std::string& out, std::string_view name, const Value& value) {
  if (!is_token(name)) return false;
  if (value.is_null()) return true;
  if (const List* list = value.as_list()) {
    bool good = true;
    for (const Value& element : *list)
      good = (element.is_list() ? append_line(out, name, element.to_text())
                                : append_header(out, name, element)) &&
             good;
    return good;
  }
  if (value.is_text()) return append_line(out, name, value.raw());
  if (value.is_bytes()) {
    if (is_plain_text(value.raw())) return append_line(out, name, value.raw());
    const std::string quoted = to_json(value);  // base64 in quotes
    return append_line(out, name, std::string_view(quoted).substr(1, quoted.size() - 2));
  }
  return append_line(out, name, value.to_text());
}

std::string http_date(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time - day).count();
  const auto weekday = ((day.time_since_epoch().count() % 7) + 7) % 7;  // 1970-01-01 was a Thursday
  std::string out(kDays[static_cast<size_t>(weekday)]);
  out += ", ";
  append_two(out, static_cast<unsigned>(date.day()));
  out += ' ';
  out += kMonths[static_cast<unsigned>(date.month()) - 1];
  out += ' ';
  append_two(out, static_cast<int>(date.year()) / 100);
  append_two(out, static_cast<int>(date.year()) % 100);
  out += ' ';
  append_two(out, seconds / 3600);
  out += ':';
  append_two(out, seconds / 60 % 60);
  out += ':';
  append_two(out, seconds % 60);
  out += " GMT";
  return out;
}

std::optional<WallTime> parse_http_date(std::string_view text) {
  // Only the form that senders must use: "Sun, 06 Nov 1994 08:49:37 GMT".
  if (text.size() != 29 || !text.ends_with(" GMT") || text[19] != ':' || text[22] != ':')
    return std::nullopt;
  const auto day = digits(text.substr(5, 2));
  const auto year = digits(text.substr(12, 4));
  const auto hour = digits(text.substr(17, 2));
  const auto minute = digits(text.substr(20, 2));
  const auto second = digits(text.substr(23, 2));
  size_t month = 0;
  while (month < kMonths.size() && kMonths[month] != text.substr(8, 3)) ++month;
  if (!day || !year || !hour || !minute || !second || month == kMonths.size()) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(month) + 1),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return WallTime(std::chrono::sys_days(date)) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

std::optional<milliseconds> parse_retry_after(std::string_view text, WallTime now) {
  constexpr milliseconds kMax = std::chrono::hours(24);
  text = trim(text);
  if (const auto seconds = digits(text)) {
    if (*seconds > 86'400) return kMax;
    return milliseconds(*seconds * 1000);
  }
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  const auto wait = std::chrono::ceil<milliseconds>(*date - now);
  return std::clamp(wait, milliseconds(0), kMax);
}

WireBody to_wire_body(Value body) {
  switch (body.kind()) {
    case Value::Kind::null: return {Value(), ""};
    case Value::Kind::text: return {std::move(body), kTextType};
    case Value::Kind::bytes: return {std::move(body), "application/octet-stream"};
    case Value::Kind::list:
    case Value::Kind::object: return {Value(to_json(body)), "application/json"};
    default: return {Value(body.to_text()), kTextType};
  }
}

}  // namespace drom::http
