// Structured log lines. Implementations escape control characters, so that one event is one line,
// and mask secrets. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace drom {

enum class LogLevel : uint8_t { trace, debug, info, warn, error, off };

class Log {
 public:
  virtual ~Log() = default;
  virtual bool enabled(LogLevel level) const = 0;
  // `category` is a route id, a component scheme or a logger name.
  virtual void write(LogLevel level, std::string_view category, std::string_view message) = 0;

  void info(std::string_view category, std::string_view m) { write(LogLevel::info, category, m); }
  void warn(std::string_view category, std::string_view m) { write(LogLevel::warn, category, m); }
  void error(std::string_view category, std::string_view m) { write(LogLevel::error, category, m); }
  void debug(std::string_view category, std::string_view m) {
    if (enabled(LogLevel::debug)) write(LogLevel::debug, category, m);
  }
};

}  // namespace drom
