// One outbox with two relays' stores, on a real database or on the model that the simulation of the
// relay uses: what the conformance suite of the stores needs to look at either, in the same words.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/outbox/outbox_store.hpp"
#include "connectors/outbox/relay_store.hpp"
#include "machines/outbox_relay_sim_store.hpp"
#include "support/sql_fixture.hpp"

namespace drom::outbox {

// The model behind the interface that the real stores have.
class SimulatedStore final : public RelayStore {
 public:
  SimulatedStore(sim::Store& store, const SteadyTime& now, std::string owner)
      : store_(store), now_(now), owner_(std::move(owner)) {}
  async<Result<void>> open() override { co_return Result<void>(); }
  bool guarded() const override { return false; }
  void set_lease(milliseconds lease) override { store_.lease = lease; }
  void close() override {}
  async<LeaseAnswer> lease(LeaseRequest request, Error*) override {
    co_return store_.ask(owner_, request, now_);
  }
  async<relay::DataAnswer> data(DataTrip trip, Error*) override {
    co_return store_.run(owner_, trip, now_);
  }
  async<LeaseAnswer> leave(Error*) override {
    store_.leave(owner_, now_);
    LeaseAnswer answer;
    answer.ok = true;
    co_return answer;
  }

 private:
  sim::Store& store_;
  const SteadyTime& now_;
  std::string owner_;
};

enum class StoreKind : uint8_t { simulated, sqlite, postgres, mariadb };

inline std::string kind_name(const ::testing::TestParamInfo<StoreKind>& info) {
  constexpr const char* kNames[] = {"simulated", "sqlite", "postgres", "mariadb"};
  return kNames[static_cast<size_t>(info.param)];
}

inline sql::Dialect dialect_of(StoreKind kind) {
  if (kind == StoreKind::postgres) return sql::Dialect::postgres;
  return kind == StoreKind::mariadb ? sql::Dialect::mysql : sql::Dialect::sqlite;
}

struct RowTimes {
  std::optional<milliseconds> available_in = std::nullopt;
  std::optional<milliseconds> expires_in = std::nullopt;
};

class RelayStoreTest : public testing::SqlFixture, public ::testing::WithParamInterface<StoreKind> {
 protected:
  RelayStoreTest() : SqlFixture(dialect_of(GetParam())) {}

  struct State {
    std::string status;
    int64_t attempts = 0;
    std::string error;
    bool waiting = false;  // for its next attempt
    bool operator==(const State&) const = default;
  };

  void SetUp() override {
    if (simulated()) return;
    SqlFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Result<void> made = harness.run(prepare_tables(*database, "outbox_x", true));
    ASSERT_TRUE(made.ok()) << made.error().message();
  }
  void TearDown() override {
    stores_.clear();
    pending_.clear();
    if (!simulated()) SqlFixture::TearDown();
  }
  bool simulated() const { return GetParam() == StoreKind::simulated; }
  bool concurrent_writers() const { return GetParam() != StoreKind::sqlite; }

  // Before the first store is used.
  void configure(Ordering ordering, milliseconds retention = milliseconds(0)) {
    ordering_ = ordering;
    retention_ = retention;
  }

  LeaseAnswer lease(const std::string& owner, int claim, std::vector<int> release = {}) {
    LeaseRequest request;
    request.claim = claim;
    request.release = std::move(release);
    Error failure;
    LeaseAnswer answer = harness.run(store(owner).lease(std::move(request), &failure));
    EXPECT_TRUE(answer.ok) << failure.message();
    tokens_[owner].clear();
    for (const Holding& holding : answer.held) tokens_[owner][holding.bucket] = holding.token;
    return answer;
  }
  void leave(const std::string& owner) {
    Error failure;
    EXPECT_TRUE(harness.run(store(owner).leave(&failure)).ok) << failure.message();
  }
  relay::DataAnswer data(const std::string& owner, DataTrip trip) {
    Error failure;
    relay::DataAnswer answer = harness.run(store(owner).data(std::move(trip), &failure));
    EXPECT_TRUE(answer.ok) << failure.message();
    for (const RelayRow& row : answer.rows) buckets_[row.id] = row.bucket;
    return answer;
  }
  static ReadRequest everything(size_t max = 100) {
    ReadRequest read;
    read.max = max;
    return read;
  }
  std::vector<int64_t> read(const std::string& owner, ReadRequest request = everything()) {
    DataTrip trip;
    trip.read = std::move(request);
    return ids(data(owner, std::move(trip)));
  }
  static std::vector<int64_t> ids(const relay::DataAnswer& answer) {
    std::vector<int64_t> out;
    for (const RelayRow& row : answer.rows) out.push_back(row.id);
    return out;
  }

  // Marks of rows that have been read, under the token that the relay was told last.
  SentMark sent_mark(const std::string& owner, int64_t id) {
    const int bucket = buckets_.at(id);
    return {id, bucket, tokens_[owner][bucket]};
  }
  FailedMark failed_mark(const std::string& owner, int64_t id, FailedMark::To to,
                         milliseconds delay = milliseconds(0)) {
    FailedMark mark;
    mark.id = id;
    mark.bucket = buckets_.at(id);
    mark.token = tokens_[owner][mark.bucket];
    mark.to = to;
    mark.attempts = 1;
    mark.delay = delay;
    mark.error = "boom";
    return mark;
  }
  size_t mark_sent(const std::string& owner, int64_t id) {
    DataTrip trip;
    trip.sent.push_back(sent_mark(owner, id));
    return data(owner, std::move(trip)).refused;
  }
  size_t mark_failed(const std::string& owner, int64_t id, FailedMark::To to,
                     milliseconds delay = milliseconds(0)) {
    DataTrip trip;
    trip.failed.push_back(failed_mark(owner, id, to, delay));
    return data(owner, std::move(trip)).refused;
  }

  int64_t insert(const std::string& key, RowTimes times = {}) {
    if (simulated()) return model_row(key, times, true);
    const sql::Command command = insert_command(key, times);
    run(command.sql, command.params);
    return number("SELECT max(id) FROM outbox_x");
  }
  // Draws its id now and becomes visible with commit(); several at a time where writers may.
  size_t begin_insert(const std::string& key) {
    Pending pending;
    if (simulated()) {
      pending.id = model_row(key, {}, false);
    } else {
      Result<std::unique_ptr<sql::Transaction>> begun = harness.run(database->begin());
      EXPECT_TRUE(begun.ok());
      pending.transaction = std::move(*begun);
      sql::Command command = insert_command(key, {});
      EXPECT_TRUE(
          harness
              .run(pending.transaction->execute(std::move(command.sql), std::move(command.params)))
              .ok());
    }
    pending_.push_back(std::move(pending));
    return pending_.size() - 1;
  }
  void commit(size_t pending) {
    if (simulated())
      model_.rows.at(pending_[pending].id).visible = true;
    else
      EXPECT_TRUE(harness.run(pending_[pending].transaction->commit()).ok());
    pending_[pending].transaction.reset();
  }
  void roll_back(size_t pending) {
    if (simulated())
      model_.rows.erase(pending_[pending].id);
    else
      harness.run(pending_[pending].transaction->rollback());
    pending_[pending].transaction.reset();
  }

  std::optional<State> state(int64_t id) {
    State out;
    if (simulated()) {
      const auto at = model_.rows.find(id);
      if (at == model_.rows.end() || !at->second.visible) return std::nullopt;
      constexpr const char* kNames[] = {"due", "sent", "dead", "parked"};
      out.status = kNames[static_cast<size_t>(at->second.status)];
      out.attempts = at->second.attempts;
      out.error = at->second.error;
      out.waiting = at->second.next_attempt.has_value();
      return out;
    }
    const sql::Rows rows =
        run("SELECT status, attempts, coalesce(last_error, ''), next_attempt_at FROM outbox_x "
            "WHERE id = " +
            std::to_string(id));
    if (rows.rows.empty()) return std::nullopt;
    const List& row = rows.rows[0];
    out = {row[0].to_text(), row[1].to_int().value_or(-1), row[2].to_text(), !row[3].is_null()};
    return out;
  }

  void pass(milliseconds duration) {
    if (simulated())
      now_ += duration;
    else
      let_pass(duration);
  }
  // As if the owner had been silent for too long.
  void let_lease_run_out(const std::string& owner) {
    if (simulated()) {
      for (sim::StoredLease& lease : model_.leases)
        if (lease.owner == owner) lease.expires = now_;
      model_.relays[owner] = now_;
    } else {
      run("UPDATE drom_lease SET expires_at = '2000-01-01' WHERE owner = '" + owner + "'");
    }
  }
  // As if the row had been sent two hours ago.
  void make_old(int64_t id) {
    if (simulated()) {
      model_.rows.at(id).sent = now_ - std::chrono::hours(2);
      return;
    }
    run("UPDATE outbox_x SET sent_at = " +
        std::string(mysql()      ? "utc_timestamp() - INTERVAL 2 HOUR"
                    : postgres() ? "now() - interval '2 hours'"
                                 : "datetime('now', '-2 hours')") +
        " WHERE id = " + std::to_string(id));
  }

 private:
  struct Pending {
    int64_t id = 0;
    std::unique_ptr<sql::Transaction> transaction;
  };

  RelayStore& store(const std::string& owner) {
    std::unique_ptr<RelayStore>& at = stores_[owner];
    if (at) return *at;
    if (simulated()) {
      model_.ordering = ordering_;
      model_.retention = retention_;
      at = std::make_unique<SimulatedStore>(model_, now_, owner);
    } else {
      StoreOptions options;
      options.shape = own_shape("outbox_x");
      options.shape.ordering = ordering_;
      options.owner = owner;
      options.retention = retention_;
      at = make_sql_store(*database, *clock, std::move(options));  // not opened: no lock of a file
    }
    return *at;
  }
  sql::Command insert_command(const std::string& key, const RowTimes& times) {
    const auto ms = [](const std::optional<milliseconds>& time) {
      return time ? Value(int64_t{time->count()}) : Value();
    };
    return {make_statements(dialect_of(GetParam()), "outbox_x", SentPolicy::mark).insert,
            {Value(), Value(key), Value(), Value("p"), Value(), Value(), ms(times.available_in),
             ms(times.expires_in)}};
  }
  int64_t model_row(const std::string& key, const RowTimes& times, bool visible) {
    const int64_t id = ++last_id_;
    sim::StoredRow row;
    row.key = key;
    const size_t spread = key.empty() ? static_cast<size_t>(id) : std::hash<std::string>()(key);
    row.bucket = static_cast<int>(spread % kLeaseBuckets);
    row.visible = visible;
    if (times.available_in) row.available = now_ + *times.available_in;
    if (times.expires_in) row.expires = now_ + *times.expires_in;
    model_.rows.emplace(id, std::move(row));
    return id;
  }

  Ordering ordering_ = Ordering::key;
  milliseconds retention_{0};
  std::map<std::string, std::unique_ptr<RelayStore>> stores_;
  std::map<std::string, std::map<int, int64_t>> tokens_;  // by owner and bucket
  std::map<int64_t, int> buckets_;                        // of rows that were read
  std::vector<Pending> pending_;
  sim::Store model_;
  SteadyTime now_{std::chrono::hours(1000)};
  int64_t last_id_ = 0;
};

}  // namespace drom::outbox
