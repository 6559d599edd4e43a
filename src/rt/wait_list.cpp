#include "rt/wait_list.hpp"

namespace drom {
namespace {

// Leaves the list also when the coroutine is destroyed while it waits.
struct Listed {
  std::shared_ptr<std::list<Alarm*>> list;
  Alarm* alarm;
  Listed(std::shared_ptr<std::list<Alarm*>> l, Alarm* a) : list(std::move(l)), alarm(a) {
    list->push_back(alarm);
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() { list->remove(alarm); }
};

}  // namespace

WaitList::WaitList() : waiting_(std::make_shared<std::list<Alarm*>>()) {}

async<bool> WaitList::wait(Clock& clock, milliseconds timeout) {
  const std::unique_ptr<Alarm> alarm = clock.make_alarm();
  const Listed listed(waiting_, alarm.get());
  const bool rung = co_await alarm->wait(timeout);
  co_return rung;
}

void WaitList::ring_one() {
  if (waiting_->empty()) return;
  Alarm* const alarm = waiting_->front();
  waiting_->pop_front();
  alarm->ring();
}

void WaitList::ring_all() {
  while (!waiting_->empty()) ring_one();
}

}  // namespace drom
