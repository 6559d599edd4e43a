// The names of Camel's YAML that Dromedary knows of but cannot do yet, so that a message can say so
// instead of calling them unknown; and the older spelling with hyphens. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace drom {

bool is_camel_step(std::string_view name);
bool is_camel_item(std::string_view name);  // at the top level of a file
bool is_camel_language(std::string_view name);
bool is_camel_language_option(std::string_view name);
bool is_camel_data_format(std::string_view name);
bool is_camel_option(std::string_view name);  // of routes and steps
// What to do instead; may be empty.
std::string_view instead_of(std::string_view name);

// "set-body" -> "setBody".
std::string camel_case(std::string_view name);

}  // namespace drom
