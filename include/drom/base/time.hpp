// Time types. Wall time is UTC in microseconds; durations that steer waiting use the steady clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "drom/base/error.hpp"

namespace drom {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// UTC wall time, microseconds since 1970.
using WallTime = std::chrono::time_point<std::chrono::system_clock, microseconds>;
// Monotonic time for waits and leases; its epoch means nothing.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, nanoseconds>;

// "2026-11-30T12:00:00.123Z": the form used in JSON, SQL text and logs.
std::string to_iso8601(WallTime time);
// Accepts what to_iso8601 writes, a space instead of T, and numeric offsets.
Result<WallTime> parse_iso8601(std::string_view text);

// Camel durations: "500", "500ms", "5s", "1m30s", "2h", "1d"; a bare number is milliseconds.
Result<milliseconds> parse_duration(std::string_view text);
std::string to_string(milliseconds duration);

}  // namespace drom
