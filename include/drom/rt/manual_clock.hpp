// A clock that stands still until it is told to move: tests and `drom test` run hours of route time
// in milliseconds. Shard thread only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "drom/rt/clock.hpp"

namespace boost::asio {
class io_context;
}

namespace drom {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(boost::asio::io_context& io,
                       WallTime start = WallTime(std::chrono::seconds(1'700'000'000)));
  ~ManualClock() override;
  WallTime wall() const override;
  SteadyTime steady() const override;
  async<> sleep(milliseconds duration) override;
  std::unique_ptr<Alarm> make_alarm() override;

  // Moves time on and wakes the sleepers that are due, earliest first; run the io_context
  // afterwards.
  void advance(milliseconds duration);
  // How long until the earliest sleeper is due; nullopt when nobody sleeps.
  std::optional<milliseconds> next_due() const;

 private:
  struct State;
  class ManualAlarm;
  std::unique_ptr<State> state_;
};

}  // namespace drom
