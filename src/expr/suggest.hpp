// "did you mean 'x'?" for names in expressions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drom::expr {

// Empty when nothing is near enough.
std::string suggest(std::string_view wrong, const std::vector<std::string_view>& known);

}  // namespace drom::expr
