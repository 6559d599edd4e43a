// Long-lived coroutines of one shard, spawned together and waited for together. A task that ends by
// an exception is our own mistake and is logged; cancel() unwinds what will not end by itself.
// Shard thread only; destroy it only when empty() or after the io_context has stopped for good.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"

namespace boost::asio {
class io_context;
}

namespace drom {

class TaskGroup {
 public:
  TaskGroup(boost::asio::io_context& io, Clock& clock, Log& log);
  ~TaskGroup();
  void spawn(std::string name, async<> work);
  bool empty() const;
  // True when all tasks have ended in time.
  async<bool> wait(milliseconds timeout);
  // Makes every waiting operation of the tasks fail, so that their frames unwind.
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace drom
