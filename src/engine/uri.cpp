#include "engine/uri.hpp"

namespace drom {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

// Where the query starts: the first `?` before `name=`. SQL texts hold other question marks.
size_t query_start(std::string_view text) {
  for (size_t at = text.find('?'); at != std::string_view::npos; at = text.find('?', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && is_name(text[end])) ++end;
    if (end > at + 1 && end < text.size() && text[end] == '=') return at;
  }
  return std::string_view::npos;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// As Java's URLDecoder, but a stray '%' stays.
std::string decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 &&
               hex(text[i + 2]) >= 0) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The end of the value that starts at `at`: the next `&` outside RAW(...) / RAW{...} and ${...}.
size_t value_end(std::string_view text, size_t at, bool& raw) {
  const std::string_view rest = text.substr(at);
  raw = rest.starts_with("RAW(") || rest.starts_with("RAW{");
  if (raw) {
    const char close = rest[3] == '(' ? ')' : '}';
    for (size_t end = text.find(close, at); end != std::string_view::npos;
         end = text.find(close, end + 1))
      if (end + 1 == text.size() || text[end + 1] == '&') return end + 1;
    raw = false;
  }
  int depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    if (text.substr(i).starts_with("${")) ++depth;
    if (text[i] == '}' && depth > 0) --depth;
    if (text[i] == '&' && depth == 0) return i;
  }
  return text.size();
}

}  // namespace

EndpointUri split_uri(std::string_view text) {
  EndpointUri out;
  const size_t question = query_start(text);
  std::string_view target = text.substr(0, question);
  if (question == std::string_view::npos && target.ends_with('?')) target.remove_suffix(1);
  out.target = target;
  const size_t colon = target.find(':');
  out.scheme = target.substr(0, colon);
  std::string_view path =
      colon == std::string_view::npos ? std::string_view() : target.substr(colon + 1);
  if (path.starts_with("//")) path.remove_prefix(2);
  out.path = path;
  if (question == std::string_view::npos) return out;

  size_t at = question + 1;
  while (at < text.size()) {
    const size_t equals = text.find_first_of("=&", at);
    if (equals == std::string_view::npos || text[equals] == '&') {
      const std::string_view flag =
          text.substr(at, equals == std::string_view::npos ? equals : equals - at);
      if (!flag.empty()) out.query.emplace_back(decode(flag), "");
      if (equals == std::string_view::npos) break;
      at = equals + 1;
      continue;
    }
    std::string_view name = text.substr(at, equals - at);
    if (name.starts_with("amp;")) name.remove_prefix(4);
    bool raw = false;
    const size_t end = value_end(text, equals + 1, raw);
    const std::string_view value = text.substr(equals + 1, end - equals - 1);
    out.query.emplace_back(decode(name),
                           raw ? std::string(value.substr(4, value.size() - 5)) : decode(value));
    at = end + 1;
  }
  return out;
}

}  // namespace drom
