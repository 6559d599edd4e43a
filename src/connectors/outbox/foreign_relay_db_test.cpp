// Relays of tables that are not ours: columns that are lost while they run, several at once, what
// they tell about themselves.
#include "connectors/outbox/foreign_table_fixture.hpp"

namespace drom::outbox {
namespace {

using Names = BodyList;

class ForeignRelayDb : public ForeignDb {};
class ForeignServerDb : public ForeignDb {};  // several relays, several writers

TEST_P(ForeignRelayDb, AColumnThatIsLostWhileRunningIsNamedOnceAndTheRelayGoesOnWhenMended) {
  create_classic();
  insert_classic("a");
  start(classic());
  ASSERT_TRUE(wait_for(1));
  run("ALTER TABLE \"OutboxMessages\" RENAME COLUMN \"EventType\" TO \"Kind\"");
  ASSERT_TRUE(until([&] { return harness.captured.contains("has no column EventType"); }));
  EXPECT_TRUE(harness.captured.contains("ADD COLUMN " + quote("EventType")));
  let_pass(milliseconds(500));
  size_t lines = 0;
  for (const auto& line : harness.captured.lines)
    if (line.message.find("cannot be worked on") != std::string::npos) ++lines;
  EXPECT_EQ(lines, 1u) << "one line, however often it tries";
  run("ALTER TABLE \"OutboxMessages\" RENAME COLUMN \"Kind\" TO \"EventType\"");
  insert_classic("b");
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(bodies, (Names{"a", "b"}));
}

TEST_P(ForeignRelayDb, AColumnThatOurOwnTableLostIsNamedToo) {
  start({});
  run("INSERT INTO outbox_orders (payload) VALUES ('a')");
  ASSERT_TRUE(wait_for(1));
  run("ALTER TABLE outbox_orders RENAME COLUMN headers TO meta");
  ASSERT_TRUE(until([&] { return harness.captured.contains("no column headers"); }));
  stop();
  const Error error = refusal({});
  EXPECT_NE(error.hint.find("ADD COLUMN " + quote("headers")), std::string::npos)
      << error.message();
  ASSERT_TRUE(harness.run(database->script(error.hint)).ok());
  run("INSERT INTO outbox_orders (payload) VALUES ('b')");
  start({});
  ASSERT_TRUE(wait_for(2));
}

// --- several relays -----------------------------------------------------------------------------

TEST_P(ForeignServerDb, TwoRelaysShareTheKeysAndSendEachRowOnce) {
  run(mysql() ? "CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY, key varchar(100), "
                "payload text, sent_at datetime(3))"
              : "CREATE TABLE events (id bigserial PRIMARY KEY, key text, payload text, sent_at "
                "timestamptz)");
  const OptionList options = {
      {"format", "mapped"}, {"table", "events"}, {"keyColumn", "key"}, {"sentColumn", "sent_at"}};
  start(options);
  const auto second_database = connect();
  const auto second = make_consumer(
      {*second_database, harness.io(), *clock, harness.captured, harness.rng()}, read(options));
  ASSERT_TRUE(harness.run(second->open()).ok());
  bool second_over = false;
  harness.spawn(pump(second.get(), &second_over));
  ASSERT_TRUE(
      becomes("SELECT min(n) FROM (SELECT count(*) AS n FROM drom_lease WHERE bucket >= 0 "
              "AND owner <> '' GROUP BY owner HAVING count(*) < 64) AS c",
              32));
  run(mysql() ? "INSERT INTO events (key, payload) SELECT concat('k', seq % 40), seq FROM "
                "seq_1_to_400"
              : "INSERT INTO events (key, payload) SELECT 'k' || i % 40, i FROM "
                "generate_series(1, 400) AS i");
  ASSERT_TRUE(wait_for(400));
  EXPECT_TRUE(becomes("SELECT count(*) FROM events WHERE sent_at IS NULL", 0));
  EXPECT_EQ(bodies.size(), 400u);
  std::map<std::string, int64_t> last;
  for (const Exchange& exchange : seen) {
    const int64_t id = exchange.message.headers.find("outbox.id")->to_int().value();
    EXPECT_GT(id, last[exchange.key]) << exchange.key;
    last[exchange.key] = id;
  }
  stopping = true;
  second->stop();
  EXPECT_TRUE(until([&] { return second_over; }));
  harness.run(second->close());
}

TEST_P(ForeignRelayDb, ALostLeaseIsFenced) {
  create_classic();
  for (const char* body : {"a", "b"}) insert_classic(body);
  ASSERT_TRUE(open(read(classic())).ok());
  Batch batch;
  while (batch.size() < 2) {
    Result<Batch> more = harness.run(consumer->poll(8));
    ASSERT_TRUE(more.ok());
    for (Exchange& exchange : *more) batch.push_back(std::move(exchange));
  }
  run("UPDATE drom_lease SET owner = 'other', token = token + 1 WHERE bucket >= 0");
  std::vector<Receipt> receipts;
  batch[1].fail(Error(ErrorKind::data, "bad"));
  receipts.push_back(Receipt{std::move(batch[0]), Outcome::done});
  receipts.push_back(Receipt{std::move(batch[1]), Outcome::failed});
  ASSERT_TRUE(harness.run(consumer->settle(std::move(receipts))).ok());
  let_pass(milliseconds(100));
  EXPECT_EQ(number("SELECT count(*) FROM \"OutboxMessages\" WHERE \"ProcessedAt\" IS NULL"), 2)
      << "the mark of a relay without the lease changes nothing";
  EXPECT_EQ(number("SELECT count(*) FROM drom_trouble"), 0);
}

TEST_P(ForeignServerDb, ARowThatBecomesVisibleLateIsNotSkipped) {  // C01
  create_classic();
  start(classic());
  Result<std::unique_ptr<sql::Transaction>> late = harness.run(database->begin());
  ASSERT_TRUE(late.ok());
  List none;
  Result<sql::Rows> first = harness.run(
      (*late)->execute(spelled("INSERT INTO \"OutboxMessages\" (\"EventType\", \"Payload\") VALUES "
                               "('T', 'late')"),
                       none));
  ASSERT_TRUE(first.ok());
  insert_classic("early");
  ASSERT_TRUE(wait_for(1));
  let_pass(milliseconds(60));
  ASSERT_TRUE(harness.run((*late)->commit()).ok());
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(bodies, (Names{"early", "late"}));
}

// --- what relays tell ---------------------------------------------------------------------------

TEST_P(ForeignRelayDb, TheBoardTellsWhatTheRelayDoesAndThatItGetsOn) {
  create_classic();
  for (const char* body : {"a", "b", "bad"}) insert_classic(body);
  failures["bad"] = 100;
  start(classic({{"maximumAttempts", "2"}, {"lease", "100ms"}}));
  ASSERT_TRUE(until([&] { return stats.read().at(0).second.dead == 1; }));
  ASSERT_EQ(stats.read().size(), 1u);
  const auto [uri, now] = stats.read()[0];
  EXPECT_EQ(uri, "outbox:orders");
  EXPECT_EQ(now.sent, 2u);
  EXPECT_EQ(now.failed, 2u);
  EXPECT_EQ(now.buckets, 64);
  EXPECT_TRUE(now.ready) << now.why;
  EXPECT_FALSE(now.paused);
  stop();
  EXPECT_TRUE(stats.read().empty());
}

TEST_P(ForeignRelayDb, ARelayWhoseRowsStayDueIsNotReadyUntilItGetsOn) {
  create_classic();
  insert_classic("a");
  away = true;
  OutboxOptions options = read(classic());
  options.policy.lease = milliseconds(100);
  options.policy.pause = Backoff{milliseconds(20), 2, milliseconds(50), 0};
  ASSERT_TRUE(open(options).ok());
  stopping = ended = false;
  harness.spawn(pump(consumer.get(), &ended));
  ASSERT_TRUE(until([&] { return !stats.read().at(0).second.ready; }));
  EXPECT_NE(stats.read()[0].second.why.find(" for "), std::string::npos);
  ASSERT_TRUE(until([&] { return stats.read()[0].second.due == 1; }));
  ASSERT_EQ(stats.read()[0].second.lags.size(), 1u);
  EXPECT_EQ(stats.read()[0].second.lags[0].oldest_id, 1);
  away = false;
  ASSERT_TRUE(wait_for(1));
  EXPECT_TRUE(until([&] { return stats.read()[0].second.ready; }));
  let_pass(milliseconds(500));
  EXPECT_TRUE(stats.read()[0].second.ready) << "an idle relay is ready";
}

INSTANTIATE_TEST_SUITE_P(Dialects, ForeignRelayDb, ::testing::ValuesIn(testing::all_dialects()),
                         testing::dialect_name);
INSTANTIATE_TEST_SUITE_P(Dialects, ForeignServerDb, ::testing::ValuesIn(testing::server_dialects()),
                         testing::dialect_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ForeignServerDb);

}  // namespace
}  // namespace drom::outbox
