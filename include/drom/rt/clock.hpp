// The one source of time and of waiting. The real clock lives on a shard; ManualClock is advanced
// by tests and by `drom test`, so that hours of route time pass in milliseconds.
// Shard thread only.
#pragma once

#include <memory>

#include "drom/base/time.hpp"
#include "drom/rt/async.hpp"

namespace drom {

// A wait that can be ended early: the tool for "look again in a second, or when told". One waiter
// at a time. A ring while nobody waits is kept: the next wait returns at once.
class Alarm {
 public:
  virtual ~Alarm() = default;
  // True: rung. False: `timeout` has passed (milliseconds::max() never does).
  virtual async<bool> wait(milliseconds timeout) = 0;
  virtual void ring() = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall() const = 0;
  virtual SteadyTime steady() const = 0;
  // Waits at least this long; returns early only when the awaiting coroutine is cancelled.
  virtual async<> sleep(milliseconds duration) = 0;
  virtual std::unique_ptr<Alarm> make_alarm() = 0;
};

}  // namespace drom
