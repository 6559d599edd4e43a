// The nodes that read what lies outside of the message: configuration properties, the environment,
// and the file that a file consumer has read (by its headers).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/node.hpp"

namespace drom::expr {

// A data error when the property is undefined and there is no default.
NodePtr make_property(std::string key, std::optional<std::string> default_value);
// `propertiesExist:key`, negated as `propertiesExist:!key`.
NodePtr make_property_exists(std::string key);
// As written, else upper case with underscores; null when undefined.
NodePtr make_environment(std::string name);
// `sys.key`: a property, null when undefined.
NodePtr make_system_property(std::string key);
// `file:name`, `file:onlyname.noext` ...; null when the part is unknown.
NodePtr make_file_part(std::string_view part);
std::vector<std::string_view> file_parts();

}  // namespace drom::expr
