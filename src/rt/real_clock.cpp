#include "rt/real_clock.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace drom {
namespace {

namespace asio = boost::asio;

class RealAlarm final : public Alarm {
 public:
  explicit RealAlarm(asio::io_context& io) : timer_(io) {}

  async<bool> wait(milliseconds timeout) override {
    if (!rung_) {
      if (timeout == milliseconds::max()) {
        timer_.expires_at(asio::steady_timer::time_point::max());
      } else {
        timer_.expires_after(timeout);
      }
      boost::system::error_code ignored;  // rung or cancelled: rung_ tells
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    co_return std::exchange(rung_, false);
  }
  void ring() override {
    rung_ = true;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  bool rung_ = false;
};

class RealClock final : public Clock {
 public:
  explicit RealClock(asio::io_context& io) : io_(io) {}

  WallTime wall() const override {
    return std::chrono::time_point_cast<microseconds>(std::chrono::system_clock::now());
  }
  SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
  async<> sleep(milliseconds duration) override {
    asio::steady_timer timer(io_, duration);
    boost::system::error_code ignored;  // cancelled: the sleeper is told by its own stop flag
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  std::unique_ptr<Alarm> make_alarm() override { return std::make_unique<RealAlarm>(io_); }

 private:
  asio::io_context& io_;
};

}  // namespace

std::unique_ptr<Clock> make_real_clock(asio::io_context& io) {
  return std::make_unique<RealClock>(io);
}

}  // namespace drom
