#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "drom/rt/manual_clock.hpp"
#include "drom/rt/random.hpp"
#include "rt/stop_source.hpp"

namespace drom {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;

async<> note_after(Clock& clock, milliseconds wait, std::vector<int>& notes, int note) {
  co_await clock.sleep(wait);
  notes.push_back(note);
}

TEST(ManualClock, WakesSleepersOnlyWhenTimeIsMoved) {
  asio::io_context io;
  ManualClock clock(io);
  std::vector<int> notes;
  asio::co_spawn(io, note_after(clock, hours(2), notes, 2), asio::detached);
  asio::co_spawn(io, note_after(clock, hours(1), notes, 1), asio::detached);
  io.poll();
  EXPECT_EQ(clock.next_due(), milliseconds(hours(1)));
  clock.advance(hours(1));
  io.poll();
  EXPECT_EQ(notes, std::vector<int>{1});
  clock.advance(hours(1));
  io.poll();
  EXPECT_EQ(notes, (std::vector<int>{1, 2}));
  EXPECT_EQ(clock.next_due(), std::nullopt);
}

async<> wait_into(Alarm& alarm, milliseconds timeout, int& out) {
  const bool rung = co_await alarm.wait(timeout);
  out = rung ? 1 : 0;
}

TEST(Alarm, EndsAWaitEarlyAndRemembersARing) {
  asio::io_context io;
  ManualClock clock(io);
  const auto alarm = clock.make_alarm();
  int rung = -1;
  asio::co_spawn(io, wait_into(*alarm, milliseconds::max(), rung), asio::detached);
  io.poll();
  EXPECT_EQ(rung, -1);
  alarm->ring();
  io.restart();
  io.poll();
  EXPECT_EQ(rung, 1);

  alarm->ring();
  rung = -1;
  asio::co_spawn(io, wait_into(*alarm, milliseconds::max(), rung), asio::detached);
  io.restart();
  io.poll();
  EXPECT_EQ(rung, 1);

  asio::co_spawn(io, wait_into(*alarm, milliseconds(5), rung), asio::detached);
  io.restart();
  io.poll();
  clock.advance(milliseconds(5));
  io.poll();
  EXPECT_EQ(rung, 0);
}

async<> sleep_into(StopSource& stop, Clock& clock, bool through, int& out) {
  const bool slept = co_await stop.sleep(clock, hours(1), through);
  out = slept ? 1 : 0;
}

TEST(StopSource, EndsSleepsInTwoStages) {
  asio::io_context io;
  ManualClock clock(io);
  StopSource stop;
  int soft = -1, hard = -1;
  asio::co_spawn(io, sleep_into(stop, clock, false, soft), asio::detached);
  asio::co_spawn(io, sleep_into(stop, clock, true, hard), asio::detached);
  io.poll();
  stop.stop();
  io.poll();
  EXPECT_EQ(soft, 0);
  EXPECT_EQ(hard, -1);
  stop.abandon();
  io.poll();
  EXPECT_EQ(hard, 0);
}

TEST(Rng, RepeatsWithItsSeedAndStaysInRange) {
  Rng a(7), b(7);
  EXPECT_EQ(a.uuid(), b.uuid());
  for (int i = 0; i < 1000; ++i) {
    const int64_t draw = a.between(-3, 3);
    EXPECT_GE(draw, -3);
    EXPECT_LE(draw, 3);
  }
  EXPECT_EQ(a.between(5, 1), 5);
  const std::string uuid = a.uuid();
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '4');
}

}  // namespace
}  // namespace drom
