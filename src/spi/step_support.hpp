// Small tools for everybody who writes a step: option declarations in one line each, clauses with
// their own options, and name resolution with did-you-mean. Load time, one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/spi/build_context.hpp"

namespace drom {

OptionSpec option(std::string name, OptionType type, std::string doc, std::string fallback = {},
                  std::string example = {});
OptionSpec required_option(std::string name, OptionType type, std::string doc);
OptionSpec enum_option(std::string name, std::vector<std::string> values, std::string doc,
                       std::string fallback = {});

// Of numbers, sizes and durations (ms); both ends are allowed.
OptionSpec bounded(OptionSpec spec, int64_t minimum, int64_t maximum);

// The validated options of a clause (when, doCatch, json ...). `id`, `description`, `note` and
// `disabled` may stand at every node and are left out here.
Config clause_config(const ConfigSpec& spec, const StepSpec& clause, BuildContext& context);
// `disabled: true` on a clause, placeholders resolved.
bool is_disabled(const StepSpec& clause, BuildContext& context);

// "#name" and "#bean:name" mean the bean `name`.
std::string_view bean_name(std::string_view reference);
// Which of `names` is meant; "" when there is none to choose from and none was asked for.
Result<std::string> choose_bean(const std::vector<std::string>& names, std::string_view reference,
                                std::string_view what, std::string_view option);

// The bean that `reference` names, or the only one of its type when it names none; null when there
// is none at all. `what` ("data source") and `option` ("dataSource") are words for errors.
template <class T>
Result<T*> named_or_only(const Registry& registry, std::string_view reference,
                         std::string_view what, std::string_view option) {
  const std::vector<std::string> names = registry.names<T>();
  Result<std::string> name = choose_bean(names, reference, what, option);
  if (!name) return name.error();
  return registry.find<T>(*name);
}

// Compiles a text that may hold ${...}; reports a syntax error at `where` and returns null.
ExpressionPtr compile_template(std::string_view text, const Location& where, BuildContext& context);

}  // namespace drom
