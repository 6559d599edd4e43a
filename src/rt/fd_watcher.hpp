// Tells when a file descriptor that a C library owns (libpq, librdkafka, hiredis) can be read or
// written, without taking it over. One waiter at a time. Owned by the connection object; shard thread.
#pragma once

#include <cstdint>
#include <memory>

#include "drom/base/time.hpp"
#include "drom/rt/async.hpp"

namespace boost::asio {
class io_context;
}

namespace drom {

class FdWatcher {
 public:
  enum class Interest : uint8_t { read, write, read_or_write };
  enum class Event : uint8_t {
    ready,    // look what the library can do now; may be spurious
    timeout,  // nothing within the time
    broken,   // the descriptor cannot be watched
  };

  explicit FdWatcher(boost::asio::io_context& io);
  ~FdWatcher();
  FdWatcher(const FdWatcher&) = delete;
  FdWatcher& operator=(const FdWatcher&) = delete;

  // Watches `fd` from now on. The library must not close it before forget() or assign().
  void assign(int fd);
  void forget();

  // Waits until one of the events of interest, at most `timeout` of real time: sockets do not know
  // virtual clocks. When the awaiting coroutine is cancelled, returns early as `timeout`.
  async<Event> wait(Interest interest, milliseconds timeout);
  // Ends the wait that is under way, or the next one, as `timeout`.
  void interrupt();

 private:
  struct State;
  std::shared_ptr<State> state_;  // pending Asio waits keep it alive
};

}  // namespace drom
