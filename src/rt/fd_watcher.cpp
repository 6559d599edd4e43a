#include "rt/fd_watcher.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace drom {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

struct FdWatcher::State : std::enable_shared_from_this<FdWatcher::State> {
  explicit State(asio::io_context& io) : descriptor(io), timer(io) {}

  Descriptor descriptor;
  asio::steady_timer timer;  // the deadline; cancelled early by the first event
  uint64_t generation = 0;   // of the assigned fd: late answers for an earlier one are ignored
  bool read_armed = false;
  bool write_armed = false;
  bool ready = false;
  bool broken = false;
  bool interrupted = false;

  // An armed wait survives the end of wait(): the next call does not pay for it again, and an event
  // that came in between is not lost.
  void arm(Descriptor::wait_type type, bool& armed) {
    if (armed) return;
    armed = true;
    auto answer = [self = shared_from_this(), &armed, at = generation](boost::system::error_code e) {
      if (at != self->generation) return;
      armed = false;
      if (e) {
        self->broken = true;
      } else {
        self->ready = true;
      }
      self->timer.cancel();
    };
    descriptor.async_wait(type, std::move(answer));
  }

  void forget() {
    ++generation;
    read_armed = write_armed = ready = broken = false;
    // Gives the descriptor back unclosed; pending waits end as cancelled.
    if (descriptor.is_open()) descriptor.release();
  }
};

FdWatcher::FdWatcher(asio::io_context& io) : state_(std::make_shared<State>(io)) {}

FdWatcher::~FdWatcher() { forget(); }

void FdWatcher::assign(int fd) {
  forget();
  boost::system::error_code e;
  state_->descriptor.assign(fd, e);
  state_->broken = bool(e);
}

void FdWatcher::forget() {
  state_->forget();
  state_->timer.cancel();
}

void FdWatcher::interrupt() {
  state_->interrupted = true;
  state_->timer.cancel();
}

async<FdWatcher::Event> FdWatcher::wait(Interest interest, milliseconds timeout) {
  const std::shared_ptr<State> state = state_;
  if (!state->descriptor.is_open()) co_return Event::broken;
  if (interest != Interest::write) state->arm(Descriptor::wait_read, state->read_armed);
  if (interest != Interest::read) state->arm(Descriptor::wait_write, state->write_armed);
  if (!state->ready && !state->broken && !state->interrupted) {
    if (timeout == milliseconds::max()) {
      state->timer.expires_at(asio::steady_timer::time_point::max());
    } else {
      state->timer.expires_after(timeout);
    }
    boost::system::error_code ignored;  // `ready` and `broken` tell why the wait ended
    co_await state->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  state->interrupted = false;
  if (!state->descriptor.is_open() || state->broken) co_return Event::broken;
  if (std::exchange(state->ready, false)) co_return Event::ready;
  co_return Event::timeout;
}

}  // namespace drom
