#include "connectors/http/deadline.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "drom/rt/clock.hpp"

namespace drom::http {

struct Sweep::State {
  boost::asio::io_context& io;
  Clock& clock;
  milliseconds period;
  std::unique_ptr<Alarm> alarm;  // rung when the last deadline has gone
  std::vector<Deadline*> deadlines;
  SteadyTime now{};  // of the last look; at most one period old while running
  bool running = false;

  static async<> run(std::shared_ptr<State> state);
  void look();
};

async<> Sweep::State::run(std::shared_ptr<State> state) {
  while (!state->deadlines.empty()) {
    co_await state->alarm->wait(state->period);
    state->now = state->clock.steady();
    state->look();
  }
  state->running = false;
}

// An expired deadline may remove itself and others, and the last one then takes the free place: one
// that is missed so is found by the next look.
void Sweep::State::look() {
  for (size_t i = 0; i < deadlines.size();) {
    Deadline* deadline = deadlines[i];
    if (deadline->at_ > now) {
      ++i;
      continue;
    }
    deadline->at_ = SteadyTime::max();
    const std::function<void()> expired = deadline->expired_;
    expired();
  }
}

Sweep::Sweep(boost::asio::io_context& io, Clock& clock, milliseconds period)
    : state_(std::make_shared<State>(State{io, clock, period, clock.make_alarm(), {}})) {}

Sweep::~Sweep() = default;

bool Sweep::running() const { return state_->running; }

Deadline::Deadline(Sweep& sweep, std::function<void()> expired)
    : state_(sweep.state_), expired_(std::move(expired)), place_(state_->deadlines.size()) {
  state_->deadlines.push_back(this);
  if (state_->running) return;
  state_->running = true;
  state_->now = state_->clock.steady();
  boost::asio::co_spawn(state_->io, Sweep::State::run(state_), boost::asio::detached);
}

Deadline::~Deadline() {
  Deadline* last = state_->deadlines.back();
  state_->deadlines[place_] = last;
  last->place_ = place_;
  state_->deadlines.pop_back();
  if (state_->deadlines.empty()) state_->alarm->ring();
}

void Deadline::in(milliseconds duration) { at_ = state_->now + state_->period + duration; }

void Deadline::off() { at_ = SteadyTime::max(); }

milliseconds Deadline::pause() {
  const auto left = std::chrono::floor<milliseconds>(at_ - state_->now - state_->period);
  off();
  return std::max(left, milliseconds(0));
}

}  // namespace drom::http
