#include "config/secrets.hpp"

#include <algorithm>

namespace drom {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool is_placeholder(std::string_view text) {
  return text.starts_with("{{") || text.starts_with("${") || text.starts_with("#");
}

void mask(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) text[i] = '*';
}

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

// The end of a value in a query: RAW(...) may hold an `&`.
size_t query_value_end(std::string_view text, size_t at) {
  if (text.substr(at).starts_with("RAW(")) {
    for (size_t end = text.find(')', at); end != std::string_view::npos;
         end = text.find(')', end + 1))
      if (end + 1 == text.size() || text.substr(end + 1).find_first_of("&\"'\n") == 0)
        return end + 1;
  }
  return std::min(text.find_first_of("& \t\n\"'", at), text.size());
}

// The value after `name=` or `name: `; both ends equal when there is none.
std::pair<size_t, size_t> value_range(std::string_view text, size_t after_name) {
  size_t at = after_name;
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;  // a quoted name
  at = skip_blanks(text, at);
  if (at >= text.size()) return {0, 0};
  if (text[at] == '=') {
    const size_t begin = skip_blanks(text, at + 1);
    return {begin, query_value_end(text, begin)};
  }
  // In YAML and JSON a comma may belong to the secret: all that is left of the line.
  if (text[at] != ':' || (at + 1 < text.size() && text[at + 1] == '/')) return {0, 0};
  const size_t begin = skip_blanks(text, at + 1);
  size_t end = std::min(text.find('\n', begin), text.size());
  return {begin, end};
}

void mask_named(std::string& text) {
  for (size_t at = 0; at < text.size();) {
    if (!is_name_char(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_name_char(text[end])) ++end;
    if (is_secret_name(std::string_view(text).substr(at, end - at))) {
      auto [from, to] = value_range(text, end);
      const size_t quote = from < to && (text[from] == '"' || text[from] == '\'') ? 1 : 0;
      if (from < to && !is_placeholder(std::string_view(text).substr(from + quote))) {
        mask(text, from, to);
        end = to;
      }
    }
    at = end;
  }
}

// svc:p:a@ss@host: the password reaches from the first colon to the last @ of the authority.
void mask_userinfo(std::string& text) {
  for (size_t at = text.find("//"); at != std::string::npos; at = text.find("//", at + 2)) {
    const size_t begin = at + 2;
    const size_t end = std::min(text.find_first_of("/?# \t\n\"'", begin), text.size());
    const size_t sign = text.substr(begin, end - begin).rfind('@');
    if (sign == std::string::npos) continue;
    const size_t colon = text.find(':', begin);
    if (colon >= begin + sign) continue;
    if (!is_placeholder(std::string_view(text).substr(colon + 1)))
      mask(text, colon + 1, begin + sign);
  }
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  // The language tokenize is no secret.
  for (const std::string_view harmless : {"tokenize", "tokenizer"})
    if (text == harmless) return false;
  for (const std::string_view word :
       {"authorization", "cookie", "password", "passwd", "passphrase", "token", "secret", "apikey",
        "credential", "privatekey", "accesskey"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

std::string mask_secrets(std::string_view text) {
  std::string out(text);
  mask_userinfo(out);
  mask_named(out);
  return out;
}

}  // namespace drom
