// What only CDC mode has, on a real PostgreSQL: events without a row, and slots that are late,
// dropped, lost, taken over or cut. That it does all that log mode does is in log_db_test.cpp.
#include "connectors/outbox/cdc_fixture.hpp"

namespace drom::outbox {
namespace {

TEST_P(CdcModeDb, RowsComeThroughTheStreamAndTheSlotFollows) {
  start();
  ASSERT_TRUE(streams());
  for (int i = 1; i <= 100; ++i) send(std::to_string(i), "k" + std::to_string(i % 7));
  ASSERT_TRUE(wait_for(100));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 100u);
  expect_key_order();
  EXPECT_TRUE(streams());
  // What is delivered is confirmed, so that the server can forget it.
  EXPECT_TRUE(until([&] {
    return number(
               "SELECT count(*) FROM pg_replication_slots AS s, outbox_x_log_mark AS m WHERE "
               "s.slot_name = '" +
               options.cdc.slot + "' AND s.confirmed_flush_lsn >= m.lsn") > 0;
  }));
}

TEST_P(CdcModeDb, WhatIsWrittenInOneLargeTransactionIsDeliveredOnce) {
  start();
  ASSERT_TRUE(streams());
  insert_many(1, 30'000, 100);
  ASSERT_TRUE(wait_for(30'000));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 30'000u);
  EXPECT_EQ(distinct().size(), 30'000u);
  expect_key_order();
}

TEST_P(CdcModeDb, AnEventWithoutARowExistsExactlyWhenItsTransactionCommits) {
  options.tableless = true;
  producer = make_producer(services(*database), options);
  ASSERT_TRUE(harness.run(producer->open()).ok());
  start();
  ASSERT_TRUE(streams());
  UnitOfWork kept, undone;
  send("1", "k", &kept);
  send("nobody", "k", &undone);
  harness.run(undone.rollback());
  ASSERT_TRUE(harness.run(kept.commit()).ok());
  emit(R"({"key": "k", "payload": "2"})");
  run("SELECT pg_logical_emit_message(false, 'drom.outbox_x', '{\"payload\": \"nobody\"}')");
  ASSERT_TRUE(wait_for(2));
  EXPECT_TRUE(drained());
  EXPECT_EQ(bodies("k"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(number("SELECT count(*) FROM outbox_x_log"), 0);
  EXPECT_TRUE(until([&] { return logged("left out") == 1; }));
}

TEST_P(CdcModeDb, AnEventWithoutARowThatFailsGetsOne) {
  options.policy.attempts_max = 3;
  start([&](const Exchange& exchange) -> std::optional<Error> {
    if (exchange.message.body.raw() == "bad") return transient();
    return std::nullopt;
  });
  ASSERT_TRUE(streams());
  emit(R"({"key": "k", "payload": "bad", "headers": {"h": 1}, "event_id": "e1"})");
  emit(R"({"key": "k", "payload": "1"})");
  emit("no json");
  emit(R"({"key": "other", "payload_bytes": "00ff"})");
  ASSERT_TRUE(wait_for(2));
  EXPECT_TRUE(until([&] { return in_state("dead") == 2; }));
  EXPECT_TRUE(drained());
  EXPECT_EQ(bodies("k"), std::vector<std::string>{"1"});
  const sql::Rows bad = run(
      "SELECT event_id, payload, headers, attempts, last_error FROM outbox_x WHERE key = 'k'  AND "
      "status = 'dead'");
  ASSERT_EQ(bad.rows.size(), 1u);
  EXPECT_EQ(bad.rows[0], (List{"e1", "bad", R"({"h":1})", int64_t{3}, "boom"}));
  EXPECT_EQ(run("SELECT payload_bytes FROM outbox_x WHERE key IS NULL").rows.at(0).at(0),
            Value(Bytes(std::string("no json"))));
}

TEST_P(CdcModeDb, ADelayedEventWithoutARowWaitsInTheTable) {
  start();
  ASSERT_TRUE(streams());
  run("SELECT pg_logical_emit_message(true, 'drom.outbox_x', json_build_object('payload', '1', "
      "'available_at', now() + interval '500 milliseconds')::text)");
  EXPECT_TRUE(until([&] { return in_state("due") == 1; }));
  ASSERT_TRUE(wait_for(1));
  EXPECT_TRUE(drained());
}

TEST_P(CdcModeDb, WhileAnOpenTransactionKeepsTheSlotFromBeingMadeTheTablesAreRead) {
  const auto other = connect();
  Result<std::unique_ptr<sql::Transaction>> held = harness.run(other->begin());
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE(harness.run((*held)->execute("SELECT pg_current_xact_id()", List())).ok());
  start();
  for (int i = 1; i <= 50; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(50));
  EXPECT_TRUE(drained());
  EXPECT_TRUE(polls());
  harness.run((*held)->rollback());
  ASSERT_TRUE(streams());
  for (int i = 51; i <= 80; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(80));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 80u);
  expect_key_order();
}

TEST_P(CdcModeDb, ASlotThatWasDroppedWhileNobodyReadItLosesNoRow) {
  Pump& first = start();
  ASSERT_TRUE(streams());
  for (int i = 1; i <= 20; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(20));
  EXPECT_TRUE(drained());
  stop(first);
  drop_slot();
  for (int i = 21; i <= 40; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  // As somebody would mend it by hand: it does not reach back to what was delivered.
  run("SELECT pg_create_logical_replication_slot('" + options.cdc.slot + "', 'pgoutput')");
  for (int i = 41; i <= 60; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  start();
  ASSERT_TRUE(wait_for(60));
  ASSERT_TRUE(streams());
  EXPECT_EQ(logged("events without a row (pg_logical_emit_message) in between are lost"), 1);
  for (int i = 61; i <= 70; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(70));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 70u);
  EXPECT_EQ(distinct().size(), 70u);
  expect_key_order();
}

TEST_P(CdcModeDb, ASlotThatIsDroppedUnderTheReaderLosesNoRow) {
  start();
  ASSERT_TRUE(streams());
  int next = 0;
  const auto some = [&] {
    for (int i = 0; i < 30; ++i, ++next)
      send(std::to_string(next + 1), "k" + std::to_string(next % 3));
  };
  some();
  // Its reader must go first and may be faster to come back.
  EXPECT_TRUE(until([&] {
    end_session_of_slot();
    List name{options.cdc.slot};
    return harness
        .run(database->execute("SELECT pg_drop_replication_slot($1::name)::text", std::move(name)))
        .ok();
  }));
  some();
  ASSERT_TRUE(until([&] { return distinct().size() == 60; }));
  ASSERT_TRUE(until([&] { return slot_exists(); }));
  ASSERT_TRUE(streams());
  some();
  ASSERT_TRUE(until([&] { return distinct().size() == 90; }));
  EXPECT_TRUE(drained());
  expect_key_order();
}

TEST_P(CdcModeDb, AStreamThatIsCutGoesOnWhereItWasAlsoInsideATransaction) {
  unsure = std::make_unique<UnsureDatabase>(connect(), *clock);
  unsure->wrap_stream = [&](std::unique_ptr<sql::ReplicationStream> inner) {
    // A transaction comes again from its beginning.
    return std::make_unique<CutStream>(std::move(inner), size_t{70} * (cuts % 8 + 1), cuts);
  };
  start({}, unsure.get());
  EXPECT_TRUE(streams());
  insert_many(1, 200, 10);
  for (int i = 201; i <= 300; ++i) send(std::to_string(i), "k" + std::to_string(i % 10));
  ASSERT_TRUE(wait_for(300));
  EXPECT_TRUE(drained());
  EXPECT_GT(cuts, 3);
  EXPECT_EQ(seen.size(), 300u) << "nothing came twice";
  EXPECT_EQ(distinct().size(), 300u);
  expect_key_order();
}

TEST_P(CdcModeDb, ASlotThatHoldsBackTooMuchIsDroppedAndTheTablesAreRead) {
  options.cdc.slot_lag_max = 1;  // always too much
  options.cdc.heartbeat = milliseconds(300);
  start();
  for (int i = 1; i <= 50; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(until([&] { return distinct().size() == 50; }));
  EXPECT_TRUE(until([&] { return logged("maxSlotLag") >= 1; }, seconds(30)));
  for (int i = 51; i <= 60; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(until([&] { return distinct().size() == 60; }));
  EXPECT_TRUE(drained());
  expect_key_order();
}

// max_slot_wal_keep_size: the server has thrown away what the slot should tell.
TEST_P(CdcModeDb, ASlotThatHasLostItsLogIsMadeAnewAndLosesNoRow) {
  Pump& first = start();
  ASSERT_TRUE(streams());
  for (int i = 1; i <= 20; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(20));
  EXPECT_TRUE(drained());
  stop(first);
  for (int i = 21; i <= 40; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  const auto keep = [&](const char* size) {
    ASSERT_TRUE(harness
                    .run(database->execute(
                        "ALTER SYSTEM SET max_slot_wal_keep_size = " + std::string(size), List()))
                    .ok());
    run("SELECT pg_reload_conf()");
  };
  keep("'1MB'");
  for (int i = 0; i < 4; ++i)
    run("SELECT pg_logical_emit_message(false, 'filler', repeat('x', 100000)), pg_switch_wal()");
  EXPECT_TRUE(until([&] {
    run("CHECKPOINT");
    return number("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '" +
                  options.cdc.slot + "' AND wal_status = 'lost'") == 1;
  }));
  keep("-1");
  start();
  ASSERT_TRUE(wait_for(40));
  ASSERT_TRUE(streams());
  EXPECT_EQ(logged("has lost its log"), 1);
  for (int i = 41; i <= 60; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(wait_for(60));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.size(), 60u);
  expect_key_order();
}

TEST_P(CdcModeDb, APublicationThatWasDroppedComesBackWithANewSlot) {
  start();
  ASSERT_TRUE(streams());
  run("DROP PUBLICATION " + options.cdc.publication);
  for (int i = 1; i <= 30; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(until([&] { return distinct().size() == 30; }));
  EXPECT_TRUE(until([&] { return logged("older than its publication") >= 1; }));
  ASSERT_TRUE(streams());
  for (int i = 31; i <= 40; ++i) send(std::to_string(i), "k" + std::to_string(i % 3));
  ASSERT_TRUE(until([&] { return distinct().size() == 40; }));
  EXPECT_TRUE(drained());
  expect_key_order();
}

TEST_P(CdcModeDb, APublicationThatTellsOfSomethingElseIsAConfigError) {
  run("CREATE PUBLICATION " + options.cdc.publication + " FOR TABLE outbox_x");
  const auto consumer = make_consumer(services(*database), options);
  const Result<void> opened = harness.run(consumer->open());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::config);
  EXPECT_NE(opened.error().hint.find("CREATE PUBLICATION"), std::string::npos);
}

TEST_P(CdcModeDb, WithoutCreateTableAMissingPublicationIsAConfigError) {
  options.create_table = false;
  const auto consumer = make_consumer(services(*database), options);
  const Result<void> opened = harness.run(consumer->open());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::config);
  EXPECT_NE(opened.error().hint.find("publish_via_partition_root"), std::string::npos);
}

TEST_P(CdcModeDb, ASlotOfAnotherPluginIsNotTouched) {
  run("SELECT pg_create_logical_replication_slot('" + options.cdc.slot + "', 'test_decoding')");
  start();
  for (int i = 1; i <= 5; ++i) send(std::to_string(i), "k");
  ASSERT_TRUE(wait_for(5));
  EXPECT_TRUE(until([&] { return logged("is of another database or plugin") >= 1; }));
  EXPECT_TRUE(polls());
  EXPECT_TRUE(slot_exists());
}

INSTANTIATE_TEST_SUITE_P(Modes, CdcModeDb, ::testing::Values(Mode::cdc), mode_name);

TEST(CdcSlot, ServersThatCannotTellAreRefusedWithTheCure) {
  const auto refusal = [](List facts) { return check_cdc_server(facts); };
  EXPECT_TRUE(refusal({"logical", "db", false, true, "me", int64_t{150018}}).ok());
  const Result<void> level = refusal({"replica", "db", false, true, "me", int64_t{150018}});
  ASSERT_FALSE(level.ok());
  EXPECT_EQ(level.error().what,
            "mode=cdc needs wal_level=logical, and this server has wal_level=replica");
  EXPECT_NE(level.error().hint.find("mode=log"), std::string::npos);
  const Result<void> right = refusal({"logical", "db", false, false, "me", int64_t{150018}});
  ASSERT_FALSE(right.ok());
  EXPECT_EQ(right.error().hint, "ALTER ROLE me REPLICATION");
  EXPECT_FALSE(refusal({"logical", "db", false, true, "me", int64_t{130012}}).ok());
  EXPECT_FALSE(refusal({"logical", "db", true, true, "me", int64_t{150018}}).ok());
}

}  // namespace
}  // namespace drom::outbox
