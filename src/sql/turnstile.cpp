#include "sql/turnstile.hpp"

namespace drom::sql {

struct Turnstile::Waiter {
  Alarm* alarm;
  bool granted = false;
};

struct Turnstile::State {
  size_t free;
  std::list<Waiter*> waiting;

  explicit State(size_t places) : free(places) {}
  void give_back() {
    if (waiting.empty()) {
      ++free;
      return;
    }
    Waiter* const next = waiting.front();
    waiting.pop_front();
    next->granted = true;
    next->alarm->ring();
  }
};

Turnstile::Turnstile(size_t places) : state_(std::make_shared<State>(places)) {}

void Turnstile::Permit::release() {
  if (const auto state = std::exchange(state_, nullptr)) state->give_back();
}

async<std::optional<Turnstile::Permit>> Turnstile::enter(Clock& clock, milliseconds timeout) {
  const std::shared_ptr<State> state = state_;
  if (state->free > 0) {
    --state->free;
    co_return Permit(state);
  }
  // Leaves the queue, or passes the place on, also when the coroutine is destroyed while it waits.
  struct Queued {
    State& state;
    Waiter waiter;
    Queued(State& s, Alarm* alarm) : state(s), waiter{alarm} { state.waiting.push_back(&waiter); }
    Queued(const Queued&) = delete;
    ~Queued() {
      if (waiter.granted) {
        state.give_back();
      } else {
        state.waiting.remove(&waiter);
      }
    }
  };
  const std::unique_ptr<Alarm> alarm = clock.make_alarm();
  Queued queued(*state, alarm.get());
  co_await alarm->wait(timeout);
  if (!std::exchange(queued.waiter.granted, false)) {
    co_return std::nullopt;
  }
  co_return Permit(state);
}

}  // namespace drom::sql
