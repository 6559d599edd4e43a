// The methods of Java's String, List, Map and Number that routes call on values:
// `${body.substring(2)}`, `${body.size()}`, `${header.name.toUpperCase()}`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "expr/node.hpp"

namespace drom::expr {

struct Method {
  std::string_view name;
  uint8_t arguments_min;
  uint8_t arguments_max;
  // `self` is never null.
  Result<Value> (*call)(const Value& self, std::span<const Value> arguments);
};

// Null when there is no method of that name.
const Method* method_named(std::string_view name);
std::vector<std::string_view> method_names();

}  // namespace drom::expr
