// Text work that the methods and the functions of `simple` share. Results are bounded: a message
// cannot make a small expression fill the memory.
#pragma once

#include <string>
#include <string_view>

#include "drom/base/value.hpp"

namespace drom::expr {

inline constexpr size_t kBuiltTextMax = 16 * 1024 * 1024;
inline constexpr int64_t kBuiltListMax = 100'000;

std::string_view trimmed(std::string_view text);
Result<Value> replace_all(std::string_view text, std::string_view from, std::string_view to);
Result<Value> repeated(std::string_view text, int64_t times);

}  // namespace drom::expr
