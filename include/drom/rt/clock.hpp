// The one source of time and of waiting. The real clock lives on a shard; ManualClock is advanced
// by tests and by `drom test`, so that hours of route time pass in milliseconds.
// Shard thread only.
#pragma once

#include "drom/base/time.hpp"
#include "drom/rt/async.hpp"

namespace drom {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual SteadyTime steady() const = 0;
  // Waits at least this long; returns early only when the awaiting coroutine is cancelled.
  virtual async<> sleep(milliseconds duration) = 0;
};

}  // namespace drom
