#include "rt/real_clock.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace drom {
namespace {

class RealClock final : public Clock {
 public:
  explicit RealClock(boost::asio::io_context& io) : io_(io) {}

  WallTime wall() const override {
    return std::chrono::time_point_cast<microseconds>(std::chrono::system_clock::now());
  }
  SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
  async<> sleep(milliseconds duration) override {
    boost::asio::steady_timer timer(io_, duration);
    boost::system::error_code ignored;  // cancelled: the sleeper is told by its own stop flag
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }

 private:
  boost::asio::io_context& io_;
};

}  // namespace

std::unique_ptr<Clock> make_real_clock(boost::asio::io_context& io) {
  return std::make_unique<RealClock>(io);
}

}  // namespace drom
