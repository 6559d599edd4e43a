// What the tests of log mode on a real PostgreSQL share: a pump in place of the engine, a database
// that loses answers, the tables of one outbox.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "connectors/outbox/log_admin.hpp"
#include "connectors/outbox/log_source.hpp"
#include "connectors/outbox/outbox_admin.hpp"
#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"
#include "sql/replication.hpp"
#include "support/sql_fixture.hpp"

namespace drom::outbox {

using std::chrono::seconds;

struct Seen {
  std::string key;
  std::string body;
  std::string relay;
};

using Handler = std::function<std::optional<Error>(const Exchange&)>;

// A frozen one answers nothing, like a process that is stopped; answers to checkpoints can be lost.
class UnsureDatabase final : public sql::Database {
 public:
  UnsureDatabase(std::shared_ptr<sql::Database> inner, Clock& clock)
      : inner_(std::move(inner)), clock_(clock) {}
  bool frozen = false;
  std::function<std::unique_ptr<sql::ReplicationStream>(std::unique_ptr<sql::ReplicationStream>)>
      wrap_stream;
  std::function<bool(const std::string& sql)> refuses;  // statements that fail
  int drop_marks = 0;  // so many checkpoints happen without an answer

  sql::Dialect dialect() const override { return inner_->dialect(); }
  const std::string& name() const override { return inner_->name(); }
  async<Result<void>> open() override { co_return Result<void>(); }
  async<> close() override { co_return; }
  async<Result<sql::Rows>> execute(std::string text, List params) override {
    co_await thawed();
    Result<sql::Rows> rows = co_await inner_->execute(std::move(text), std::move(params));
    co_await thawed();
    co_return rows;
  }
  async<Result<std::vector<sql::Rows>>> execute_all(std::vector<sql::Command> commands) override {
    co_await thawed();
    const bool mark = std::ranges::any_of(commands, [](const sql::Command& command) {
      return command.sql.find("INTO outbox_x_log_mark") != std::string::npos;
    });
    const bool refused = refuses && std::ranges::any_of(commands, [&](const sql::Command& command) {
                           return refuses(command.sql);
                         });
    if (refused) co_return Error(ErrorKind::transient, "not now");
    Result<std::vector<sql::Rows>> rows = co_await inner_->execute_all(std::move(commands));
    co_await thawed();
    if (mark && rows.ok() && drop_marks > 0) {
      --drop_marks;
      co_return Error(ErrorKind::not_connected, "the answer was lost");
    }
    co_return rows;
  }
  async<Result<void>> script(std::string text) override {
    Result<void> done = co_await inner_->script(std::move(text));
    co_return done;
  }
  async<Result<std::unique_ptr<sql::Transaction>>> begin() override {
    co_await thawed();
    Result<std::unique_ptr<sql::Transaction>> begun = co_await inner_->begin();
    co_return begun;
  }
  void signal(std::string_view channel) override { inner_->signal(channel); }
  async<> wait(std::string channel, milliseconds timeout) override {
    co_await inner_->wait(std::move(channel), timeout);
  }
  void cancel_waits() override { inner_->cancel_waits(); }
  async<Result<std::unique_ptr<sql::ReplicationStream>>> replicate() override {
    Result<std::unique_ptr<sql::ReplicationStream>> stream = co_await inner_->replicate();
    if (stream && wrap_stream) *stream = wrap_stream(std::move(*stream));
    co_return stream;
  }

 private:
  async<> thawed() {
    while (frozen) co_await clock_.sleep(milliseconds(5));
  }
  std::shared_ptr<sql::Database> inner_;
  Clock& clock_;
};

// Polls and settles like the engine does with a keyed source.
struct Pump {
  std::string name;
  std::unique_ptr<Consumer> consumer;
  Handler handler;
  std::vector<Seen>* seen = nullptr;
  bool stopping = false;
  bool ended = false;
  int64_t polls = 0;
  size_t max = 32;

  async<> run() {
    while (!stopping) {
      Result<Batch> polled = co_await consumer->poll(max);
      if (!polled) break;
      ++polls;
      EXPECT_LE(polled->size(), max);
      std::vector<Receipt> receipts;
      std::set<std::string> failed;
      for (Exchange& exchange : *polled) receipts.push_back(handle(std::move(exchange), failed));
      Result<void> settled = co_await consumer->settle(std::move(receipts));
      EXPECT_TRUE(settled.ok());
    }
    ended = true;
  }
  Receipt handle(Exchange exchange, std::set<std::string>& failed) {
    Receipt receipt;
    const std::string key = exchange.key;
    if (!key.empty() && failed.contains(key)) {
      receipt.outcome = Outcome::released;
    } else if (std::optional<Error> error = handler ? handler(exchange) : std::nullopt) {
      exchange.fail(std::move(*error));
      receipt.outcome = Outcome::failed;
      if (!key.empty()) failed.insert(key);
    } else {
      receipt.outcome = Outcome::done;
      seen->push_back({key, exchange.message.body.to_text(), name});
    }
    receipt.exchange = std::move(exchange);
    return receipt;
  }
};

inline Error transient(std::string what = "boom") {
  return Error(ErrorKind::transient, std::move(what));
}

// In the modes that have a log.
class LogModeDb : public testing::SqlFixture, public ::testing::WithParamInterface<Mode> {
 protected:
  LogModeDb() : SqlFixture(sql::Dialect::postgres) {}

  void SetUp() override {
    SqlFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    options.uri = "outbox:x";
    options.table = "outbox_x";
    options.mode = GetParam();
    options.cdc.slot = options.cdc.publication = "drom_" + schema();
    options.headers = {"*"};
    options.policy.retry = Backoff{milliseconds(20), 2, milliseconds(200), 0};
    options.policy.pause = Backoff{milliseconds(20), 2, milliseconds(100), 0};
    options.policy.poll_min = milliseconds(5);
    options.policy.poll_max = milliseconds(20);
    options.policy.lease = milliseconds(600);
    producer = make_producer(services(*database), options);
    const Result<void> opened = harness.run(producer->open());
    ASSERT_TRUE(opened.ok()) << opened.error().message();
  }
  void TearDown() override {
    stop_all();
    pumps.clear();
    producer.reset();
    if (database && options.mode == Mode::cdc) {
      drop_slot();
      run("DROP PUBLICATION IF EXISTS " + options.cdc.publication);
    }
    SqlFixture::TearDown();
  }

  // It may be read for a moment after its reader has gone.
  void drop_slot() {
    EXPECT_TRUE(until([&] {
      List name;
      name.push_back(options.cdc.slot);
      const Result<sql::Rows> dropped = harness.run(database->execute(
          "SELECT pg_drop_replication_slot(slot_name)::text FROM pg_replication_slots WHERE "
          "slot_name = $1::text",
          std::move(name)));
      return dropped.ok();
    }));
  }
  OutboxServices services(sql::Database& on) {
    return OutboxServices{on, harness.io(), *clock, harness.captured, harness.rng(), &board};
  }
  void send(std::string body, std::string key, UnitOfWork* unit = nullptr) {
    Batch batch;
    Exchange exchange;
    exchange.message.body = std::move(body);
    exchange.key = std::move(key);
    exchange.unit = unit;
    batch.push_back(std::move(exchange));
    Scope scope = harness.scope();
    harness.run(producer->run(batch, scope));
    EXPECT_FALSE(batch[0].failed()) << batch[0].error->message();
  }
  Pump& start(Handler handler = {}, sql::Database* on = nullptr) {
    auto pump = std::make_unique<Pump>();
    pump->name = "relay" + std::to_string(pumps.size() + 1);
    pump->handler = std::move(handler);
    pump->seen = &seen;
    pump->consumer = make_consumer(services(on ? *on : *database), options);
    const Result<void> opened = harness.run(pump->consumer->open());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message());
    harness.spawn(pump->run());
    pumps.push_back(std::move(pump));
    return *pumps.back();
  }
  void stop(Pump& pump) {
    if (!pump.consumer) return;
    pump.stopping = true;
    pump.consumer->stop();
    EXPECT_TRUE(until([&] { return pump.ended; }));
    harness.run(pump.consumer->close());
    pump.consumer.reset();
  }
  void stop_all() {
    for (auto& pump : pumps) stop(*pump);
  }
  bool wait_for(size_t count) {
    return until([&] { return seen.size() >= count; });
  }
  LogStatus log() {
    Result<std::optional<LogStatus>> found =
        harness.run(log_status(*database, "outbox_x", 1'000'000));
    EXPECT_TRUE(found.ok() && *found) << (found.ok() ? "no log" : found.error().message());
    return found.ok() && *found ? **found : LogStatus();
  }
  // Everything is delivered, and the checkpoint says so.
  bool drained() {
    return until([&] {
      return log().due == 0 &&
             number("SELECT count(*) FROM outbox_x WHERE status IN ('due', 'parked')") == 0;
    });
  }
  int64_t in_state(const std::string& state) {
    return number("SELECT count(*) FROM outbox_x WHERE status = '" + state + "'");
  }
  std::set<std::string> distinct() const {
    std::set<std::string> out;
    for (const Seen& s : seen) out.insert(s.body);
    return out;
  }
  std::vector<std::string> bodies(const std::string& key) const {
    std::vector<std::string> out;
    for (const Seen& s : seen)
      if (s.key == key) out.push_back(s.body);
    return out;
  }
  // Bodies are numbers that grow within a key; a number may come again.
  void expect_key_order() {
    std::map<std::string, int64_t> last;
    std::set<std::string> known;
    for (const Seen& s : seen) {
      if (!known.insert(s.body).second || s.key.empty()) continue;
      const int64_t n = Value(s.body).to_int().value_or(-1);
      EXPECT_GT(n, last[s.key]) << "key " << s.key;
      last[s.key] = n;
    }
  }
  void insert_many(int first, int last, int keys) {
    run("INSERT INTO outbox_x_log (key, payload) SELECT 'k' || i % " + std::to_string(keys) +
        ", i::text FROM generate_series(" + std::to_string(first) + ", " + std::to_string(last) +
        ") AS i");
  }

  OutboxBoard board;
  OutboxOptions options;
  std::unique_ptr<Producer> producer;
  std::vector<std::unique_ptr<Pump>> pumps;
  std::vector<Seen> seen;
};

inline std::string mode_name(const ::testing::TestParamInfo<Mode>& info) {
  return info.param == Mode::cdc ? "cdc" : "log";
}

}  // namespace drom::outbox
