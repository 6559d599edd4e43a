// Log mode on a real PostgreSQL: everything once and in key order, transactions that stay open,
// rows on hold, take-over, rotation.
#include "connectors/outbox/log_mode_fixture.hpp"
#include "connectors/outbox/outbox.hpp"
#include "support/endpoints.hpp"

namespace drom::outbox {
namespace {

TEST_P(LogModeDb, DeliversEverythingOnceInOrderPerKey) {
  start();
  for (int i = 1; i <= 300; ++i) send(std::to_string(i), "key" + std::to_string(i % 7));
  ASSERT_TRUE(wait_for(300));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 300u);
  EXPECT_EQ(distinct().size(), 300u);
  expect_key_order();
  EXPECT_EQ(number("SELECT count(*) FROM outbox_x"), 0) << "nothing is on hold";
  EXPECT_FALSE(log().relay.empty());
}

TEST_P(LogModeDb, ALargeBacklogIsReadInPagesAndCheckpointedWithin) {
  insert_many(1, 20'000, 100);
  start();
  ASSERT_TRUE(wait_for(20'000));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 20'000u);
  EXPECT_EQ(distinct().size(), 20'000u);
  expect_key_order();
}

TEST_P(LogModeDb, AWriterWakesTheRelayAndAnIdleRelayDoesNotSpin) {
  options.policy.poll_min = options.policy.poll_max = seconds(60);
  options.policy.lease = seconds(60);
  Pump& pump = start();
  let_pass(milliseconds(100));
  send("1", "k");
  EXPECT_TRUE(until([&] { return seen.size() == 1; }, seconds(3)));
  let_pass(milliseconds(100));
  EXPECT_LE(pump.polls, 2);
}

TEST_P(LogModeDb, AnOpenTransactionNeitherBlocksOthersNorIsSkipped) {
  UnitOfWork early, rolled_back;
  send("1", "a", &early);  // the lowest id and transaction id
  send("nobody", "a", &rolled_back);
  start();
  for (int i = 2; i <= 200; ++i) send(std::to_string(i), "b" + std::to_string(i % 5));
  ASSERT_TRUE(wait_for(199));
  EXPECT_TRUE(drained());
  EXPECT_FALSE(distinct().contains("1"));
  ASSERT_TRUE(harness.run(early.commit()).ok());
  harness.run(rolled_back.rollback());
  ASSERT_TRUE(wait_for(200));
  EXPECT_TRUE(drained());
  let_pass(milliseconds(50));
  EXPECT_EQ(seen.size(), 200u);
  EXPECT_EQ(seen.back().body, "1");
  EXPECT_FALSE(distinct().contains("nobody"));
}

TEST_P(LogModeDb, TransactionsThatCommitInAnyOrderAreAllDelivered) {
  start();
  std::vector<std::unique_ptr<UnitOfWork>> open;
  int next = 0;
  for (int round = 0; round < 40; ++round) {
    open.push_back(std::make_unique<UnitOfWork>());
    for (int i = 0; i < 3; ++i) send(std::to_string(++next), "", open.back().get());
    if (open.size() < 4) continue;
    const size_t which = harness.rng().next() % open.size();
    ASSERT_TRUE(harness.run(open[which]->commit()).ok());
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
  }
  for (auto& unit : open) ASSERT_TRUE(harness.run(unit->commit()).ok());
  ASSERT_TRUE(wait_for(120));
  EXPECT_TRUE(drained());
  EXPECT_EQ(distinct().size(), 120u);
  EXPECT_EQ(seen.size(), 120u);
}

TEST_P(LogModeDb, AFailedRowGoesOnHoldWithTheRestOfItsKeyAndOnlyItsKey) {
  for (int i = 1; i <= 4; ++i) send(std::to_string(i), "a");
  send("11", "b");
  int failures = 0;
  start([&](const Exchange& exchange) -> std::optional<Error> {
    if (exchange.message.body.raw() == "2" && failures++ < 3) return transient();
    return std::nullopt;
  });
  ASSERT_TRUE(wait_for(5));
  EXPECT_TRUE(drained());
  send("5", "a");  // the key is free again
  ASSERT_TRUE(wait_for(6));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 6u);
  expect_key_order();
  EXPECT_EQ(number("SELECT attempts FROM outbox_x WHERE payload = '2'"), 3);
  EXPECT_EQ(run("SELECT last_error FROM outbox_x WHERE payload = '2'").rows[0][0], Value("boom"));
}

// The rows of a key come back from hold in several polls; a failure in one holds back the next.
TEST_P(LogModeDb, AKeyOnHoldKeepsItsOrderAlsoInSmallPolls) {
  for (int i = 1; i <= 30; ++i) send(std::to_string(i), "k" + std::to_string(i % 2));
  std::map<std::string, int> failures;
  Pump& pump = start([&](const Exchange& exchange) -> std::optional<Error> {
    const std::string body = exchange.message.body.to_text();
    if (failures[body]++ < (body.size() == 1 ? 2 : 1)) return transient();
    return std::nullopt;
  });
  pump.max = 2;
  ASSERT_TRUE(wait_for(30));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 30u);
  expect_key_order();
}

TEST_P(LogModeDb, AfterTheLastAttemptTheRowIsDeadAndItsKeyGoesOn) {
  options.policy.attempts_max = 2;
  send("bad", "k");
  send("1", "k");
  send("wrong", "w");
  int calls = 0;
  start([&](const Exchange& exchange) -> std::optional<Error> {
    if (exchange.message.body.raw() == "bad") return ++calls, transient();
    if (exchange.message.body.raw() == "wrong") return Error(ErrorKind::data, "no JSON");
    return std::nullopt;
  });
  ASSERT_TRUE(wait_for(1));
  EXPECT_TRUE(until([&] { return in_state("dead") == 2; }));
  EXPECT_TRUE(drained());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(bodies("k"), std::vector<std::string>{"1"});
}

TEST_P(LogModeDb, AParkedRowHoldsItsKeyUntilSomebodyRetriesIt) {
  options.policy.attempts_max = 1;
  options.policy.on_exhausted = OnExhausted::park;
  bool works = false;
  start([&](const Exchange& exchange) -> std::optional<Error> {
    if (exchange.message.body.raw() == "1" && !works) return transient();
    return std::nullopt;
  });
  send("1", "a");
  ASSERT_TRUE(until([&] { return in_state("parked") == 1; }));
  for (int i = 2; i <= 4; ++i) send(std::to_string(i), "a");
  send("9", "b");
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(seen[0].body, "9");
  EXPECT_TRUE(until([&] { return in_state("due") == 3; })) << "they wait behind the parked one";
  works = true;
  Selection all;
  all.state = "parked";
  ASSERT_TRUE(
      harness.run(change(*database, *clock, own_shape("outbox_x"), Action::unpark, all)).ok());
  ASSERT_TRUE(wait_for(5));
  EXPECT_TRUE(drained());
  EXPECT_EQ(bodies("a"), (std::vector<std::string>{"1", "2", "3", "4"}));
}

TEST_P(LogModeDb, AWriterThatIsNotToldHowDoesAsTheRelay) {
  harness.registry().bind<sql::Database>("db", database);
  register_outbox(harness.registry());
  for (const std::string relay_mode : {"claim", "log", "claim"}) {
    const auto target = testing::make_endpoint(harness, "outbox", {{"name", "x"}});
    producer = std::move(target->make_producer().value());  // before there is a relay
    const auto source =
        testing::make_endpoint(harness, "outbox", {{"name", "x"}, {"mode", relay_mode}});
    const auto relay = std::move(source->make_consumer().value());
    EXPECT_EQ(source->source(), target->source());
    send("1", "k");
  }
  EXPECT_EQ(number("SELECT count(*) FROM outbox_x"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM outbox_x_log"), 2) << "a second relay changes nothing";
  harness.registry().bind<sql::Database>("db", nullptr);
}

TEST_P(LogModeDb, ADelayedRowWaitsAndHoldsNobodyBack) {
  options.delay = make_expression([](const Exchange& exchange) {
    return exchange.message.body.raw() == "2" ? Value("700ms") : Value();
  });
  producer = make_producer(services(*database), options);
  ASSERT_TRUE(harness.run(producer->open()).ok());
  for (int i = 1; i <= 3; ++i) send(std::to_string(i), "k");
  start();
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(bodies("k"), (std::vector<std::string>{"1", "3"}));
  ASSERT_TRUE(wait_for(3));
  EXPECT_TRUE(drained());
}

TEST_P(LogModeDb, ARowThatHasExpiredIsDeadAndHoldsNobodyBack) {
  run("INSERT INTO outbox_x_log (key, payload, expires_at) VALUES ('k', 'old', now() - interval "
      "'1 second'), ('k', 'soon', now() + interval '300 milliseconds'), ('k', '3', now() + "
      "interval "
      "'1 hour')");
  bool away = true;
  start([&](const Exchange&) -> std::optional<Error> {
    if (away) return Error(ErrorKind::not_connected, "nobody there");
    return std::nullopt;
  });
  let_pass(milliseconds(500));
  away = false;
  ASSERT_TRUE(wait_for(1));
  EXPECT_TRUE(until([&] { return in_state("dead") == 2; }));
  EXPECT_TRUE(drained());
  EXPECT_EQ(bodies("k"), std::vector<std::string>{"3"});
  EXPECT_EQ(number("SELECT count(*) FROM outbox_x WHERE attempts = 0"), 2);
}

TEST_P(LogModeDb, WithoutOrderNothingWaitsForAFailedRow) {
  options.policy.ordering = Ordering::none;
  for (int i = 1; i <= 5; ++i) send(std::to_string(i), "k");
  bool works = false;
  start([&](const Exchange& exchange) -> std::optional<Error> {
    if (exchange.message.body.raw() == "1" && !works) return transient();
    return std::nullopt;
  });
  ASSERT_TRUE(wait_for(4));
  works = true;
  ASSERT_TRUE(wait_for(5));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 5u);
}

TEST_P(LogModeDb, AnUnreachableTargetPausesAndCostsNoAttempts) {
  int away = 3;
  start([&](const Exchange&) -> std::optional<Error> {
    if (away > 0) return --away, Error(ErrorKind::not_connected, "nobody there");
    return std::nullopt;
  });
  for (int i = 1; i <= 20; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(20));
  EXPECT_TRUE(drained());
  EXPECT_EQ(number("SELECT count(*) FROM outbox_x"), 0);
  expect_key_order();
}

TEST_P(LogModeDb, OneRelayReadsAndAnotherTakesOverWhenItLeaves) {
  Pump& first = start();
  ASSERT_TRUE(until([&] { return !log().relay.empty(); }));
  start();
  for (int i = 1; i <= 50; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(50));
  for (const Seen& s : seen) EXPECT_EQ(s.relay, "relay1");
  stop(first);
  for (int i = 51; i <= 80; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(80));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 80u);
  EXPECT_EQ(seen.back().relay, "relay2");
  expect_key_order();
}

// The first relay stops in the middle of its work, as a process that is killed or stopped; when it
// wakes up, nothing that it still writes counts.
TEST_P(LogModeDb, AFrozenRelayIsReplacedAndFencedWhenItWakes) {
  UnsureDatabase frozen(connect(), *clock);
  start({}, &frozen);
  for (int i = 1; i <= 60; ++i) send(std::to_string(i), "k" + std::to_string(i % 4));
  ASSERT_TRUE(until([&] { return !seen.empty(); }));
  frozen.frozen = true;
  start();
  for (int i = 61; i <= 200; ++i) send(std::to_string(i), "k" + std::to_string(i % 4));
  ASSERT_TRUE(until([&] { return distinct().size() == 200; }));
  const size_t before = seen.size();
  frozen.frozen = false;
  EXPECT_TRUE(drained());
  for (int i = 201; i <= 240; ++i) send(std::to_string(i), "k" + std::to_string(i % 4));
  ASSERT_TRUE(until([&] { return distinct().size() == 240; }));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), before + 40) << "the fenced relay delivered nothing any more";
  EXPECT_EQ(number("SELECT count(*) FROM outbox_x"), 0);
  expect_key_order();
  stop_all();  // before its database goes
}

TEST_P(LogModeDb, ACheckpointWhoseAnswerIsLostIsNeitherRepeatedNorForgotten) {
  UnsureDatabase unsure(connect(), *clock);
  unsure.drop_marks = 3;
  int failures = 0;
  start(
      [&](const Exchange& exchange) -> std::optional<Error> {
        if (exchange.message.body.raw() == "7" && failures++ < 2) return transient();
        return std::nullopt;
      },
      &unsure);
  int sent = 0;
  while (unsure.drop_marks > 0 && sent < 500)
    for (int i = 0; i < 20; ++i, ++sent)
      send(std::to_string(sent + 1), "k" + std::to_string(sent % 4));
  const auto count = static_cast<size_t>(sent);
  ASSERT_TRUE(wait_for(count));
  EXPECT_TRUE(drained());
  EXPECT_EQ(unsure.drop_marks, 0);
  EXPECT_EQ(distinct().size(), count);
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(number("SELECT count(*) - count(DISTINCT payload) FROM outbox_x"), 0);
  expect_key_order();
  stop_all();
}

// What a checkpoint of ours that got stuck may still do: nothing, once a load has drawn a token.
TEST_P(LogModeDb, ALoadRefusesCheckpointsOfBefore) {
  LogOptions log_options;
  log_options.uri = "outbox:x";
  log_options.table = "outbox_x";
  log_options.owner = "me";
  log_options.lease = seconds(30);
  const auto source = make_log_tables(*database, *clock, harness.captured, log_options);
  Error failure;
  LogLease load;
  load.load = true;
  const logs::LeaseAnswer first = harness.run(source->lease(load, &failure));
  ASSERT_TRUE(first.ok) << failure.message();
  const sql::Rows lease = run("SELECT token FROM drom_lease WHERE resource = 'outbox_x:log'");
  const logs::LeaseAnswer again = harness.run(source->lease(load, &failure));
  ASSERT_TRUE(again.ok) << failure.message();
  EXPECT_EQ(again.token, first.token) << "nobody was in between: the machine goes on";
  const LogStatements statements = make_log_statements("outbox_x");
  const std::string identity =
      run("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/' || extract(epoch FROM "
          "pg_postmaster_start_time())::text")
          .rows[0][0]
          .to_text();
  const Result<sql::Rows> stray = harness.run(
      database->execute(statements.guard, {"outbox_x:log", "me", lease.rows[0][0], identity}));
  ASSERT_FALSE(stray.ok());
  EXPECT_EQ(stray.error().type, "22012");
  const Result<sql::Rows> other_history = harness.run(database->execute(
      statements.guard,
      {"outbox_x:log", "me", number("SELECT token FROM drom_lease WHERE resource = 'outbox_x:log'"),
       "00000099/1"}));
  EXPECT_FALSE(other_history.ok());
}

TEST_P(LogModeDb, ADumpRestoredOnAnotherServerIsDeliveredAgainAndGoesOn) {
  Pump& first = start();
  for (int i = 1; i <= 10; ++i) send(std::to_string(i), "k");
  ASSERT_TRUE(wait_for(10));
  EXPECT_TRUE(drained());
  stop(first);
  // As after a restore: ids of transactions and the name of the cluster are another server's.
  run("UPDATE outbox_x_log SET xid = (xid::text::bigint + 1000000000)::text::xid8");
  run("UPDATE outbox_x_log_mark SET system = '1', s1 = '9000000000:9000000000:', s2 = NULL, "
      "last_id = 0");
  send("11", "k");
  start();
  ASSERT_TRUE(until([&] { return distinct().size() == 11; }));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 21u) << "what the tables still hold comes again";
  send("12", "k");
  ASSERT_TRUE(wait_for(22));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 22u);
}

TEST_P(LogModeDb, RowsOfClaimModeGoFirst) {
  for (int i = 1; i <= 5; ++i)
    run("INSERT INTO outbox_x (key, payload) VALUES ('k', '" + std::to_string(i) + "')");
  for (int i = 6; i <= 10; ++i) send(std::to_string(i), "k");
  start();
  ASSERT_TRUE(wait_for(10));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 10u);
  expect_key_order();
}

// The tables are filled in turn and emptied as a whole, also while a transaction is open that keeps
// vacuum from working; nothing is updated or deleted in them.
TEST_P(LogModeDb, RotationFreesTheSpaceWhileATransactionIsOpen) {
  options.rotate_bytes = 64 << 10;
  const auto other = connect();
  Result<std::unique_ptr<sql::Transaction>> held = harness.run(other->begin());
  ASSERT_TRUE(held.ok());
  List none;
  ASSERT_TRUE(harness.run((*held)->execute("SELECT pg_current_xact_id()", none)).ok());
  start();
  int next = 0;
  int64_t largest = 0;
  std::set<int64_t> slots;
  for (int round = 0; round < 12; ++round) {
    run("INSERT INTO outbox_x_log (key, payload) SELECT 'k' || i % 10, i::text || repeat(' ', 300) "
        "FROM generate_series(" +
        std::to_string(next + 1) + ", " + std::to_string(next + 500) + ") AS i");
    next += 500;
    ASSERT_TRUE(wait_for(static_cast<size_t>(next)));
    slots.insert(number("SELECT pg_sequence_last_value('outbox_x_log_slot'::regclass)"));
    largest = std::max(largest, log().bytes);
    let_pass(milliseconds(400));
  }
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 6000u);
  EXPECT_EQ(distinct().size(), 6000u);
  EXPECT_EQ(slots.size(), 3u);
  // 6000 rows of some 400 bytes are 2.4 MB.
  EXPECT_LT(largest, 1'300'000);
  EXPECT_TRUE(until([&] { return log().bytes < 400'000; })) << log().bytes;
  run("SELECT pg_stat_force_next_flush()");
  EXPECT_EQ(number("SELECT coalesce(sum(n_tup_upd + n_tup_del), 0) FROM pg_stat_all_tables WHERE "
                   "schemaname = current_schema() AND relname LIKE 'outbox\\_x\\_log%'"),
            0);
  harness.run((*held)->rollback());
}

TEST_P(LogModeDb, AnUncommittedRowIsNotTruncatedAway) {
  options.rotate_bytes = 8 << 10;
  start();
  UnitOfWork open;
  send("1", "late", &open);
  for (int round = 0; round < 6; ++round) {
    insert_many(round * 300 + 2, round * 300 + 301, 10);
    let_pass(milliseconds(500));
  }
  ASSERT_TRUE(wait_for(1800));
  ASSERT_TRUE(harness.run(open.commit()).ok());
  ASSERT_TRUE(wait_for(1801));
  EXPECT_TRUE(drained());
  EXPECT_EQ(bodies("late"), std::vector<std::string>{"1"});
  EXPECT_EQ(seen.size(), 1801u);
}

TEST_P(LogModeDb, WithoutCreateTableAMissingLogIsAConfigError) {
  run("DROP TABLE outbox_x_log, outbox_x_log_mark");
  options.create_table = false;
  const auto consumer = make_consumer(services(*database), options);
  const Result<void> opened = harness.run(consumer->open());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::config);
  EXPECT_NE(opened.error().hint.find("--mode log"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Modes, LogModeDb, ::testing::Values(Mode::log, Mode::cdc), mode_name);

}  // namespace
}  // namespace drom::outbox
