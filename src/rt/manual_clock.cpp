#include "drom/rt/manual_clock.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

namespace drom {

namespace asio = boost::asio;

// A sleeper waits on a timer that never fires and is cancelled when its time has come, so that
// cancellation of the coroutine works as with the real clock.
struct ManualClock::State {
  struct Sleeper {
    SteadyTime due;
    asio::steady_timer timer;
  };
  asio::io_context& io;
  WallTime start;
  nanoseconds elapsed{0};
  std::list<Sleeper*> sleepers;
};

ManualClock::ManualClock(asio::io_context& io, WallTime start)
    : state_(std::make_unique<State>(State{io, start, nanoseconds(0), {}})) {}
ManualClock::~ManualClock() = default;

WallTime ManualClock::wall() const {
  return state_->start + std::chrono::duration_cast<microseconds>(state_->elapsed);
}

SteadyTime ManualClock::steady() const { return SteadyTime(state_->elapsed); }

async<> ManualClock::sleep(milliseconds duration) {
  State::Sleeper sleeper{steady() + duration, asio::steady_timer(state_->io)};
  sleeper.timer.expires_at(asio::steady_timer::time_point::max());
  State& state = *state_;
  // Leaves the list also when the coroutine is destroyed while it sleeps.
  struct Listed {
    State& state;
    std::list<State::Sleeper*>::iterator at;
    ~Listed() { state.sleepers.erase(at); }
  };
  const Listed listed{state, state.sleepers.insert(state.sleepers.end(), &sleeper)};
  boost::system::error_code ignored;
  if (duration.count() > 0)
    co_await sleeper.timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void ManualClock::advance(milliseconds duration) {
  state_->elapsed += duration;
  for (State::Sleeper* sleeper : state_->sleepers)
    if (sleeper->due <= steady()) sleeper->timer.cancel();
}

std::optional<milliseconds> ManualClock::next_due() const {
  std::optional<milliseconds> out;
  for (const State::Sleeper* sleeper : state_->sleepers) {
    const auto left = std::chrono::ceil<milliseconds>(sleeper->due - steady());
    if (!out || left < *out) out = std::max(left, milliseconds(0));
  }
  return out;
}

}  // namespace drom
