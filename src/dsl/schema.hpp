// The JSON Schema of route files, made from the registry: what editors complete and check. Pure.
#pragma once

#include <string>

#include "drom/spi/registry.hpp"

namespace drom {

// Draft 2020-12. Accepts what the YAML reader accepts in form, except the old spelling with
// hyphens; a placeholder may stand for any value.
std::string route_file_schema(const Registry& registry);

}  // namespace drom
