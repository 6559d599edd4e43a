// Counts messages and says, once per group or per interval, how fast they went. Pure: the caller
// brings the time.
#pragma once

#include <optional>
#include <string>

#include "drom/base/time.hpp"

namespace drom {

struct ThroughputOptions {
  int64_t group_size = 0;  // 0: by interval
  milliseconds group_interval{0};
  milliseconds group_delay{0};  // nothing is counted this long after the start
};

class Throughput {
 public:
  explicit Throughput(ThroughputOptions options) : options_(options) {}
  // Counts one message; the line to write when a group is complete.
  std::optional<std::string> count(SteadyTime now);
  // The line about the messages since the last group; nothing when there were none.
  std::optional<std::string> rest(SteadyTime now);

 private:
  std::string close_group(SteadyTime now);

  ThroughputOptions options_;
  std::optional<SteadyTime> start_;
  SteadyTime group_start_{};
  int64_t total_ = 0;
  int64_t in_group_ = 0;
};

}  // namespace drom
