#include "config/option_values.hpp"

#include <charconv>

#include "drom/model/headers.hpp"

namespace drom {

Result<int64_t> parse_size(std::string_view text) {
  const Error bad(ErrorKind::data, "'" + std::string(text) + "' is no size");
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return bad;
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  int64_t factor = 0;
  if (unit.empty() || iequals(unit, "B")) factor = 1;
  if (iequals(unit, "K") || iequals(unit, "KB")) factor = 1024;
  if (iequals(unit, "M") || iequals(unit, "MB")) factor = 1024 * 1024;
  if (iequals(unit, "G") || iequals(unit, "GB")) factor = 1024 * 1024 * 1024;
  int64_t out = 0;
  if (factor == 0 || __builtin_mul_overflow(number, factor, &out)) return bad;
  return out;
}

std::string expected_text(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::integer: return "a whole number";
    case OptionType::number: return "a number";
    case OptionType::boolean: return "true or false";
    case OptionType::duration: return "a duration such as 500ms, 5s or 1m30s";
    case OptionType::size: return "a size such as 512, 64KB or 10MB";
    case OptionType::enumeration: {
      std::string out = "one of ";
      for (const std::string& value : spec.values) {
        if (&value != &spec.values.front()) out += ", ";
        out += value;
      }
      return out;
    }
    case OptionType::list: return "a list of texts";
    case OptionType::expression:
    case OptionType::predicate: return "an expression such as simple: \"${body}\"";
    case OptionType::reference: return "the name of a bean";
    case OptionType::text: return "a text";
  }
  return "a text";
}

const std::string* match_enumeration(const OptionSpec& spec, std::string_view text) {
  for (const std::string& value : spec.values)
    if (iequals(value, text)) return &value;
  return nullptr;
}

}  // namespace drom
