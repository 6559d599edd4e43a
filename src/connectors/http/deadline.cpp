#include "connectors/http/deadline.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "drom/rt/clock.hpp"

namespace drom::http {

struct Sweep::State {
  boost::asio::io_context& io;
  Clock& clock;
  milliseconds period;
  std::vector<Deadline*> deadlines;
  SteadyTime now{};  // of the last look; at most one period old while running
  boost::asio::cancellation_signal cancel;
  bool running = false;
  bool stopped = false;

  static async<> run(std::shared_ptr<State> state);
  static void start(const std::shared_ptr<State>& state);
  void look();
};

// Lives while there are deadlines, so that an engine without connections has no timer at all.
async<> Sweep::State::run(std::shared_ptr<State> state) {
  while (!state->stopped && !state->deadlines.empty()) {
    co_await state->clock.sleep(state->period);
    if (state->stopped) break;
    state->now = state->clock.steady();
    state->look();
  }
  state->running = false;
}

void Sweep::State::start(const std::shared_ptr<State>& state) {
  if (state->running || state->stopped) return;
  state->running = true;
  state->now = state->clock.steady();
  boost::asio::co_spawn(state->io, run(state),
                        boost::asio::bind_cancellation_slot(
                            state->cancel.slot(), [state](std::exception_ptr) {
                              // Cancelled when the last deadline went; there may be a new one.
                              state->running = false;
                              if (!state->deadlines.empty()) start(state);
                            }));
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
    : state_(std::make_shared<State>(io, clock, period)) {}

Sweep::~Sweep() { stop(); }

void Sweep::stop() {
  if (state_->stopped) return;
  state_->stopped = true;
  if (state_->running) state_->cancel.emit(boost::asio::cancellation_type::terminal);
}

Deadline::Deadline(Sweep& sweep, std::function<void()> expired)
    : state_(sweep.state_), expired_(std::move(expired)), place_(state_->deadlines.size()) {
  state_->deadlines.push_back(this);
  Sweep::State::start(state_);
}

Deadline::~Deadline() {
  Deadline* last = state_->deadlines.back();
  state_->deadlines[place_] = last;
  last->place_ = place_;
  state_->deadlines.pop_back();
  if (state_->deadlines.empty() && state_->running)
    state_->cancel.emit(boost::asio::cancellation_type::terminal);
}

void Deadline::in(milliseconds duration) { at_ = state_->now + state_->period + duration; }

void Deadline::off() { at_ = SteadyTime::max(); }

}  // namespace drom::http
