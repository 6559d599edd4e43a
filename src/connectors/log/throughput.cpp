#include "connectors/log/throughput.hpp"

#include <cstdio>

namespace drom {
namespace {

std::string per_second(int64_t messages, nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.2f", seconds > 0 ? double(messages) / seconds : 0.0);
  return buffer;
}

}  // namespace

std::optional<std::string> Throughput::count(SteadyTime now) {
  if (!start_) start_ = group_start_ = now + options_.group_delay;
  if (now < *start_) return std::nullopt;
  ++total_;
  ++in_group_;
  const bool complete = options_.group_size > 0 ? in_group_ >= options_.group_size
                                                : now - group_start_ >= options_.group_interval;
  if (!complete) return std::nullopt;
  return close_group(now);
}

std::optional<std::string> Throughput::rest(SteadyTime now) {
  if (in_group_ == 0) return std::nullopt;
  return close_group(now);
}

std::string Throughput::close_group(SteadyTime now) {
  const nanoseconds took = now - group_start_;
  std::string line = "Received: " + std::to_string(in_group_) + " new messages, with total " +
                     std::to_string(total_) + " so far. Last group took: " +
                     std::to_string(std::chrono::duration_cast<milliseconds>(took).count()) +
                     " millis which is: " + per_second(in_group_, took) +
                     " messages per second. average: " + per_second(total_, now - *start_);
  in_group_ = 0;
  group_start_ = now;
  return line;
}

}  // namespace drom
