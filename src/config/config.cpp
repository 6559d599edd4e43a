#include "drom/config/config.hpp"

#include <charconv>

#include "config/option_values.hpp"
#include "drom/base/value.hpp"

namespace drom {
namespace {

std::string shown(const OptionSpec& spec, const std::string& text) {
  return spec.secret ? "the given secret" : "'" + text + "'";
}

std::vector<std::string> option_names(const ConfigSpec& spec) {
  std::vector<std::string> out;
  for (const OptionSpec& option : spec.options) out.push_back(option.name);
  return out;
}

const OptionSpec* find_option(const ConfigSpec& spec, std::string_view name) {
  for (const OptionSpec& option : spec.options)
    if (option.name == name) return &option;
  return nullptr;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (const std::string_view item = trim(part); !item.empty()) out.emplace_back(item);
  }
  return out;
}

// "#bean:name", "#name" and "name" all mean the bean `name`.
std::string bean_name(std::string_view text) {
  if (text.starts_with("#bean:")) text.remove_prefix(6);
  if (text.starts_with('#')) text.remove_prefix(1);
  return std::string(text);
}

// The place of a byte of an expression that starts at `where`; block texts have no usable column.
Location inside(Location where, const std::string& text, size_t offset) {
  const bool same_line = text.find('\n') >= offset;
  if (where.column > 0 && same_line) where.column += static_cast<uint32_t>(offset);
  return where;
}

}  // namespace

Config Config::validate(const ConfigSpec& spec, const std::vector<OptionText>& options, const Location& where,
                        const PropertySource& properties, Diagnostics& diagnostics) {
  Config out;
  out.where_ = where;
  for (const OptionSpec& option : spec.options) {
    Entry entry;
    entry.type = option.type;
    out.entries_.emplace(option.name, std::move(entry));
  }
  for (const OptionText& written : options) {
    const OptionSpec* option = find_option(spec, written.name);
    if (!option && spec.free_parameters) {
      std::optional<std::string> text = resolve_placeholders(written.text, properties, written.where, diagnostics);
      if (text) out.extra_.emplace_back(written.name, std::move(*text));
      continue;
    }
    if (!option) {
      diagnostics.error("E0201", written.where, "unknown option '" + written.name + "' for " + spec.name,
                        did_you_mean(written.name, option_names(spec)));
      continue;
    }
    Entry& entry = out.entries_.find(option->name)->second;
    if (entry.given) {
      diagnostics.error("E0206", written.where, "the option '" + option->name + "' is given twice", "keep one of the two");
      continue;
    }
    entry.where = written.where;
    out.read(*option, written, entry, properties, diagnostics);
  }
  for (const OptionSpec& option : spec.options) {
    Entry& entry = out.entries_.find(option.name)->second;
    if (entry.given) continue;
    if (option.required) {
      diagnostics.error("E0202", where, spec.name + " needs the option '" + option.name + "'",
                        option.example.empty() ? option.doc : "such as " + option.name + ": " + option.example);
    } else if (!option.fallback.empty()) {
      OptionText fallback;
      fallback.name = option.name;
      fallback.text = option.fallback;
      fallback.where = where;
      out.read(option, fallback, entry, properties, diagnostics);
      entry.given = false;
      entry.where = Location();
    }
  }
  return out;
}

void Config::read(const OptionSpec& spec, const OptionText& written, Entry& entry, const PropertySource& properties,
                  Diagnostics& diagnostics) {
  entry.given = true;  // also when wrong: one error is enough
  if (spec.type == OptionType::expression || spec.type == OptionType::predicate) {
    read_expression(spec, written, entry, properties, diagnostics);
    return;
  }
  if (written.is_expression) {
    diagnostics.error("E0203", written.where, "the option '" + spec.name + "' takes " + expected_text(spec) + ", not an expression");
    return;
  }
  if (written.is_list && spec.type != OptionType::list) {
    diagnostics.error("E0203", written.where, "the option '" + spec.name + "' takes " + expected_text(spec) + ", not a list");
    return;
  }
  if (written.is_list) {
    for (const std::string& item : written.values) {
      std::optional<std::string> text = resolve_placeholders(item, properties, written.where, diagnostics);
      if (text) entry.list.push_back(std::move(*text));
    }
    entry.present = true;
    return;
  }
  std::optional<std::string> text = resolve_placeholders(written.text, properties, written.where, diagnostics);
  if (!text) {  // reported, or an unset {{?optional}}
    if (written.text.find("{{?") != std::string::npos) entry.given = false;
    return;
  }
  entry.text = std::move(*text);
  entry.present = read_value(spec, entry);
  if (!entry.present) {
    std::string what = shown(spec, entry.text) + " is no value of the option '" + spec.name + "'";
    std::string hint = "expected " + expected_text(spec);
    if (spec.type == OptionType::enumeration) {
      const std::string near = did_you_mean(entry.text, spec.values);
      if (near.starts_with("did you")) hint = near;
    }
    diagnostics.error(spec.type == OptionType::enumeration ? "E0205" : "E0203", entry.where, std::move(what), std::move(hint));
    return;
  }
  const bool bounded = spec.type == OptionType::integer || spec.type == OptionType::size || spec.type == OptionType::duration;
  if (bounded && (entry.integer < spec.minimum || entry.integer > spec.maximum)) {
    std::string range;
    if (spec.minimum != INT64_MIN) range += "at least " + std::to_string(spec.minimum);
    if (spec.minimum != INT64_MIN && spec.maximum != INT64_MAX) range += " and ";
    if (spec.maximum != INT64_MAX) range += "at most " + std::to_string(spec.maximum);
    if (spec.type == OptionType::duration) range += " (milliseconds)";
    diagnostics.error("E0204", entry.where, shown(spec, entry.text) + " is out of range for the option '" + spec.name + "'",
                      "expected " + range);
  }
}

bool Config::read_value(const OptionSpec& spec, Entry& entry) {
  const std::string_view text = trim(entry.text);
  switch (spec.type) {
    case OptionType::integer: {
      const auto number = Value(text).to_int();
      if (number) entry.integer = *number;
      return number.has_value();
    }
    case OptionType::number: {
      const auto number = Value(text).to_double();
      if (number) entry.number = *number;
      return number.has_value();
    }
    case OptionType::boolean: {
      const auto flag = Value(text).to_bool();
      if (flag) entry.flag = *flag;
      return flag.has_value();
    }
    case OptionType::duration: {
      const Result<milliseconds> duration = parse_duration(text);
      if (duration) entry.integer = duration->count();
      return duration.ok();
    }
    case OptionType::size: {
      const Result<int64_t> size = parse_size(text);
      if (size) entry.integer = *size;
      return size.ok();
    }
    case OptionType::enumeration: {
      const std::string* value = match_enumeration(spec, text);
      if (value) entry.text = *value;
      return value != nullptr;
    }
    case OptionType::list: entry.list = split_list(text); return true;
    case OptionType::reference: entry.text = bean_name(text); return !entry.text.empty();
    case OptionType::text:
    case OptionType::expression:
    case OptionType::predicate: return true;
  }
  return true;
}

void Config::read_expression(const OptionSpec& spec, const OptionText& written, Entry& entry,
                             const PropertySource& properties, Diagnostics& diagnostics) {
  const ExpressionSpec& expression = written.expression;
  if (written.is_expression && expression.native) {
    entry.expression = expression.native;
    entry.present = true;
    return;
  }
  // A bare text is simple: `handled: true`, `key=${header.id}`.
  const std::string language = written.is_expression ? expression.language : "simple";
  const Location where = written.is_expression && expression.where.line ? expression.where : written.where;
  std::optional<std::string> text =
      resolve_placeholders(written.is_expression ? expression.text : written.text, properties, where, diagnostics);
  if (!text) return;
  ExpressionError error;
  entry.expression = compile_expression(
      language, *text, spec.type == OptionType::predicate ? ExpressionUse::predicate : ExpressionUse::value, error);
  entry.text = *text;
  entry.present = entry.expression != nullptr;
  if (!entry.present)
    diagnostics.error("E0207", inside(where, *text, error.offset), language + " expression: " + error.what, error.hint);
}

const Config::Entry& Config::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  DROM_ASSERT(found != entries_.end());
  return found->second;
}

bool Config::given(std::string_view name) const { return entry(name).given; }
bool Config::has(std::string_view name) const { return entry(name).present; }
const std::string& Config::text(std::string_view name) const { return entry(name).text; }
int64_t Config::integer(std::string_view name) const { return entry(name).integer; }
double Config::number(std::string_view name) const { return entry(name).number; }
bool Config::flag(std::string_view name) const { return entry(name).flag; }
milliseconds Config::duration(std::string_view name) const { return milliseconds(entry(name).integer); }
const std::vector<std::string>& Config::list(std::string_view name) const { return entry(name).list; }
ExpressionPtr Config::expression(std::string_view name) const { return entry(name).expression; }

Location Config::where(std::string_view name) const {
  const Entry& found = entry(name);
  return found.where.line ? found.where : where_;
}

}  // namespace drom
