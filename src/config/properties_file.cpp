#include <charconv>

#include "config/properties.hpp"
#include "config/utf8.hpp"

namespace drom {
namespace {

constexpr size_t kBytesMax = size_t{1} << 20;
constexpr std::string_view kBlanks = " \t\f";

// One logical line: continuation lines joined, escapes still in place.
struct LogicalLine {
  std::string text;
  uint32_t number = 0;
};

bool ends_in_odd_backslashes(std::string_view line) {
  size_t count = 0;
  while (count < line.size() && line[line.size() - 1 - count] == '\\') ++count;
  return count % 2 == 1;
}

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // False at the end.
  bool next(LogicalLine& out) {
    out.text.clear();
    bool continued = false;
    while (!rest_.empty()) {
      std::string_view line = take();
      const size_t start = line.find_first_not_of(kBlanks);
      line.remove_prefix(start == std::string_view::npos ? line.size() : start);
      if (!continued && (line.empty() || line.front() == '#' || line.front() == '!')) continue;
      if (!continued) out.number = number_;
      continued = ends_in_odd_backslashes(line);
      if (continued) line.remove_suffix(1);
      out.text += line;
      if (!continued) return true;
    }
    return !out.text.empty();
  }

 private:
  std::string_view take() {
    const size_t end = rest_.find_first_of("\r\n");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(line.size());
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    if (!rest_.empty()) rest_.remove_prefix(1);
    ++number_;
    return line;
  }

  std::string_view rest_;
  uint32_t number_ = 0;
};

// Reads one escape at text[at] == '\\'; moves `at` behind it. False: a broken \uXXXX.
bool read_escape(std::string_view text, size_t& at, std::string& out, uint32_t& high_surrogate) {
  const char letter = at + 1 < text.size() ? text[at + 1] : '\\';
  at += 2;
  switch (letter) {
    case 't': out += '\t'; return true;
    case 'n': out += '\n'; return true;
    case 'r': out += '\r'; return true;
    case 'f': out += '\f'; return true;
    case 'u': break;
    default: out += letter; return true;
  }
  const std::string_view hex = text.substr(std::min(at, text.size()), 4);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
  if (hex.size() != 4 || error != std::errc() || end != hex.data() + 4) return false;
  at += 4;
  // Characters beyond 16 bits are written as two.
  if (code >= 0xD800 && code < 0xDC00) {
    high_surrogate = code;
    return true;
  }
  if (high_surrogate != 0 && code >= 0xDC00 && code < 0xE000)
    code = 0x10000 + ((high_surrogate - 0xD800) << 10U) + (code - 0xDC00);
  high_surrogate = 0;
  append_utf8(out, code);
  return true;
}

bool unescape(std::string_view text, std::string& out) {
  uint32_t high_surrogate = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
    } else if (!read_escape(text, at, out, high_surrogate)) {
      return false;
    }
  }
  return true;
}

// Where the name ends: the first blank, `=` or `:` that no backslash protects.
size_t name_end(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '=' || line[i] == ':' ||
               kBlanks.find(line[i]) != std::string_view::npos) {
      return i;
    }
  }
  return line.size();
}

std::string_view value_of(std::string_view line, size_t end_of_name) {
  const auto skip = [&](size_t at) {
    return std::min(line.find_first_not_of(kBlanks, at), line.size());
  };
  size_t at = skip(end_of_name);
  if (at < line.size() && (line[at] == '=' || line[at] == ':')) at = skip(at + 1);
  return line.substr(at);
}

}  // namespace

std::vector<PropertyEntry> parse_properties(std::string_view text, const std::string& file,
                                            Diagnostics& diagnostics) {
  std::vector<PropertyEntry> out;
  Location where;
  where.file = std::make_shared<const std::string>(file);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.size() > kBytesMax) {
    diagnostics.error("E0211", where, "the file has more than 1 MiB",
                      "it should hold properties only");
    return out;
  }
  if (text.find('\0') != std::string_view::npos ||
      find_invalid_utf8(text) != std::string_view::npos) {
    diagnostics.error("E0211", where, "the file is no UTF-8 text", "save it as UTF-8");
    return out;
  }
  Lines lines(text);
  LogicalLine line;
  while (lines.next(line)) {
    PropertyEntry entry;
    entry.line = line.number;
    where.line = line.number;
    const size_t end = name_end(line.text);
    if (!unescape(std::string_view(line.text).substr(0, end), entry.name) ||
        !unescape(value_of(line.text, end), entry.value)) {
      diagnostics.error("E0211", where, "\\u needs four hexadecimal digits",
                        "write \\\\u for the letters themselves");
      continue;
    }
    if (entry.name.empty()) {
      diagnostics.error("E0211", where, "a value without a name", "write name=value");
      continue;
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace drom
