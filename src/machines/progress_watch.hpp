// Tells work that gets on from work that hangs: something is to be done, and for too long nothing
// of it has been done. Pure; owned by whoever does the work.
#pragma once

#include <optional>

#include "drom/base/time.hpp"

namespace drom {

class ProgressWatch {
 public:
  explicit ProgressWatch(milliseconds limit) : limit_(limit) {}

  // Whether there is work now. Call it whenever that may have changed.
  void observe(bool work, SteadyTime now) {
    if (!work)
      since_.reset();
    else if (!since_)
      since_ = now;
  }
  // A piece of work is done, well or badly.
  void progressed(SteadyTime now) {
    if (since_) since_ = now;
  }
  // How long there has been work without progress.
  milliseconds waiting(SteadyTime now) const {
    return since_ ? std::chrono::duration_cast<milliseconds>(now - *since_) : milliseconds(0);
  }
  bool stuck(SteadyTime now) const { return waiting(now) > limit_; }

 private:
  milliseconds limit_;
  std::optional<SteadyTime> since_;
};

}  // namespace drom
