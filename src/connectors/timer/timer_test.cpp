#include "connectors/timer/timer.hpp"

#include <gtest/gtest.h>

#include "support/endpoints.hpp"

namespace drom {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Harness;
using testing::make_endpoint;
using testing::Options;

class Timer : public ::testing::Test {
 protected:
  Timer() { register_timer(harness.registry()); }

  void open(Options more = {}) {
    more.emplace_back("timerName", "t");
    endpoint = make_endpoint(harness, "timer", more);
    consumer = endpoint->make_consumer().value();
    ASSERT_TRUE(harness.run(consumer->open()).ok());
  }
  Batch poll() {
    Result<Batch> polled = harness.run(consumer->poll(1));
    return std::move(polled).value();
  }
  // Seconds of virtual time since the start at which the next tick comes.
  double next_tick() {
    EXPECT_EQ(poll().size(), 1u);
    return std::chrono::duration<double>(harness.manual_clock.steady().time_since_epoch()).count();
  }

  Harness harness;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Consumer> consumer;
};

TEST_F(Timer, TicksEverySecondByDefault) {
  open();
  EXPECT_EQ(next_tick(), 1);
  EXPECT_EQ(next_tick(), 2);
  EXPECT_EQ(next_tick(), 3);
}

TEST_F(Timer, KeepsDelayAndPeriodApart) {
  open({{"delay", "0"}, {"period", "1m30s"}});
  EXPECT_EQ(next_tick(), 0);
  EXPECT_EQ(next_tick(), 90);
}

TEST_F(Timer, MakesOneOfManyMissedTicks) {
  open({{"period", "10s"}, {"delay", "10s"}});
  EXPECT_EQ(next_tick(), 10);
  harness.advance(seconds(35));  // the route was busy until second 45
  EXPECT_EQ(next_tick(), 45);
  EXPECT_EQ(next_tick(), 55);
}

TEST_F(Timer, KeepsToItsGridAtAFixedRate) {  // C56c: elapsed time, whatever the wall clock does
  open({{"period", "15m"}, {"delay", "15m"}, {"fixedRate", "true"}});
  EXPECT_EQ(next_tick(), 15 * 60);
  harness.advance(minutes(40));
  EXPECT_EQ(next_tick(), 55 * 60);
  EXPECT_EQ(next_tick(), 60 * 60);
  EXPECT_EQ(next_tick(), 75 * 60);
}

TEST_F(Timer, EndsAfterTheRepeatCountAndThenOnlyWaitsForTheStop) {
  open({{"repeatCount", "2"}});
  EXPECT_EQ(next_tick(), 1);
  EXPECT_EQ(next_tick(), 2);
  bool returned = false;
  harness.spawn([](Consumer& c, bool& done) -> async<> {
    Result<Batch> polled = co_await c.poll(1);
    EXPECT_TRUE(polled.ok() && polled->empty());
    done = true;
  }(*consumer, returned));
  harness.advance(std::chrono::hours(24));
  EXPECT_FALSE(returned);
  consumer->stop();
  harness.settle();
  EXPECT_TRUE(returned);
}

TEST_F(Timer, TicksOnceWithoutAPeriod) {
  open({{"period", "0"}, {"delay", "3s"}});
  EXPECT_EQ(next_tick(), 3);
  consumer->stop();
  EXPECT_TRUE(poll().empty());
}

TEST_F(Timer, StartsAtAGivenTime) {
  open({{"time", to_iso8601(harness.now() + minutes(10))}, {"period", "60s"}});
  EXPECT_EQ(next_tick(), 600);
  EXPECT_EQ(next_tick(), 660);
}

TEST_F(Timer, RefusesATimeThatIsNone) {
  const auto made =
      testing::try_endpoint(harness, "timer", {{"timerName", "t"}, {"time", "tomorrow"}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::config);
}

TEST_F(Timer, SendsNothingButTheTickByDefault) {
  open();
  const Batch batch = poll();
  EXPECT_TRUE(batch[0].message.body.is_null());
  EXPECT_TRUE(batch[0].message.headers.empty());
  EXPECT_TRUE(batch[0].properties.empty());
}

TEST_F(Timer, TellsAboutTheTickWhenAskedTo) {
  open({{"includeMetadata", "true"}});
  poll();
  const Batch batch = poll();
  const Exchange& exchange = batch[0];
  EXPECT_EQ(*exchange.properties.find("CamelTimerName"), Value("t"));
  EXPECT_EQ(*exchange.properties.find("CamelTimerCounter"), Value(2));
  EXPECT_EQ(*exchange.properties.find("CamelTimerPeriod"), Value(1000));
  EXPECT_EQ(*exchange.properties.find("CamelTimerFiredTime"), Value(harness.now()));
  EXPECT_EQ(*exchange.message.headers.find("CamelMessageTimestamp"),
            Value(int64_t{1'700'000'002'000}));
}

TEST_F(Timer, StopsAtOnceAndStartsAgain) {
  open({{"period", "1h"}, {"delay", "1h"}});
  consumer->stop();
  consumer->stop();
  EXPECT_TRUE(poll().empty());
  ASSERT_TRUE(harness.run(consumer->open()).ok());
  EXPECT_EQ(next_tick(), 3600);
}

}  // namespace
}  // namespace drom
