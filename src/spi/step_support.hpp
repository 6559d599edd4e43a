// Small tools for everybody who writes a step: option declarations in one line each, clauses with
// their own options, and name resolution with did-you-mean. Load time, one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/spi/build_context.hpp"

namespace drom {

OptionSpec option(std::string name, OptionType type, std::string doc);
OptionSpec option(std::string name, OptionType type, std::string doc, std::string fallback);
OptionSpec required_option(std::string name, OptionType type, std::string doc);
OptionSpec enum_option(std::string name, std::vector<std::string> values, std::string doc,
                       std::string fallback = {});

// The validated options of a clause (when, doCatch, json ...). `id`, `description`, `note` and
// `disabled` may stand at every node and are left out here.
Config clause_config(const ConfigSpec& spec, const StepSpec& clause, BuildContext& context);
// `disabled: true` on a clause, placeholders resolved.
bool is_disabled(const StepSpec& clause, BuildContext& context);

// "#name" and "#bean:name" mean the bean `name`.
std::string_view bean_name(std::string_view reference);

// Compiles a text that may hold ${...}; reports a syntax error at `where` and returns null.
ExpressionPtr compile_template(std::string_view text, const Location& where, BuildContext& context);

}  // namespace drom
