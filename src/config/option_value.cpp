#include "config/option_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/utf8.hpp"
#include "drom/base/time.hpp"

namespace drom {
namespace {

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '-' && c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return out;
}

struct SizeUnit {
  std::string_view name;
  unsigned shift;
};
constexpr SizeUnit kSizeUnits[] = {{"", 0},    {"b", 0},  {"k", 10},  {"kb", 10}, {"m", 20},
                                   {"mb", 20}, {"g", 30}, {"gb", 30}, {"t", 40},  {"tb", 40}};

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("+")) text.remove_prefix(1);
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<double> parse_number(std::string_view text) {
  text = trimmed(text);
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(out)) return std::nullopt;
  return out;
}

std::optional<bool> parse_boolean(std::string_view text) {
  const std::string lower = folded(trimmed(text));
  if (lower == "true") return true;
  if (lower == "false") return false;
  return std::nullopt;
}

std::optional<int64_t> parse_size(std::string_view text) {
  text = trimmed(text);
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<int64_t> number = parse_integer(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string unit = folded(trimmed(text.substr(digits)));
  for (const SizeUnit& known : kSizeUnits) {
    if (known.name != unit) continue;
    int64_t out = 0;
    if (__builtin_mul_overflow(*number, int64_t{1} << known.shift, &out)) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

std::optional<int64_t> parse_milliseconds(std::string_view text, const OptionSpec& spec) {
  text = trimmed(text);
  if (const auto number = parse_integer(text); number && *number < 0) {
    if (spec.minimum == INT64_MIN || spec.minimum >= 0) return std::nullopt;
    return number;
  }
  const Result<milliseconds> read = parse_duration(text);
  if (!read) return std::nullopt;
  return read->count();
}

const std::string* find_enum_value(const OptionSpec& spec, std::string_view text) {
  const std::string wanted = folded(trimmed(text));
  for (const std::string& value : spec.values)
    if (folded(value) == wanted) return &value;
  return nullptr;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    if (!item.empty()) out.emplace_back(item);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string_view type_phrase(OptionType type) {
  switch (type) {
    case OptionType::text: return "a text";
    case OptionType::integer: return "a whole number";
    case OptionType::number: return "a number";
    case OptionType::boolean: return "true or false";
    case OptionType::duration: return "a duration";
    case OptionType::size: return "a size";
    case OptionType::enumeration: return "one of its values";
    case OptionType::list: return "a list";
    case OptionType::expression: return "an expression";
    case OptionType::predicate: return "a condition";
    case OptionType::reference: return "the name of a bean";
  }
  return "a value";
}

std::string_view type_hint(OptionType type) {
  switch (type) {
    case OptionType::duration:
      return "write it like 500ms, 5s, 1m30s, 2h, or as a number of milliseconds";
    case OptionType::size: return "write it like 512, 64KB, 10MB, 1GB";
    case OptionType::expression:
    case OptionType::predicate:
      return "write the language first, such as `simple: \"${body}\"` or `constant: text`";
    default: return "";
  }
}

std::string show_number(OptionType type, int64_t value) {
  if (type == OptionType::duration)
    return value < 0 ? std::to_string(value) : to_string(milliseconds(value));
  if (type == OptionType::size) {
    constexpr SizeUnit kLargestFirst[] = {{"TB", 40}, {"GB", 30}, {"MB", 20}, {"KB", 10}};
    for (const SizeUnit& unit : kLargestFirst)
      if (value > 0 && value % (int64_t{1} << unit.shift) == 0)
        return std::to_string(value >> unit.shift) + std::string(unit.name);
  }
  return std::to_string(value);
}

std::string quoted(std::string_view text) {
  constexpr size_t kMost = 60;
  if (text.size() <= kMost) return "'" + std::string(text) + "'";
  size_t end = kMost;
  while (end > 0 && is_utf8_tail(text[end])) --end;
  return "'" + std::string(text.substr(0, end)) + "...'";
}

}  // namespace drom
