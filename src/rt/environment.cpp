#include "rt/environment.hpp"

#include <cstdlib>

namespace drom {

std::optional<std::string> environment_variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace drom
