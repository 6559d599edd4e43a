// Validated, typed options. A Config is made from what a person wrote (texts with locations) by the
// rules of a ConfigSpec; reading an option that the spec does not declare is our own mistake.
// Immutable after construction; load time and any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/time.hpp"
#include "drom/config/location.hpp"
#include "drom/config/option_spec.hpp"
#include "drom/expr/expression.hpp"

namespace drom {

// An expression as written. `native` is set by the C++ DSL instead of language and text.
struct ExpressionSpec {
  std::string language;
  std::string text;
  Location where;
  ExpressionPtr native;
};

// One option as written; `values` for lists, `expression` for expressions.
struct OptionText {
  std::string name;
  std::string text;
  std::vector<std::string> values;
  ExpressionSpec expression;
  Location where;
  bool is_list = false;
  bool is_expression = false;
  Location name_where;    // of the name; line 0: use `where`
  bool reported = false;  // the reader found it wrong and said so: no value, but not missing either
};

// Looks up {{key}}; implemented over application.properties, -D and the environment.
class PropertySource {
 public:
  virtual ~PropertySource() = default;
  virtual std::optional<std::string> property(std::string_view key) const = 0;
  virtual std::optional<std::string> environment(std::string_view name) const = 0;
};

// Replaces all placeholders: {{k}} {{k:default}} {{?k}} {{env:X}} {{env:X:default}} {{!k}}, nested.
// nullopt with no error added: an optional {{?k}} is unset, drop the option.
std::optional<std::string> resolve_placeholders(std::string_view text, const PropertySource& source,
                                                const Location& where, Diagnostics& diagnostics);

// A property with the placeholders in its own value resolved; nullopt when it is undefined or one
// of them is.
std::optional<std::string> resolved_property(const PropertySource& source, std::string_view key);

class Config {
 public:
  // Resolves placeholders, checks every option against the spec, compiles expressions. All problems
  // go to `diagnostics`; the Config is usable only when it added no error.
  static Config validate(const ConfigSpec& spec, const std::vector<OptionText>& options,
                         const Location& where, const PropertySource& properties,
                         Diagnostics& diagnostics);

  // True when the person gave the option (a default does not count).
  bool given(std::string_view name) const;
  // True when there is a value, given or by default.
  bool has(std::string_view name) const;
  const std::string& text(std::string_view name) const;  // "" when there is none
  int64_t integer(std::string_view name) const;          // integer and size
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  milliseconds duration(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;
  ExpressionPtr expression(std::string_view name) const;  // null when there is none
  Location where(std::string_view name) const;            // of the option, else of the node
  const Location& where() const { return where_; }
  // Endpoints with free_parameters: options that the spec does not name, in the order written.
  const std::vector<std::pair<std::string, std::string>>& extra() const { return extra_; }

 private:
  friend class ConfigBuilder;  // src/config/validate.cpp
  struct Entry {
    OptionType type = OptionType::text;
    bool given = false;
    bool present = false;
    std::string text;
    int64_t integer = 0;
    double number = 0;
    bool flag = false;
    std::vector<std::string> list;
    ExpressionPtr expression;
    Location where;
  };
  const Entry& entry(std::string_view name) const;

  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::pair<std::string, std::string>> extra_;
  Location where_;
};

}  // namespace drom
