// From reading the tables to reading the stream: what stands between the two is not lost.
#include "connectors/outbox/cdc_fixture.hpp"

namespace drom::outbox {
namespace {

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

class CdcTakeover : public CdcModeDb {
 protected:
  // Of streams and databases that live until the end of the test.
  bool started = false;
  int failures = 3;

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
    explicit SlowCommits(CdcTakeover& test) : test_(test) {
      test_.set_system("synchronous_commit", "'local'");
      test_.set_system("synchronous_standby_names", "'nobody'");
    }
    ~SlowCommits() {
      end();
      test_.set_system("synchronous_commit", "'on'");
    }
    void end() const { test_.set_system("synchronous_standby_names", "''"); }

   private:
    CdcTakeover& test_;
  };
  // With an id, for which others can wait.
  class OpenTransaction {
   public:
    explicit OpenTransaction(CdcTakeover& test) : test_(test), session_(test.connect()) {
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
    CdcTakeover& test_;
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
};

// A relay was killed within a batch of the tables, and the slot made after that batch was read.
TEST_P(CdcTakeover, AHalfReadBatchIsNoReasonToTrustTheSlot) {
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
TEST_P(CdcTakeover, ACommitThatIsNotVisibleWhenTheSlotIsMadeIsNotLost) {
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

INSTANTIATE_TEST_SUITE_P(Modes, CdcTakeover, ::testing::Values(Mode::cdc), mode_name);

}  // namespace
}  // namespace drom::outbox
