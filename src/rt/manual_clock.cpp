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
    std::optional<SteadyTime> due;  // nullopt: waits for a ring only
    asio::steady_timer timer;
  };
  // Enters the list for the length of a wait; leaves it also when the coroutine is destroyed.
  struct Listed {
    State& state;
    std::list<Sleeper*>::iterator at;
    Listed(State& s, Sleeper& sleeper)
        : state(s), at(s.sleepers.insert(s.sleepers.end(), &sleeper)) {}
    Listed(const Listed&) = delete;
    ~Listed() { state.sleepers.erase(at); }
  };

  async<> wait(milliseconds duration, Sleeper& sleeper) {
    if (duration.count() <= 0) co_return;
    sleeper.due.reset();
    if (duration != milliseconds::max()) sleeper.due = SteadyTime(elapsed) + duration;
    sleeper.timer.expires_at(asio::steady_timer::time_point::max());
    const Listed listed(*this, sleeper);
    boost::system::error_code ignored;
    co_await sleeper.timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  asio::io_context& io;
  WallTime start;
  nanoseconds elapsed{0};
  std::list<Sleeper*> sleepers;
};

class ManualClock::ManualAlarm final : public Alarm {
 public:
  explicit ManualAlarm(State& state) : state_(state), sleeper_{{}, asio::steady_timer(state.io)} {}

  async<bool> wait(milliseconds timeout) override {
    if (!rung_) co_await state_.wait(timeout, sleeper_);
    co_return std::exchange(rung_, false);
  }
  void ring() override {
    rung_ = true;
    sleeper_.timer.cancel();
  }

 private:
  State& state_;
  State::Sleeper sleeper_;
  bool rung_ = false;
};

ManualClock::ManualClock(asio::io_context& io, WallTime start)
    : state_(new State{io, start, nanoseconds(0), {}}) {}
ManualClock::~ManualClock() = default;

WallTime ManualClock::wall() const {
  return state_->start + std::chrono::duration_cast<microseconds>(state_->elapsed);
}

SteadyTime ManualClock::steady() const { return SteadyTime(state_->elapsed); }

async<> ManualClock::sleep(milliseconds duration) {
  State::Sleeper sleeper{{}, asio::steady_timer(state_->io)};
  co_await state_->wait(duration, sleeper);
}

std::unique_ptr<Alarm> ManualClock::make_alarm() { return std::make_unique<ManualAlarm>(*state_); }

void ManualClock::advance(milliseconds duration) {
  state_->elapsed += duration;
  for (State::Sleeper* sleeper : state_->sleepers)
    if (sleeper->due && *sleeper->due <= steady()) sleeper->timer.cancel();
}

std::optional<milliseconds> ManualClock::next_due() const {
  std::optional<milliseconds> out;
  for (const State::Sleeper* sleeper : state_->sleepers) {
    if (!sleeper->due) continue;
    const auto left =
        std::max(milliseconds(0), std::chrono::ceil<milliseconds>(*sleeper->due - steady()));
    if (!out || left < *out) out = left;
  }
  return out;
}

}  // namespace drom
