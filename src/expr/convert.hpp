// Java type names as routes use them (`bodyAs(String)`, `is 'Integer'`) and conversions between
// values. Conversions fail rather than round or guess.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "drom/base/value.hpp"

namespace drom::expr {

enum class TypeName : uint8_t {
  text,
  integer,
  real,
  decimal,
  number,
  boolean,
  bytes,
  map,
  list,
  time,
  any
};

// Accepts short names, java.lang/java.util names and primitives; nullopt when unknown.
std::optional<TypeName> type_named(std::string_view name);
std::vector<std::string_view> type_names();

bool is_instance(const Value& value, TypeName type);
// Null stays null. Errors are ErrorKind::data.
Result<Value> convert(const Value& value, TypeName type);

}  // namespace drom::expr
