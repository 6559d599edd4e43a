// Tells sleepers that the engine stops. Two stages: `stopping` (finish what is in flight) and
// `abandoned` (the deadline has passed: give back what is left). Shard thread only.
#pragma once

#include <list>

#include "drom/rt/clock.hpp"

namespace drom {

class StopSource {
 public:
  bool stopping() const { return stopping_; }
  bool abandoned() const { return abandoned_; }
  void stop();
  void abandon();

  // Sleeps; false when the sleep ended early because of the stop. `through_stop` sleeps on while
  // the engine merely stops, and ends early only when it abandons.
  async<bool> sleep(Clock& clock, milliseconds duration, bool through_stop);

 private:
  struct Sleeper {
    Alarm* alarm;
    bool through_stop;
  };
  std::list<Sleeper> sleepers_;
  bool stopping_ = false;
  bool abandoned_ = false;
};

}  // namespace drom
