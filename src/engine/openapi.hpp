// The OpenAPI 3.0 document of the `rest` services. Pure; load time.
#pragma once

#include <string>

#include "drom/base/value.hpp"
#include "engine/rest_model.hpp"

namespace drom {

Value make_openapi(const RestModel& model);

// JSON-like data as YAML, in the block style.
std::string to_yaml(const Value& document);

}  // namespace drom
