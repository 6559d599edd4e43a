// JSON text <-> Value. Strict RFC 8259: no NaN, no trailing bytes, no duplicate keys, depth limit.
// Errors are ErrorKind::data and name the byte offset. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "drom/base/value.hpp"

namespace drom {

inline constexpr size_t kJsonDepthMax = 64;

Result<Value> parse_json(std::string_view text, size_t depth_max = kJsonDepthMax);

// Compact. Bytes are written as base64 text, times as ISO 8601 text.
std::string to_json(const Value& value);
void append_json(std::string& out, const Value& value);
// Two-space indentation, for people.
std::string to_json_pretty(const Value& value);

}  // namespace drom
