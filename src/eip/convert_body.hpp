// convertBodyTo: gives the body the type that a Java or short name stands for. Never rounds and
// never guesses: what does not fit fails the exchange with kind data and keeps the body as it was.
// Plain.
#pragma once

#include <string_view>

#include "drom/base/value.hpp"

namespace drom {

class Registry;

enum class BodyType : uint8_t {
  any,
  text,
  bytes,
  int32,
  int64,
  real,
  decimal,
  boolean,
  object,
  list
};

// "java.lang.String", "String", "byte[]", "int", "java.util.Map" ...; nullopt when unknown.
std::optional<BodyType> body_type(std::string_view name);
Result<Value> convert(const Value& value, BodyType type);

void register_convert_body(Registry& registry);

}  // namespace drom
