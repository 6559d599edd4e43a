// The relay in log mode: the shell around machines/log_relay, and behind it an ordinary relay of
// claim mode for the rows that are held. One coroutine does what the machine asks of the database,
// one listens for wake-ups, one takes what the relay behind has to offer; poll() and settle() only
// exchange rows.
#include <map>
#include <set>

#include "connectors/outbox/log_admin.hpp"
#include "connectors/outbox/log_source.hpp"
#include "connectors/outbox/outbox_admin.hpp"
#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"
#include "machines/progress_watch.hpp"
#include "rt/failpoint.hpp"
#include "rt/task_group.hpp"

namespace drom::outbox {
namespace {

constexpr milliseconds kListen{5000};
constexpr milliseconds kCloseLimit{5000};
constexpr milliseconds kSampleEvery{10'000};  // the log is looked at for the metrics
constexpr int kStuckLeases = 3;               // so many lease times without progress are too long
constexpr size_t kReadMin = 2000;
constexpr milliseconds kSoon{100};
// Tells our deliveries from those of the relay behind, which are row ids.
constexpr uint64_t kFromLog = uint64_t{1} << 63;

class LogConsumer final : public Consumer {
 public:
  LogConsumer(const OutboxServices& services, const OutboxOptions& options)
      : s_(services),
        options_(options),
        channel_(wake_channel(options.table)),
        behind_(make_claim_consumer(services, options)),
        progress_(options.policy.lease * kStuckLeases),
        work_(s_.clock.make_alarm()),
        rows_(s_.clock.make_alarm()),
        sample_(s_.clock.make_alarm()),
        behind_free_(s_.clock.make_alarm()),
        tasks_(s_.io, s_.clock, s_.log) {}

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.in_flight_max = options_.in_flight_max;
    traits.poll_max = options_.in_flight_max;
    traits.keyed = options_.policy.ordering == Ordering::key;
    traits.window = options_.window;
    return traits;
  }

  async<Result<void>> open() override {
    if (machine_) co_return Result<void>();
    Result<void> opened = co_await behind_->open();
    if (!opened) co_return opened;
    source_ = options_.mode == Mode::cdc
                  ? make_cdc_source(s_.database, s_.clock, s_.log, log_options(), options_.cdc)
                  : make_log_tables(s_.database, s_.clock, s_.log, log_options());
    opened = co_await source_->open();
    if (!opened) {
      behind_->stop();
      co_await behind_->close();
      co_return opened;
    }
    stopped_ = closing_ = finished_ = database_down_ = false;
    pulls_ = true;
    room_ = 0;
    behind_out_.clear();
    stats_ = OutboxStats();
    progress_ = ProgressWatch(options_.policy.lease * kStuckLeases);
    maintain_at_ = s_.clock.steady();
    machine_ = std::make_unique<LogRelay>(log_policy());
    if (source_->pushes()) tasks_.spawn(options_.uri, push());
    tasks_.spawn(options_.uri, drive());
    tasks_.spawn(options_.uri, listen());
    tasks_.spawn(options_.uri, take_from_behind());
    if (s_.board) {
      s_.board->add(this, options_.uri, [this] { return stats(); });
      tasks_.spawn(options_.uri, sample());
    }
    co_return Result<void>();
  }

  async<Result<Batch>> poll(size_t max) override {
    Batch batch;
    while (!stopped_ && batch.empty()) {
      batch = some_from_behind(max);
      if (!batch.empty()) break;
      LogEffects effects = step(logs::Take{max});
      const bool asked = !effects.rows.empty();
      batch = hand_out(std::move(effects.rows));
      if (!asked) co_await rows_->wait(milliseconds::max());
    }
    co_return batch;
  }

  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    failpoint("publish.acked_no_mark");
    if (!machine_) co_return Result<void>();
    relay::SettledAll ours;
    std::vector<Receipt> others;
    for (Receipt& receipt : receipts) {
      if (receipt.exchange.delivery & kFromLog)
        ours.rows.push_back(settled(receipt));
      else
        settle_behind(std::move(receipt), others);
    }
    if (!ours.rows.empty()) step(std::move(ours));
    if (others.empty()) co_return Result<void>();
    Result<void> done = co_await behind_->settle(std::move(others));
    co_return done;
  }

  void stop() override {
    failpoint("shutdown.drain");
    stopped_ = true;
    rows_->ring();
    behind_free_->ring();
    if (!machine_) return;
    behind_->stop();
    source_->interrupt();
    step(logs::Stop());
  }

  async<> close() override {
    if (!machine_) co_return;
    stop();
    closing_ = true;
    step(logs::Abandon());
    work_->ring();
    sample_->ring();
    source_->interrupt();
    if (s_.board) s_.board->remove(this);
    s_.database.signal(channel_);
    const bool ended = co_await tasks_.wait(kCloseLimit);
    if (!ended) {
      s_.log.warn(options_.uri, "could not give back the lease in time; it expires by itself");
      tasks_.cancel();
      // A statement on a blocking lane is not interrupted, and its caller uses all this afterwards.
      while (!tasks_.empty()) co_await tasks_.wait(kCloseLimit);
    }
    co_await behind_->close();
    machine_.reset();
    source_.reset();
  }

 private:
  LogOptions log_options() {
    LogOptions out;
    out.uri = options_.uri;
    out.table = options_.table;
    out.owner = s_.rng.uuid();
    out.create_table = options_.create_table;
    out.lease = options_.policy.lease;
    out.keyed = options_.policy.ordering == Ordering::key;
    out.rotate_bytes = options_.rotate_bytes;
    return out;
  }
  LogPolicy log_policy() const {
    const RelayPolicy& policy = options_.policy;
    LogPolicy out;
    out.read_max = std::max(policy.read_max, kReadMin);
    out.checkpoint_max = out.read_max;
    out.room = std::max(out.room, out.read_max * 4);
    out.attempts_max = policy.attempts_max;
    out.retry = policy.retry;
    out.on_exhausted = policy.on_exhausted;
    out.lease = policy.lease;
    out.poll_min = policy.poll_min;
    out.poll_max = policy.poll_max;
    out.pause = policy.pause;
    // The stream names a place without rows only now and then.
    if (options_.mode == Mode::cdc) out.lazy_delay = kSoon;
    return out;
  }

  // Feeds the machine and wakes whom the effects concern.
  LogEffects step(LogEvent event) {
    LogEffects effects = machine_->step(std::move(event), s_.clock.steady());
    if (room_ == 0 && effects.room > 0) source_->interrupt();
    room_ = effects.room;
    const bool new_trip = !std::holds_alternative<std::monostate>(effects.trip);
    if (new_trip) trip_ = std::move(effects.trip);
    finished_ = effects.finished;
    const bool sooner = effects.wake_at < wake_at_;
    wake_at_ = effects.wake_at;
    if (waiting_ && (new_trip || sooner || finished_)) work_->ring();
    if (effects.ready) rows_->ring();
    const SteadyTime now = s_.clock.steady();
    progress_.observe(machine_->outstanding() > 0 || (database_down_ && !stopped_), now);
    return effects;
  }

  async<> drive() {
    while (true) {
      step(logs::Tick());
      while (!std::holds_alternative<std::monostate>(trip_)) {
        auto trip = std::exchange(trip_, std::monostate());
        co_await perform(std::move(trip));
        if (maintains()) maintain_at_ = co_await source_->maintain();
      }
      if (finished_) co_return;
      if (maintains()) maintain_at_ = co_await source_->maintain();
      // An answer or a receipt may have come in between.
      if (!std::holds_alternative<std::monostate>(trip_)) continue;
      const SteadyTime next = leads() && !stopped_ ? std::min(wake_at_, maintain_at_) : wake_at_;
      const milliseconds wait = until(next);
      if (wait.count() <= 0) continue;
      waiting_ = true;
      co_await work_->wait(wait);
      waiting_ = false;
    }
  }

  // Rows that come by themselves, as many as there is room for.
  async<> push() {
    while (!closing_) {
      if (pulls_ != source_->pulls()) {
        pulls_ = source_->pulls();
        step(logs::Pull{pulls_});
      }
      const int64_t token = stopped_ ? 0 : machine_->token();
      logs::Rows rows = co_await source_->next(token, room_);
      if (closing_) co_return;
      // Rows of another lease are read again.
      if (token == 0 || token != machine_->token()) continue;
      if (!rows.rows.empty() || rows.end) step(std::move(rows));
    }
  }

  bool maintains() const { return !stopped_ && leads() && s_.clock.steady() >= maintain_at_; }
  bool leads() const { return machine_->leads(s_.clock.steady()); }
  milliseconds until(SteadyTime at) const {
    if (at == SteadyTime::max()) return milliseconds::max();
    return std::chrono::ceil<milliseconds>(at - s_.clock.steady());
  }

  async<> perform(std::variant<std::monostate, LogLease, LogTrip, LogRelease> trip) {
    Error failure;
    if (auto* lease = std::get_if<LogLease>(&trip)) {
      logs::LeaseAnswer answer = co_await source_->lease(*lease, &failure);
      report(answer.ok, failure);
      const int64_t led = machine_->token();
      step(std::move(answer));
      if (led != 0 && machine_->token() != led) failpoint("lease.lost");
    } else if (auto* data = std::get_if<LogTrip>(&trip)) {
      const OutboxStats marked = count(*data);
      const bool checkpoint = data->serial != 0;
      logs::TripAnswer answer = co_await source_->trip(std::move(*data), &failure);
      report(answer.ok || answer.fenced, failure);
      if (answer.ok && checkpoint) add(marked);
      step(std::move(answer));
    } else {
      logs::LeaseAnswer answer;
      Result<void> released = co_await source_->release();
      answer.ok = released.ok();
      report(answer.ok, answer.ok ? failure : released.error());
      step(std::move(answer));
    }
  }

  // One line when the database goes and one when it is back, however often we try in between.
  void report(bool ok, const Error& failure) {
    if (!ok && !database_down_)
      s_.log.warn(options_.uri, "the outbox cannot be worked on: " + failure.message());
    if (ok && database_down_) s_.log.info(options_.uri, "the outbox is worked on again");
    database_down_ = !ok;
  }

  static OutboxStats count(const LogTrip& trip) {
    OutboxStats out;
    for (const Hold& hold : trip.holds) {
      if (hold.attempts > 0) ++out.failed;
      if (hold.to == FailedMark::To::dead) ++out.dead;
      if (hold.to == FailedMark::To::parked) ++out.parked;
    }
    return out;
  }
  void add(const OutboxStats& marked) {
    progress_.progressed(s_.clock.steady());
    stats_.failed += marked.failed;
    stats_.dead += marked.dead;
    stats_.parked += marked.parked;
  }

  // Of the log; the relay behind has an entry of its own on the board, for the held rows.
  OutboxStats stats() const {
    const SteadyTime now = s_.clock.steady();
    OutboxStats out = stats_;
    out.reads = "log";
    out.in_flight = machine_->in_flight();
    out.buffered = machine_->outstanding() - std::min(machine_->outstanding(), out.in_flight);
    out.paused = machine_->paused(now);
    out.database_down = database_down_;
    source_->describe(out);
    out.ready = !progress_.stuck(now);
    if (out.ready) return out;
    out.why = out.database_down ? "the outbox cannot be worked on"
              : out.paused      ? "the target cannot be reached"
                                : "no row was sent or failed";
    out.why += " for " + to_string(progress_.waiting(now));
    return out;
  }

  // For the metrics; a relay that stands by leaves it to the one that leads.
  async<> sample() {
    while (!closing_) {
      if (leads()) {
        Result<std::optional<LogStatus>> found =
            co_await log_status(s_.database, options_.table, kLagRows);
        if (found && *found && !closing_) {
          stats_.due = (*found)->due;
          stats_.due_max = kLagRows;
          stats_.oldest_due = (*found)->oldest;
        }
      } else {
        stats_.due = 0;
        stats_.oldest_due.reset();
      }
      if (!closing_) co_await sample_->wait(kSampleEvery);
    }
  }

  async<> listen() {
    while (!closing_) {
      const SteadyTime before = s_.clock.steady();
      std::string channel = channel_;
      co_await s_.database.wait(std::move(channel), kListen);
      if (!closing_ && s_.clock.steady() - before < kListen) step(logs::Woken());
    }
  }

  // Rows of the relay behind wait here for the next poll, one batch at a time.
  async<> take_from_behind() {
    while (!stopped_) {
      Result<Batch> batch = co_await behind_->poll(options_.in_flight_max);
      if (!batch) break;
      if (batch->empty()) continue;
      from_behind_ = std::move(*batch);
      rows_->ring();
      while (!stopped_ && !from_behind_.empty()) co_await behind_free_->wait(milliseconds::max());
    }
    if (from_behind_.empty()) co_return;
    std::vector<Receipt> released;
    for (Exchange& exchange : from_behind_) {
      Receipt receipt;
      receipt.exchange = std::move(exchange);
      released.push_back(std::move(receipt));
    }
    from_behind_.clear();
    const Result<void> done = co_await behind_->settle(std::move(released));
    if (!done) s_.log.debug(options_.uri, done.error().message());
  }

  // Of what the relay behind has handed out. The rest of a key waits until its first part has come
  // back, because nothing may pass a row that fails.
  Batch some_from_behind(size_t max) {
    Batch out;
    Batch rest;
    std::map<std::string, int> parts;
    for (Exchange& exchange : from_behind_) {
      const bool waits = out.size() >= max || behind_out_.contains(exchange.key);
      if (!waits && !exchange.key.empty()) ++parts[exchange.key];
      (waits ? rest : out).push_back(std::move(exchange));
    }
    behind_out_.merge(parts);
    keep_behind(std::move(rest));
    return out;
  }

  void keep_behind(Batch rest) {
    const bool empty = rest.empty() && !from_behind_.empty();
    from_behind_ = std::move(rest);
    if (empty) behind_free_->ring();
  }

  // With the receipts of the rows that were to follow it, should it have failed.
  void settle_behind(Receipt receipt, std::vector<Receipt>& out) {
    const std::string key = receipt.exchange.key;
    const bool done = receipt.outcome == Outcome::done;
    out.push_back(std::move(receipt));
    const auto part = behind_out_.find(key);
    if (part == behind_out_.end()) return;
    if (--part->second == 0) behind_out_.erase(part);
    if (from_behind_.empty()) return;
    if (!done) {
      Batch rest;
      for (Exchange& exchange : from_behind_) {
        if (exchange.key != key) {
          rest.push_back(std::move(exchange));
          continue;
        }
        Receipt released;
        released.exchange = std::move(exchange);
        out.push_back(std::move(released));
      }
      keep_behind(std::move(rest));
    }
    rows_->ring();
  }

  Batch hand_out(std::vector<LogHandOut> rows) {
    Batch batch;
    relay::SettledAll broken;
    std::set<std::string> held_back;
    batch.reserve(rows.size());
    for (LogHandOut& out : rows) {
      relay::Settled settled;
      settled.id = static_cast<int64_t>(out.seq);
      // Nothing of a key may pass a row that could not be handed out: the machine decides anew.
      if (held_back.contains(out.row.key)) {
        broken.rows.push_back(std::move(settled));
        continue;
      }
      RelayRow row;
      row.id = out.row.columns[kColId].to_int().value_or(0);
      const int64_t id = row.id;
      row.key = out.row.key;
      row.columns = std::move(out.row.columns);
      Result<Exchange> exchange = failpoint("publish.before")
                                      ? Result<Exchange>(failpoint_error("publish.before"))
                                      : restore_row(std::move(row));
      if (exchange) {
        exchange->delivery = kFromLog | out.seq;
        batch.push_back(std::move(*exchange));
        continue;
      }
      settled.fate = relay::Fate::failed;
      settled.kind = exchange.error().kind;
      settled.error = exchange.error().message();
      s_.log.error(options_.uri, "row " + std::to_string(id) + " cannot be read: " + settled.error);
      broken.rows.push_back(std::move(settled));
      if (!out.row.key.empty()) held_back.insert(out.row.key);
    }
    if (!broken.rows.empty()) step(std::move(broken));
    return batch;
  }

  static Result<Exchange> restore_row(RelayRow row) {
    if (row.columns[kColLater].is_text())
      return Error(ErrorKind::data, std::string(row.columns[kColLater].raw()));
    return restore(std::move(row));
  }

  relay::Settled settled(const Receipt& receipt) {
    relay::Settled out;
    out.id = static_cast<int64_t>(receipt.exchange.delivery & ~kFromLog);
    out.dice = s_.rng.next();
    if (receipt.outcome == Outcome::done) {
      out.fate = relay::Fate::done;
      ++stats_.sent;
    }
    if (receipt.outcome != Outcome::failed) return out;
    out.fate = relay::Fate::failed;
    if (const Error* error = receipt.exchange.error.get()) {
      out.kind = error->kind;
      out.error = error->message();
      out.retry_after = error->retry_after;
    }
    return out;
  }

  OutboxServices s_;
  OutboxOptions options_;
  std::string channel_;
  std::unique_ptr<Consumer> behind_;  // works the held rows
  OutboxStats stats_;
  ProgressWatch progress_;
  std::unique_ptr<Alarm> work_;  // the driver has something to do
  std::unique_ptr<Alarm> rows_;  // poll() may find rows
  std::unique_ptr<Alarm> sample_;
  std::unique_ptr<Alarm> behind_free_;  // from_behind_ is empty
  std::unique_ptr<LogSource> source_;
  std::unique_ptr<LogRelay> machine_;
  Batch from_behind_;                      // not yet polled
  std::map<std::string, int> behind_out_;  // rows of a key that were, and have not come back
  std::variant<std::monostate, LogLease, LogTrip, LogRelease> trip_;
  SteadyTime wake_at_ = SteadyTime::max();
  SteadyTime maintain_at_{};
  size_t room_ = 0;       // for rows that are pushed
  bool pulls_ = true;     // as the machine knows it
  bool waiting_ = false;  // drive() sleeps; else it looks at trip_ and wake_at_ by itself
  bool stopped_ = false;
  bool closing_ = false;
  bool finished_ = false;
  bool database_down_ = false;
  TaskGroup tasks_;  // last: its coroutines use the members above
};

}  // namespace

std::unique_ptr<Consumer> make_log_consumer(const OutboxServices& services,
                                            const OutboxOptions& options) {
  return std::make_unique<LogConsumer>(services, options);
}

}  // namespace drom::outbox
