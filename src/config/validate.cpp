#include <algorithm>
#include <set>

#include "config/option_value.hpp"
#include "config/secrets.hpp"
#include "drom/base/assert.hpp"
#include "drom/config/config.hpp"

namespace drom {
namespace {

// Where byte `offset` of a text with resolved placeholders stood before: exact outside of them.
size_t offset_as_written(std::string_view written, std::string_view resolved, size_t offset) {
  const auto [a, b] =
      std::mismatch(written.begin(), written.end(), resolved.begin(), resolved.end());
  const size_t same_start = static_cast<size_t>(a - written.begin());
  if (offset <= same_start) return offset;
  const size_t from_end = resolved.size() - std::min(offset, resolved.size());
  const auto [c, d] =
      std::mismatch(written.rbegin(), written.rend(), resolved.rbegin(), resolved.rend());
  const size_t same_end = static_cast<size_t>(c - written.rbegin());
  return from_end <= same_end ? written.size() - from_end : same_start;
}

// "#bean:name", "#name" and "name" all mean the bean `name`.
std::string bean_name(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("#bean:")) text.remove_prefix(6);
  if (text.starts_with("#")) text.remove_prefix(1);
  return std::string(text);
}

bool is_expression_type(OptionType type) {
  return type == OptionType::expression || type == OptionType::predicate;
}

}  // namespace

class ConfigBuilder {
 public:
  ConfigBuilder(const ConfigSpec& spec, const Location& where, const PropertySource& properties,
                Diagnostics& diagnostics)
      : spec_(spec), properties_(properties), diagnostics_(diagnostics) {
    config_.where_ = where;
    for (const OptionSpec& option : spec.options) config_.entries_[option.name].type = option.type;
  }

  Config build(const std::vector<OptionText>& options) {
    for (const OptionText& written : options) take(written);
    for (const OptionSpec& option : spec_.options) {
      if (config_.entries_[option.name].present || written_.contains(option.name)) continue;
      if (option.required) {
        missing(option);
      } else if (!option.fallback.empty()) {
        use_default(option);
      }
    }
    return std::move(config_);
  }

 private:
  using Entry = Config::Entry;

  void take(const OptionText& written) {
    if (written.reported) {
      written_.insert(written.name);
      return;
    }
    const OptionSpec* const option = find(written.name);
    if (!option) {
      unknown(written);
      return;
    }
    if (!written_.insert(written.name).second) {
      const Location first = config_.entries_[written.name].where;
      report("E0206", written, "option '" + written.name + "' of " + spec_.name + " is given twice",
             first.line > 0 ? "the first is at " + first.text() : "");
      return;
    }
    Entry& entry = config_.entries_[written.name];
    entry.where = written.where;
    const size_t before = diagnostics_.items().size();
    entry.given = read(*option, written, entry);
    entry.present = entry.given;
    // An unset {{?optional}}: as if it were not there, so that the default counts.
    if (!entry.given && diagnostics_.items().size() == before) written_.erase(written.name);
  }

  const OptionSpec* find(std::string_view name) const {
    for (const OptionSpec& option : spec_.options)
      if (option.name == name) return &option;
    return nullptr;
  }

  // False: reported, or an optional placeholder is unset.
  bool read(const OptionSpec& option, const OptionText& written, Entry& entry) {
    if (is_expression_type(option.type)) return read_expression(option, written, entry);
    if (written.is_expression) {
      report("E0203", written,
             "'" + option.name + "' of " + spec_.name + " takes " +
                 std::string(type_phrase(option.type)) + ", not an expression",
             "write the value itself");
      return false;
    }
    if (written.is_list && option.type != OptionType::list) {
      report("E0203", written,
             "'" + option.name + "' of " + spec_.name + " takes one value, not a list", "");
      return false;
    }
    if (written.is_list) return read_list(option, written, entry);
    const size_t before = diagnostics_.items().size();
    std::optional<std::string> text = resolve(written.text, written.where);
    if (!text) {
      if (option.required && diagnostics_.items().size() == before)
        report("E0202", written,
               spec_.name + " needs '" + option.name + "', and its placeholder is not set",
               "define the property, or give it a default");
      return false;
    }
    if (option.required && trimmed(*text).empty()) {
      report("E0202", written, "'" + option.name + "' of " + spec_.name + " is empty", option.doc);
      return false;
    }
    return convert(option, written, std::move(*text), entry);
  }

  bool read_list(const OptionSpec& option, const OptionText& written, Entry& entry) {
    for (const std::string& item : written.values) {
      std::optional<std::string> text = resolve(item, written.where);
      if (text) entry.list.push_back(std::move(*text));
    }
    if (!option.required || !entry.list.empty()) return true;
    report("E0202", written, "'" + option.name + "' of " + spec_.name + " is empty", option.doc);
    return false;
  }

  bool convert(const OptionSpec& option, const OptionText& written, std::string text,
               Entry& entry) {
    switch (option.type) {
      case OptionType::text: break;
      case OptionType::reference: text = bean_name(text); break;
      case OptionType::integer: return whole(option, written, text, parse_integer(text), entry);
      case OptionType::size: return whole(option, written, text, parse_size(text), entry);
      case OptionType::duration:
        return whole(option, written, text, parse_milliseconds(text, option), entry);
      case OptionType::number: {
        const std::optional<double> number = parse_number(text);
        if (!number) return wrong_type("E0203", option, written, text);
        entry.number = *number;
        break;
      }
      case OptionType::boolean: {
        const std::optional<bool> flag = parse_boolean(text);
        if (!flag) return wrong_type("E0203", option, written, text);
        entry.flag = *flag;
        break;
      }
      case OptionType::enumeration: {
        const std::string* const value = find_enum_value(option, text);
        if (!value) return wrong_value(option, written, text);
        text = *value;
        break;
      }
      case OptionType::list: entry.list = split_list(text); break;
      case OptionType::expression:
      case OptionType::predicate: DROM_ASSERT(false); break;
    }
    entry.text = std::move(text);
    return true;
  }

  bool whole(const OptionSpec& option, const OptionText& written, const std::string& text,
             std::optional<int64_t> number, Entry& entry) {
    if (!number) return wrong_type("E0203", option, written, text);
    const bool below = *number < option.minimum;
    if (below || *number > option.maximum) {
      const int64_t limit = below ? option.minimum : option.maximum;
      report("E0204", written,
             "'" + option.name + "' of " + spec_.name + " must be at " +
                 (below ? "least " : "most ") + show_number(option.type, limit) +
                 shown_wrong(option, written, text),
             "");
      return false;
    }
    entry.integer = *number;
    entry.number = static_cast<double>(*number);
    entry.text = text;
    return true;
  }

  bool read_expression(const OptionSpec& option, const OptionText& written, Entry& entry) {
    ExpressionSpec spec = written.expression;
    if (written.is_list) {
      report("E0203", written,
             "'" + option.name + "' of " + spec_.name + " must be " +
                 std::string(type_phrase(option.type)) + ", not a list",
             std::string(type_hint(option.type)));
      return false;
    }
    // A bare text is simple: `handled: true`, `key=${header.id}`.
    if (!written.is_expression) spec = {"simple", written.text, written.where, nullptr};
    entry.expression = spec.native ? spec.native : compile(option, spec);
    return entry.expression != nullptr;
  }

  ExpressionPtr compile(const OptionSpec& option, const ExpressionSpec& spec) {
    const std::optional<std::string> text = resolve(spec.text, spec.where);
    if (!text) return nullptr;
    const bool predicate = option.type == OptionType::predicate;
    ExpressionError error;
    ExpressionPtr out = compile_expression(
        spec.language, *text, predicate ? ExpressionUse::predicate : ExpressionUse::value, error);
    if (out) return out;
    const size_t offset = offset_as_written(spec.text, *text, error.offset);
    diagnostics_.add({Severity::error, "E0207", diagnostics_.inside(spec.where, spec.text, offset),
                      std::move(error.what), std::move(error.hint), option.secret});
    return nullptr;
  }

  std::optional<std::string> resolve(std::string_view text, const Location& where) {
    return resolve_placeholders(text, properties_, where, diagnostics_);
  }

  void use_default(const OptionSpec& option) {
    OptionText written;
    written.name = option.name;
    written.where = config_.where_;
    if (is_expression_type(option.type)) {
      written.is_expression = true;
      written.expression = {"constant", option.fallback, config_.where_, nullptr};
    }
    written.text = option.fallback;
    Entry& entry = config_.entries_[option.name];
    entry.present = read(option, written, entry);
    DROM_ASSERT(entry.present);  // a default that its own type refuses
  }

  void missing(const OptionSpec& option) {
    std::string hint = option.doc;
    if (is_expression_type(option.type))
      hint += " Write the language first, such as `simple: \"${body}\"`.";
    if (!option.example.empty()) hint += " Example: " + option.name + ": " + option.example;
    diagnostics_.error("E0202", config_.where_, spec_.name + " needs '" + option.name + "'",
                       std::move(hint));
  }

  void unknown(const OptionText& written) {
    if (spec_.free_parameters) {
      std::optional<std::string> text = resolve(written.text, written.where);
      if (text) config_.extra_.emplace_back(written.name, std::move(*text));
      return;
    }
    std::vector<std::string> names;
    for (const OptionSpec& option : spec_.options) names.push_back(option.name);
    diagnostics_.error(
        "E0201", place_of_name(written), "unknown option '" + written.name + "' for " + spec_.name,
        names.empty() ? spec_.name + " has no options" : did_you_mean(written.name, names));
  }

  bool wrong_type(std::string code, const OptionSpec& option, const OptionText& written,
                  const std::string& text) {
    report(std::move(code), written,
           "'" + option.name + "' of " + spec_.name + " must be " +
               std::string(type_phrase(option.type)) + shown_wrong(option, written, text),
           std::string(type_hint(option.type)));
    return false;
  }

  bool wrong_value(const OptionSpec& option, const OptionText& written, const std::string& text) {
    std::string all;
    for (const std::string& value : option.values) all += (all.empty() ? "" : ", ") + value;
    const std::string hint = option.secret ? std::string() : did_you_mean(text, option.values);
    report("E0205", written,
           "'" + option.name + "' of " + spec_.name + " must be one of " + all +
               shown_wrong(option, written, text),
           hint.starts_with("did you mean") ? hint : "");
    return false;
  }

  // Inside of the URI when the option stands in its query.
  Location place_of(const OptionText& written) const {
    return diagnostics_.inside(written.where, written.name + "=" + written.text,
                               written.name.size() + 1);
  }
  Location place_of_name(const OptionText& written) const {
    if (written.name_where.line > 0) return written.name_where;
    return diagnostics_.inside(written.where, written.name + "=", 0);
  }

  // ", not 'text'", unless the value is a secret, or may come from one.
  std::string shown_wrong(const OptionSpec& option, const OptionText& written,
                          const std::string& text) const {
    if (option.secret) return "";
    if (written.text == text) return ", not " + quoted(text);
    if (is_secret_name(written.text)) return ", not what " + quoted(written.text) + " stands for";
    return ", not " + quoted(text) + " (from " + quoted(written.text) + ")";
  }

  void report(std::string code, const OptionText& written, std::string what, std::string hint) {
    const OptionSpec* const option = find(written.name);
    diagnostics_.add({Severity::error, std::move(code), place_of(written), std::move(what),
                      std::move(hint), option && option->secret});
  }

  const ConfigSpec& spec_;
  const PropertySource& properties_;
  Diagnostics& diagnostics_;
  Config config_;
  std::set<std::string, std::less<>> written_;
};

Config Config::validate(const ConfigSpec& spec, const std::vector<OptionText>& options,
                        const Location& where, const PropertySource& properties,
                        Diagnostics& diagnostics) {
  return ConfigBuilder(spec, where, properties, diagnostics).build(options);
}

}  // namespace drom
