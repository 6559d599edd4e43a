// JSON Schemas of single options and nodes, for schema.cpp. Pure.
#pragma once

#include <string>
#include <vector>

#include "drom/base/value.hpp"
#include "drom/config/option_spec.hpp"

namespace drom::schema {

// {"$ref": "#/$defs/NAME"}
Value reference(const std::string& name);
Value one_of_types(const std::vector<std::string>& types);
Value option(const OptionSpec& spec);
// Properties of options, with dotted names nested.
Object options(const std::vector<OptionSpec>& specs);
// A step, a clause, an item: its object form, and the short forms beside it.
Value node(const ConfigSpec& spec);
// `expression`, `constant`, `simple` ... as the value of an option.
Value expression();

}  // namespace drom::schema
