#include "rt/stop_source.hpp"

namespace drom {

void StopSource::stop() {
  stopping_ = true;
  for (const Sleeper& sleeper : sleepers_)
    if (!sleeper.through_stop) sleeper.alarm->ring();
}

void StopSource::abandon() {
  stopping_ = abandoned_ = true;
  for (const Sleeper& sleeper : sleepers_) sleeper.alarm->ring();
}

async<bool> StopSource::sleep(Clock& clock, milliseconds duration, bool through_stop) {
  if (abandoned_ || (stopping_ && !through_stop)) co_return false;
  const std::unique_ptr<Alarm> alarm = clock.make_alarm();
  // Leaves the list also when the coroutine is destroyed while it sleeps.
  struct Listed {
    std::list<Sleeper>& list;
    std::list<Sleeper>::iterator at;
    Listed(std::list<Sleeper>& l, Sleeper s) : list(l), at(l.insert(l.end(), s)) {}
    Listed(const Listed&) = delete;
    ~Listed() { list.erase(at); }
  };
  const Listed listed(sleepers_, Sleeper{alarm.get(), through_stop});
  const bool rung = co_await alarm->wait(duration);
  co_return !rung;
}

}  // namespace drom
