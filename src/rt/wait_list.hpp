// Coroutines of one shard that wait for something to change ("an item is there", "there is room").
// A ring is not kept: look at the state first, wait only when there is nothing to do, look again
// afterwards. Shard thread only.
#pragma once

#include <list>
#include <memory>

#include "drom/rt/clock.hpp"

namespace drom {

class WaitList {
 public:
  WaitList();
  // Waits for a ring or until `timeout` has passed; true = rung. The list may go away meanwhile.
  async<bool> wait(Clock& clock, milliseconds timeout);
  // Wakes the one that has waited longest. It leaves the list at once, so that the next ring wakes
  // another one even before the first has run.
  void ring_one();
  void ring_all();
  bool empty() const { return waiting_->empty(); }

 private:
  std::shared_ptr<std::list<Alarm*>> waiting_;
};

}  // namespace drom
