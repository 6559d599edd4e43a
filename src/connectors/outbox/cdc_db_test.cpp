// What only CDC mode has, on a real PostgreSQL: events without a row, and slots that are late,
// dropped, lost, taken over or cut. That it does all that log mode does is in log_db_test.cpp.
#include "connectors/outbox/cdc_slot.hpp"
#include "connectors/outbox/log_mode_fixture.hpp"

namespace drom::outbox {
namespace {

// Ends, as a lost connection does, after each `every` events.
class CutStream final : public sql::ReplicationStream {
 public:
  CutStream(std::unique_ptr<sql::ReplicationStream> inner, size_t every, int& cuts)
      : inner_(std::move(inner)), left_(every), cuts_(cuts) {}
  async<Result<void>> start(std::string slot, std::string publication) override {
    Result<void> started = co_await inner_->start(std::move(slot), std::move(publication));
    co_return started;
  }
  async<Result<std::vector<sql::WalEvent>>> read(size_t, milliseconds timeout) override {
    if (left_ == 0) {
      ++cuts_;
      co_return Error(ErrorKind::not_connected, "the stream was cut");
    }
    Result<std::vector<sql::WalEvent>> events = co_await inner_->read(left_, timeout);
    if (events) left_ -= events->size();
    co_return events;
  }
  void interrupt() override { inner_->interrupt(); }
  void confirm(sql::Lsn lsn) override { inner_->confirm(lsn); }
  Result<void> keep_alive() override { return inner_->keep_alive(); }

 private:
  std::unique_ptr<sql::ReplicationStream> inner_;
  size_t left_;
  int& cuts_;
};

// Says when it has started.
class NotingStream final : public sql::ReplicationStream {
 public:
  NotingStream(std::unique_ptr<sql::ReplicationStream> inner, bool& started)
      : inner_(std::move(inner)), started_(started) {}
  async<Result<void>> start(std::string slot, std::string publication) override {
    Result<void> started = co_await inner_->start(std::move(slot), std::move(publication));
    started_ = true;
    co_return started;
  }
  async<Result<std::vector<sql::WalEvent>>> read(size_t max, milliseconds timeout) override {
    return inner_->read(max, timeout);
  }
  void interrupt() override { inner_->interrupt(); }
  void confirm(sql::Lsn lsn) override { inner_->confirm(lsn); }
  Result<void> keep_alive() override { return inner_->keep_alive(); }

 private:
  std::unique_ptr<sql::ReplicationStream> inner_;
  bool& started_;
};

class CdcModeDb : public LogModeDb {
 protected:
  std::unique_ptr<UnsureDatabase> unsure;
  int cuts = 0;

  bool streams() {
    return until([&] {
      const auto relays = board.read();
      return std::ranges::any_of(relays, [](const auto& entry) { return entry.second.streaming; });
    });
  }
  bool polls() {
    return until([&] {
      const auto relays = board.read();
      return std::ranges::none_of(relays, [](const auto& entry) { return entry.second.streaming; });
    });
  }
  std::string snapshot() {
    return run("SELECT pg_current_snapshot()::text").rows.at(0).at(0).to_text();
  }
  void create_publication() {
    ASSERT_TRUE(harness.run(database->script(cdc_ddl("outbox_x", options.cdc.publication))).ok());
  }
  void create_slot() {
    run("SELECT pg_create_logical_replication_slot('" + options.cdc.slot + "', 'pgoutput')::text");
  }
  void set_system(const std::string& name, const std::string& value) {
    ASSERT_TRUE(
        harness.run(database->execute("ALTER SYSTEM SET " + name + " = " + value, List())).ok());
    run("SELECT pg_reload_conf()");
    ASSERT_TRUE(
        until([&] { return "'" + run("SHOW " + name).rows.at(0).at(0).to_text() + "'" == value; }));
  }
  // Transactions that ask for it wait, committed but not visible, for a standby that never comes.
  class SlowCommits {
   public:
    explicit SlowCommits(CdcModeDb& test) : test_(test) {
      test_.set_system("synchronous_commit", "'local'");
      test_.set_system("synchronous_standby_names", "'nobody'");
    }
    ~SlowCommits() {
      end();
      test_.set_system("synchronous_commit", "'on'");
    }
    void end() const { test_.set_system("synchronous_standby_names", "''"); }

   private:
    CdcModeDb& test_;
  };
  // With an id, for which others can wait.
  class OpenTransaction {
   public:
    explicit OpenTransaction(CdcModeDb& test) : test_(test), session_(test.connect()) {
      transaction_ = test_.harness.run(session_->begin()).value();
      Result<sql::Rows> id = test_.harness.run(transaction_->execute(
          "SELECT (pg_current_xact_id()::text::bigint & 4294967295)", List()));
      id_ = (*id).rows.at(0).at(0).to_text();
    }
    bool waited_for() {
      return test_.until([&] {
        return test_.number(
                   "SELECT count(*) FROM pg_locks WHERE NOT granted AND "
                   "transactionid::text = '" +
                   id_ + "'") == 1;
      });
    }
    void end() { test_.harness.run(transaction_->rollback()); }

   private:
    CdcModeDb& test_;
    std::shared_ptr<sql::Database> session_;
    std::unique_ptr<sql::Transaction> transaction_;
    std::string id_;
  };
  static async<> make_slot(sql::Database& database, std::string slot, bool& made) {
    Result<void> done = co_await outbox::create_slot(database, std::move(slot));
    EXPECT_TRUE(done.ok()) << done.error().message();
    made = true;
  }
  static async<> write_slowly(sql::Database& database, bool& committed) {
    std::vector<sql::Command> commands;
    commands.push_back({"SELECT set_config('synchronous_commit', 'on', true)", {}});
    commands.push_back({"INSERT INTO outbox_x_log (key, payload) VALUES ('k', '1')", {}});
    Result<std::vector<sql::Rows>> done = co_await database.execute_all(std::move(commands));
    EXPECT_TRUE(done.ok()) << done.error().message();
    committed = true;
  }
  void emit(const std::string& text) {
    run("SELECT pg_logical_emit_message(true, 'drom.outbox_x', '" + text + "')");
  }
  bool slot_exists() {
    return number("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '" +
                  options.cdc.slot + "'") == 1;
  }
  // Whoever reads it.
  void end_session_of_slot() {
    run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '" +
        options.cdc.slot + "' AND active_pid IS NOT NULL");
  }
  int logged(const std::string& part) {
    return static_cast<int>(std::ranges::count_if(harness.captured.lines, [&](const auto& line) {
      return line.message.find(part) != std::string::npos;
    }));
  }
};

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

// A relay was killed within a batch of the tables, and the slot made after that batch was read.
TEST_P(CdcModeDb, AHalfReadBatchIsNoReasonToTrustTheSlot) {
  create_publication();
  const std::string before = snapshot();
  insert_many(1, 10, 1);
  const std::string batch = snapshot();
  insert_many(11, 20, 1);
  run("INSERT INTO outbox_x_log_mark (serial, s1, s2, last_id) SELECT 1, '" + before + "', '" +
      batch + "', id FROM outbox_x_log WHERE payload = '5'");
  create_slot();
  insert_many(21, 30, 1);
  // The rest of the batch is read when there is a stream already, and the next one fails for a
  // while.
  bool started = false;
  int failures = 3;
  unsure = std::make_unique<UnsureDatabase>(connect(), *clock);
  unsure->wrap_stream = [&](std::unique_ptr<sql::ReplicationStream> inner) {
    return std::make_unique<NotingStream>(std::move(inner), started);
  };
  unsure->refuses = [&](const std::string& sql) {
    if (sql.find("outbox_x_log WHERE id >") != std::string::npos) return !started;
    return started && sql.starts_with("WITH b AS") && failures-- > 0;
  };
  start({}, unsure.get());
  ASSERT_TRUE(streams());
  ASSERT_TRUE(wait_for(25));
  EXPECT_TRUE(drained());
  EXPECT_EQ(seen.front().body, "6");
  EXPECT_EQ(seen.size(), 25u);
  expect_key_order();
}

// Its commit is in the log before the slot's first event, but other sessions do not see it yet:
// neither the slot tells of it nor a look into the tables.
TEST_P(CdcModeDb, ACommitThatIsNotVisibleWhenTheSlotIsMadeIsNotLost) {
  create_publication();
  const SlowCommits slow(*this);
  OpenTransaction first(*this);
  const auto creator = connect();
  bool made = false;
  harness.spawn(make_slot(*creator, options.cdc.slot, made));
  ASSERT_TRUE(first.waited_for());
  OpenTransaction second(*this);
  first.end();
  ASSERT_TRUE(second.waited_for());
  const auto writer = connect();
  bool committed = false;
  harness.spawn(write_slowly(*writer, committed));
  ASSERT_TRUE(until([&] {
    return number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 1;
  }));
  second.end();
  ASSERT_TRUE(until([&] { return made; }));
  EXPECT_FALSE(committed);
  start();
  ASSERT_TRUE(until([&] {
    return number("SELECT count(*) FROM pg_replication_slots WHERE active AND slot_name = '" +
                  options.cdc.slot + "'") == 1;
  }));
  for (size_t i = 1; i <= 5; ++i) {  // time enough to trust the slot
    send("2", "other");
    ASSERT_TRUE(wait_for(i));
  }
  EXPECT_TRUE(polls());
  slow.end();
  ASSERT_TRUE(until([&] { return committed; }));
  ASSERT_TRUE(streams());
  send("3", "k");
  ASSERT_TRUE(wait_for(7));
  EXPECT_EQ(bodies("k"), (std::vector<std::string>{"1", "3"}));
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
