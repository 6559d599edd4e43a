#include "rt/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

namespace drom {

namespace asio = boost::asio;

struct TaskGroup::State {
  asio::io_context& io;
  Clock& clock;
  Log& log;
  std::unique_ptr<Alarm> alarm;
  std::list<asio::cancellation_signal> signals;
  bool cancelled = false;
};

TaskGroup::TaskGroup(asio::io_context& io, Clock& clock, Log& log)
    : state_(std::make_shared<State>(State{io, clock, log, clock.make_alarm(), {}, false})) {}

TaskGroup::~TaskGroup() = default;

void TaskGroup::spawn(std::string name, async<> work) {
  const auto at = state_->signals.emplace(state_->signals.end());
  auto ended = [state = state_, at, name = std::move(name)](std::exception_ptr failure) {
    if (failure && !state->cancelled) {
      try {
        std::rethrow_exception(failure);
      } catch (const std::exception& e) {
        state->log.error(name, std::string("internal error: ") + e.what());
      }
    }
    state->signals.erase(at);
    state->alarm->ring();
  };
  asio::co_spawn(state_->io, std::move(work),
                 asio::bind_cancellation_slot(at->slot(), std::move(ended)));
}

bool TaskGroup::empty() const { return state_->signals.empty(); }

async<bool> TaskGroup::wait(milliseconds timeout) {
  const SteadyTime deadline = state_->clock.steady() + timeout;
  while (!empty()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - state_->clock.steady());
    if (left.count() <= 0) co_return false;
    co_await state_->alarm->wait(left);
  }
  co_return true;
}

void TaskGroup::cancel() {
  state_->cancelled = true;
  std::vector<asio::cancellation_signal*> all;
  for (asio::cancellation_signal& signal : state_->signals) all.push_back(&signal);
  for (asio::cancellation_signal* signal : all) signal->emit(asio::cancellation_type::terminal);
}

}  // namespace drom
