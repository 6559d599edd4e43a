// Log lines on standard error through spdlog: one event is one line, in text or JSON. Any thread.
#pragma once

#include <memory>
#include <string>

#include "drom/rt/log.hpp"

namespace drom {

enum class LogFormat : uint8_t { text, json };

std::unique_ptr<Log> make_log(LogLevel level, LogFormat format);

// Control characters as \xNN escapes, so that data cannot forge a log line.
std::string escape_controls(std::string_view text);

}  // namespace drom
