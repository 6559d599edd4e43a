// CDC mode: the log tables, read through the write-ahead log. The stream tells rows in the order of
// their commits; so do messages, which have no row. While there is no stream, because the slot is
// gone, its creation waits for an open transaction, or the server refuses, trips read the tables as
// in log mode, so that nothing waits and nothing is lost.
//
// Both ways share one checkpoint: a snapshot (what is visible in it is delivered) and a place in
// the log (what commits before is delivered). A sign of life of ours joins them: it is written by a
// statement that returns its snapshot, so when it comes back in the stream, everything visible in
// that snapshot has come before.
#include <algorithm>

#include "connectors/outbox/cdc_rows.hpp"
#include "connectors/outbox/cdc_slot.hpp"
#include "connectors/outbox/log_tables.hpp"
#include "rt/failpoint.hpp"

namespace drom::outbox {
namespace {

constexpr milliseconds kReconnectFirst{200};
constexpr milliseconds kReconnectMax{10'000};
// So long rows wait for a stream that has broken, before trips read them.
constexpr milliseconds kPatience{2'000};
constexpr milliseconds kRead{1'000};
constexpr milliseconds kCatchUp{20};
constexpr milliseconds kSyncEvery{1'000};  // while rows come
// A stream in which nothing comes for so many heartbeats, not even our own, is dead.
constexpr int kSilentBeats = 3;
constexpr milliseconds kPlaceEvery{5'000};
// The server looks for the publication in the catalog as it was where the slot stands.
constexpr std::string_view kUndefinedObject = "42704";

class CdcSource final : public LogSource {
 public:
  CdcSource(sql::Database& database, Clock& clock, Log& log, LogOptions options, CdcOptions cdc)
      : database_(database),
        clock_(clock),
        log_(log),
        options_(std::move(options)),
        cdc_(std::move(cdc)),
        tables_(database, clock, log, options_),
        alarm_(clock.make_alarm()) {}

  async<Result<void>> open() override {
    Result<void> opened = co_await tables_.open();
    if (!opened) co_return opened;
    opened = co_await prepare_cdc(database_, options_.table, cdc_.publication, &cdc_.slot,
                                  options_.create_table);
    co_return opened;
  }

  async<logs::LeaseAnswer> lease(LogLease request, Error* failure) override {
    logs::LeaseAnswer answer = co_await tables_.lease(request, failure);
    if (tables_.generation() != generation_) interrupt();
    co_return answer;
  }

  async<logs::TripAnswer> trip(LogTrip trip, Error* failure) override {
    if (!pulls()) trip.read = 0;
    const bool reads = trip.read > 0;
    const bool checkpoint = trip.serial != 0;
    if (reads && !tables_.in_batch()) fresh_batch_ = slot_ready_;
    reading_ = reads;
    logs::TripAnswer answer = co_await tables_.trip(std::move(trip), failure);
    reading_ = false;
    if (answer.ok && reads && fresh_batch_ && !tables_.in_batch()) batch_read();
    if (answer.ok && checkpoint && stream_) confirm();
    co_return answer;
  }

  async<Result<void>> release() override {
    Result<void> released = co_await tables_.release();
    co_return released;
  }

  async<SteadyTime> maintain() override {
    const SteadyTime next = co_await tables_.maintain();
    const SteadyTime now = clock_.steady();
    if (phase_ == Phase::streaming && now >= beat_at_) co_await beat();
    if (now >= look_at_) co_await look_at_slot();
    co_return next;
  }

  bool pushes() const override { return true; }
  bool pulls() const override { return phase_ == Phase::polling; }
  void interrupt() override {
    alarm_->ring();
    if (stream_) stream_->interrupt();
  }

  async<logs::Rows> next(int64_t token, size_t max) override {
    logs::Rows out;
    // Not ours, or the machine or the tables do not know yet.
    if (token == 0 || token != tables_.generation() || !tables_.loaded()) {
      if (token == 0) begin(0);
      co_await alarm_->wait(token == 0 ? kRead : kCatchUp);
      co_return out;
    }
    if (token != generation_) begin(token);
    if (stream_ && drop_) {
      broken(Error(ErrorKind::rejected, "the slot is to be dropped"));
      poll("replication slot " + cdc_.slot + " is made anew");
    }
    if (!stream_) {
      co_await connect();
    } else if (phase_ != Phase::streaming) {
      co_await switch_over();
    } else if (max == 0) {
      co_await rest(kRead);
    } else {
      co_await read(token, max, out);
    }
    co_return out;
  }

  void describe(OutboxStats& stats) const override {
    stats.streaming = phase_ == Phase::streaming;
    stats.slot_lag = slot_lag_;
  }

 private:
  enum class Phase : uint8_t {
    connecting,  // rows wait a moment
    polling,     // trips read
    streaming,
  };

  void begin(int64_t token) {
    generation_ = token;
    stream_.reset();
    rows_.reset();
    phase_ = Phase::connecting;
    caught_up_ = slot_ready_ = fresh_batch_ = false;
    begun_before_.reset();
    connecting_since_ = connect_at_ = clock_.steady();
    failures_ = 0;
    place_ = tables_.mark().place;
  }

  // A stream that has ended, or could not be had.
  void broken(const Error& error) {
    log_.debug(options_.uri, "no stream: " + error.message());
    stream_.reset();
    rows_.reset();
    const bool slot_ready_before = std::exchange(slot_ready_, false);
    caught_up_ = fresh_batch_ = false;
    begun_before_.reset();
    beat_snapshot_.reset();
    const SteadyTime now = clock_.steady();
    if (phase_ == Phase::streaming) {
      phase_ = Phase::connecting;
      connecting_since_ = now;
    }
    if (now - connecting_since_ >= kPatience) poll(error.message());
    if (error.type == kUndefinedObject && slot_ready_before) {
      log_.error(options_.uri,
                 "replication slot " + cdc_.slot +
                     " is older than its publication and is made anew: " + error.message());
      drop_ = true;
      poll(error.message());
    }
    const int doublings = std::min(failures_++, 10);
    connect_at_ = now + std::min(kReconnectFirst * (1 << doublings), kReconnectMax);
  }

  // A batch whose snapshot was taken when the slot was there (not one that an earlier relay has
  // begun) has all that the slot does not tell, but for one thing: a transaction may have committed
  // before the slot's first event, and stay invisible until its log is flushed or replicated. So
  // all that had begun by the first such snapshot must have ended in the last one.
  void batch_read() {
    const SnapshotFilter read(tables_.read_to());
    if (!begun_before_) begun_before_ = read.xmax();
    if (read.xmin() >= *begun_before_) caught_up_ = true;
  }

  // From now on trips read. Says so once.
  void poll(const std::string& why) {
    if (phase_ == Phase::polling) return;
    phase_ = Phase::polling;
    const bool first = tables_.mark().place.lsn == 0;  // nothing is wrong yet
    log_.write(first ? LogLevel::info : LogLevel::warn, options_.uri,
               "the tables are read until there is a replication stream: " + why);
  }

  async<> rest(milliseconds time) {
    Result<void> told = stream_->keep_alive();
    if (told) {
      heard_at_ = clock_.steady();
      co_await alarm_->wait(time);
    } else {
      broken(told.error());
    }
  }

  async<> connect() {
    const SteadyTime now = clock_.steady();
    if (now < connect_at_) {
      co_await alarm_->wait(std::chrono::ceil<milliseconds>(connect_at_ - now));
      co_return;
    }
    Result<bool> ready = co_await prepare_slot();
    if (!ready) {
      broken(ready.error());
      co_return;
    }
    if (!*ready) co_return;
    Result<std::unique_ptr<sql::ReplicationStream>> stream = co_await database_.replicate();
    Result<void> started = stream ? Result<void>() : Result<void>(stream.error());
    if (started) started = co_await (*stream)->start(cdc_.slot, cdc_.publication);
    if (!started) {
      broken(started.error());
      co_return;
    }
    stream_ = std::move(*stream);
    slot_ready_ = true;
    failures_ = 0;
  }

  // True when the slot can be read; false: call again. Rows that it does not tell must be read from
  // the tables first.
  async<Result<bool>> prepare_slot() {
    Result<std::optional<SlotState>> found = co_await slot_state(database_, cdc_.slot);
    if (!found) co_return std::move(found.error());
    if (!*found) {
      Result<bool> made = co_await make_slot();
      co_return made;
    }
    const SlotState& slot = **found;
    if (slot.foreign) {
      const Error error(ErrorKind::config,
                        "replication slot " + cdc_.slot + " is of another database or plugin",
                        "choose another name with `slot`");
      poll(error.message());
      co_return error;
    }
    if (slot.active_pid != 0) {
      // We have the lease: whoever reads it is a relay that has lost it, or a session of ours that
      // the server has not given up yet.
      Result<void> ended =
          co_await guarded("SELECT pg_terminate_backend($1::integer)", Value(slot.active_pid));
      if (!ended) co_return std::move(ended.error());
      co_return Error(ErrorKind::transient, "another session still reads the slot");
    }
    if (slot.lost || drop_) {
      if (slot.lost)
        log_.error(options_.uri,
                   "replication slot " + cdc_.slot +
                       " has lost its log (max_slot_wal_keep_size?) and is made anew");
      Result<void> dropped =
          co_await guarded("SELECT pg_drop_replication_slot($1::name)::text", Value(cdc_.slot));
      if (!dropped) co_return std::move(dropped.error());
      drop_ = false;
      co_return false;
    }
    const sql::Lsn delivered = tables_.mark().place.lsn;
    if (slot.confirmed <= delivered) {
      caught_up_ = true;
      co_return true;
    }
    if (delivered != 0)
      log_.error(options_.uri,
                 "replication slot " + cdc_.slot + " begins at " + sql::lsn_text(slot.confirmed) +
                     ", but events are delivered up to " + sql::lsn_text(delivered) +
                     " only: rows in between are read from the tables; events without a row "
                     "(pg_logical_emit_message) in between are lost");
    poll("replication slot " + cdc_.slot + " does not tell of the rows so far");
    co_return true;
  }

  // Waits for transactions that are open, so trips must read meanwhile.
  async<Result<bool>> make_slot() {
    if (phase_ != Phase::polling) {
      poll("replication slot " + cdc_.slot + " has to be made");
      co_return false;
    }
    Result<void> ours = co_await guarded("SELECT $1::text", Value("ours"));
    if (!ours) co_return std::move(ours.error());
    Result<void> made = co_await prepare_cdc(database_, options_.table, cdc_.publication,
                                             &cdc_.slot, options_.create_table);
    if (made) made = co_await create_slot(database_, cdc_.slot);
    if (!made) co_return std::move(made.error());
    co_return false;
  }

  // A statement with one parameter that only the relay with the lease may run.
  async<Result<void>> guarded(std::string text, Value parameter) {
    std::vector<sql::Command> commands;
    commands.push_back(tables_.guard());
    commands.push_back({std::move(text), {std::move(parameter)}});
    Result<std::vector<sql::Rows>> done = co_await database_.execute_all(std::move(commands));
    if (!done) co_return std::move(done.error());
    co_return Result<void>();
  }

  // From trips to the stream, when nothing is left that only trips can tell.
  async<> switch_over() {
    if (tables_.in_batch()) poll("a backlog was being read");
    if (!caught_up_ || reading_ || tables_.in_batch()) {
      co_await rest(kCatchUp);
      co_return;
    }
    rows_ = std::make_unique<StreamRows>(
        StreamRows::Start{options_.table, ++epoch_, place_, tables_.read_to(), options_.keyed});
    tables_.synchronized({epoch_, 0}, tables_.read_to());
    if (phase_ == Phase::polling) log_.info(options_.uri, "the replication stream is read");
    phase_ = Phase::streaming;
    heard_at_ = beat_at_ = clock_.steady();
    place_at_ = {};
    news_ = true;
    confirm();
  }

  async<> read(int64_t token, size_t max, logs::Rows& out) {
    Result<std::vector<sql::WalEvent>> events = co_await stream_->read(max, kRead);
    if (token != tables_.generation()) co_return;  // begin() will start again
    if (events && !events->empty() && failpoint("poll.after_fetch"))
      events = failpoint_error("poll.after_fetch");
    const SteadyTime now = clock_.steady();
    if (events && !events->empty()) heard_at_ = now;
    if (events && now - heard_at_ > cdc_.heartbeat * kSilentBeats)
      events = Error(ErrorKind::timeout, "nothing has come through the stream for " +
                                             drom::to_string(cdc_.heartbeat * kSilentBeats));
    if (!events) {
      broken(events.error());
      co_return;
    }
    StreamRows::Out taken;
    rows_->take(std::move(*events), taken);
    if (rows_->untransacted() > 0 && !std::exchange(told_of_untransacted_, true))
      log_.warn(options_.uri,
                "events written by pg_logical_emit_message(false, ...) are left out, because they "
                "would exist although their transaction is undone; write true");
    for (auto& [lsn, text] : taken.heartbeats)
      if (text == beat_text_) came_back(lsn);
    const bool found = !taken.rows.rows.empty();
    news_ = news_ || found;
    // A place without a row is worth a checkpoint only now and then: it lets the slot go on.
    if (!found && now - place_at_ < kPlaceEvery) taken.rows.end.reset();
    if (taken.rows.end) place_at_ = now;
    const LogPosition* last = found ? &taken.rows.rows.back().position : nullptr;
    if (taken.rows.end) last = &*taken.rows.end;
    if (last) place_ = place_of(*last);
    out = std::move(taken.rows);
  }

  // A sign of life that comes back to us through the stream, with the snapshot of its statement.
  async<> beat() {
    const int64_t generation = generation_;
    beat_at_ = clock_.steady() + (news_ ? kSyncEvery : cdc_.heartbeat);
    news_ = false;
    beat_text_ = options_.owner + "/" + std::to_string(++beats_);
    beat_snapshot_.reset();
    beat_lsn_ = 0;
    List params;
    params.push_back(std::string(kHeartbeatPrefix));
    params.push_back(beat_text_);
    Result<sql::Rows> rows = co_await database_.execute(
        "SELECT pg_current_snapshot()::text, pg_logical_emit_message(false, $1::text, "
        "$2::text)::text",
        std::move(params));
    if (!rows) log_.debug(options_.uri, "heartbeat: " + rows.error().message());
    if (!rows || generation != generation_ || phase_ != Phase::streaming) co_return;
    beat_snapshot_ = rows->rows.at(0).at(0).to_text();
    if (beat_lsn_ != 0) came_back(beat_lsn_);
  }

  void came_back(sql::Lsn lsn) {
    beat_lsn_ = lsn;
    if (!beat_snapshot_) return;  // the statement has not answered yet
    tables_.synchronized({epoch_, lsn}, std::move(*beat_snapshot_));
    beat_snapshot_.reset();
    place_at_ = {};
  }

  // What commits before the checkpoint's place need not come again.
  void confirm() {
    if (stream_ && tables_.mark().place.lsn != 0) stream_->confirm(tables_.mark().place.lsn);
  }

  async<> look_at_slot() {
    look_at_ = clock_.steady() + cdc_.heartbeat;
    Result<std::optional<SlotState>> found = co_await slot_state(database_, cdc_.slot);
    slot_lag_.reset();
    if (!found || !*found) co_return;
    slot_lag_ = (*found)->lag;
    if (cdc_.slot_lag_max == 0 || (*found)->lag <= cdc_.slot_lag_max || !stream_) co_return;
    log_.warn(options_.uri, "replication slot " + cdc_.slot + " holds back " +
                                std::to_string((*found)->lag) +
                                " bytes, more than maxSlotLag, and is dropped");
    drop_ = true;  // by next()
    interrupt();
  }

  sql::Database& database_;
  Clock& clock_;
  Log& log_;
  LogOptions options_;
  CdcOptions cdc_;
  LogTables tables_;
  std::unique_ptr<Alarm> alarm_;
  Phase phase_ = Phase::connecting;
  int64_t generation_ = 0;  // of the stream
  std::unique_ptr<sql::ReplicationStream> stream_;
  std::unique_ptr<StreamRows> rows_;
  uint64_t epoch_ = 0;  // counts switches to the stream
  StreamPlace place_;   // of the last row that was given away
  bool slot_ready_ = false;
  bool caught_up_ = false;    // the table has nothing that the slot does not tell
  bool fresh_batch_ = false;  // the batch that is being read began when the slot was ready
  std::optional<uint64_t> begun_before_;  // transactions below are waited for
  bool reading_ = false;                  // a trip reads
  bool drop_ = false;
  SteadyTime connecting_since_{};
  SteadyTime connect_at_{};
  int failures_ = 0;
  SteadyTime heard_at_{};
  SteadyTime place_at_{};
  SteadyTime beat_at_{};
  SteadyTime look_at_{};
  bool news_ = false;  // rows since the last heartbeat
  uint64_t beats_ = 0;
  std::string beat_text_;
  std::optional<std::string> beat_snapshot_;  // of a heartbeat that has not come back
  sql::Lsn beat_lsn_ = 0;                     // where the last one came back
  bool told_of_untransacted_ = false;
  std::optional<int64_t> slot_lag_;
};

}  // namespace

std::unique_ptr<LogSource> make_cdc_source(sql::Database& database, Clock& clock, Log& log,
                                           LogOptions options, CdcOptions cdc) {
  return std::make_unique<CdcSource>(database, clock, log, std::move(options), std::move(cdc));
}

}  // namespace drom::outbox
