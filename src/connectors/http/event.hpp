// Lets coroutines wait until something happens: a request arrived, a connection is free. A timer
// that never fires and is cancelled to wake the waiters. Shard thread only.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include "drom/rt/async.hpp"

namespace drom::http {

class Event {
 public:
  explicit Event(boost::asio::io_context& io)
      : timer_(io, boost::asio::steady_timer::time_point::max()) {}

  // Returns after the next notify(). The caller looks again, and has made sure that somebody will
  // notify: a stop or a Deadline.
  async<> wait();
  // One post per call that has waiters, whatever their number of events; nothing without waiters.
  void notify() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
};

}  // namespace drom::http
