#include "observe/spd_log.hpp"

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include "drom/base/json.hpp"

namespace drom {
namespace {

spdlog::level::level_enum to_spd(LogLevel level) {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
  }
  return spdlog::level::info;
}

class SpdLog final : public Log {
 public:
  SpdLog(LogLevel level, LogFormat format)
      : logger_("drom", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>()),
        format_(format) {
    logger_.set_level(to_spd(level));
    logger_.set_pattern(format == LogFormat::json ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %^%-5l%$ %v",
                        spdlog::pattern_time_type::utc);
  }
  bool enabled(LogLevel level) const override { return logger_.should_log(to_spd(level)); }
  void write(LogLevel level, std::string_view category, std::string_view message) override {
    if (!enabled(level)) return;
    if (format_ == LogFormat::text) {
      logger_.log(to_spd(level), "[{}] {}", category, escape_controls(message));
      return;
    }
    Object line;
    // lint: allow(clock) a log line carries the real time even under a manual clock
    const auto now = std::chrono::time_point_cast<microseconds>(std::chrono::system_clock::now());
    line.append("time", to_iso8601(now));
    const auto name = spdlog::level::to_string_view(to_spd(level));
    line.append("level", std::string_view(name.data(), name.size()));
    line.append("category", category);
    line.append("message", message);
    logger_.log(to_spd(level), "{}", to_json(Value(std::move(line))));
  }

 private:
  spdlog::logger logger_;
  LogFormat format_;
};

}  // namespace

std::unique_ptr<Log> make_log(LogLevel level, LogFormat format) {
  return std::make_unique<SpdLog>(level, format);
}

std::string escape_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u != 0x7f) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\x";
      out += kHex[u >> 4];
      out += kHex[u & 15];
    }
  }
  return out;
}

}  // namespace drom
