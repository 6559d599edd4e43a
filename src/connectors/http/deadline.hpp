// Deadlines of connections. One coarse sweep serves all deadlines of a server or a client, so that
// arming one costs neither a timer nor a clock reading; it fires up to two periods late, never
// early. Shard thread only.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "drom/base/time.hpp"

namespace boost::asio {
class io_context;
}

namespace drom {
class Clock;
}

namespace drom::http {

class Deadline;

// Runs while there are deadlines, so that an engine without connections has no timer at all.
class Sweep {
 public:
  // `io` and `clock` outlive the last deadline.
  Sweep(boost::asio::io_context& io, Clock& clock, milliseconds period);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep();
  bool running() const;

 private:
  friend class Deadline;
  struct State;
  std::shared_ptr<State> state_;
};

class Deadline {
 public:
  // `expired` may destroy this object.
  Deadline(Sweep& sweep, std::function<void()> expired);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline();

  void in(milliseconds duration);
  void off();
  // Switches it off; what was left, for an in() that goes on where this stopped. Coarse.
  milliseconds pause();

 private:
  friend class Sweep;
  std::shared_ptr<Sweep::State> state_;
  std::function<void()> expired_;
  SteadyTime at_ = SteadyTime::max();
  size_t place_ = 0;  // in State::deadlines
};

}  // namespace drom::http
