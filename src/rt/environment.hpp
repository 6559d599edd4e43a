// The process environment: the one place that reads it. Any thread, as long as nobody changes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drom {

std::optional<std::string> environment_variable(std::string_view name);

}  // namespace drom
