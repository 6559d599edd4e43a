#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <optional>

#include "sql/database_fixture.hpp"

namespace drom::sql {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;

async<> wait_on(Database& database, std::string channel, milliseconds timeout, Clock& clock,
                std::optional<milliseconds>& waited) {
  const SteadyTime start = clock.steady();
  co_await database.wait(std::move(channel), timeout);
  waited = std::chrono::duration_cast<milliseconds>(clock.steady() - start);
}

TEST_P(DatabaseConformance, WakesWaitersByASignal) {
  std::optional<milliseconds> first;
  std::optional<milliseconds> second;
  std::optional<milliseconds> other;
  harness.spawn(wait_on(*database, "orders", hours(1), harness.clock(), first));
  harness.spawn(wait_on(*database, "orders", hours(1), harness.clock(), second));
  harness.spawn(wait_on(*database, "other", hours(1), harness.clock(), other));
  harness.settle();
  database->signal("orders");
  harness.settle();
  EXPECT_EQ(first, milliseconds(0));
  EXPECT_EQ(second, milliseconds(0));
  EXPECT_FALSE(other);
  database->cancel_waits();
  harness.settle();
  EXPECT_EQ(other, milliseconds(0));
}

TEST_P(DatabaseConformance, KeepsASignalThatCameTooEarly) {
  database->signal("orders");
  std::optional<milliseconds> waited;
  harness.run(wait_on(*database, "orders", hours(1), harness.clock(), waited));
  EXPECT_EQ(waited, milliseconds(0));
  harness.spawn(wait_on(*database, "orders", hours(1), harness.clock(), waited = std::nullopt));
  harness.settle();
  EXPECT_FALSE(waited);
  harness.advance(hours(1));
  EXPECT_EQ(waited, milliseconds(hours(1)));
}

async<> hold_and_wait(Database& database, Clock& clock, bool& holds) {
  Result<std::unique_ptr<Transaction>> begun = co_await database.begin();
  const Command command = insert(1, "one");
  const Result<Rows> done = co_await (*begun)->execute(command.sql, command.params);
  holds = done.ok();
  const std::unique_ptr<Alarm> never = clock.make_alarm();
  co_await never->wait(milliseconds::max());
}

TEST_P(DatabaseConformance, RollsBackWhenTheHolderOfATransactionIsCancelled) {
  run(kItems);
  asio::cancellation_signal cancel;
  bool holds = false;
  bool ended = false;
  asio::co_spawn(
      harness.io(), hold_and_wait(*database, harness.clock(), holds),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  while (!holds) count("items");
  cancel.emit(asio::cancellation_type::terminal);
  harness.settle();
  EXPECT_TRUE(ended);
  EXPECT_EQ(count("items"), 0);
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
}

TEST_P(DatabaseConformance, LeavesTheQueueWhenAWaiterIsCancelled) {
  run(kItems);
  const auto impatient = connect(1);
  auto outer = harness.run(impatient->begin());
  ASSERT_TRUE(
      harness.run((*outer)->execute("INSERT INTO items (id, name) VALUES (5, 'five')", {})));
  asio::cancellation_signal cancel;
  bool holds = false;
  bool ended = false;
  asio::co_spawn(
      harness.io(), hold_and_wait(*impatient, harness.clock(), holds),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  harness.settle();
  cancel.emit(asio::cancellation_type::terminal);
  harness.settle();
  EXPECT_TRUE(ended);
  ASSERT_TRUE(harness.run((*outer)->commit()));
  outer->reset();
  harness.run(impatient->close());
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
  EXPECT_EQ(count("items"), 2);
}

}  // namespace
}  // namespace drom::sql
