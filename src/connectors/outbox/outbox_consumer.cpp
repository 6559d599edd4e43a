// The relay: the shell around machines/outbox_relay. One long-lived coroutine does what the machine
// asks of the database, a second one listens for wake-ups; poll() and settle() only exchange rows
// with the machine, so that reading and marking overlap with the work of the route.
#include <set>

#include "connectors/outbox/outbox_admin.hpp"
#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/outbox_store.hpp"
#include "connectors/outbox/table_check.hpp"
#include "machines/progress_watch.hpp"
#include "rt/failpoint.hpp"
#include "rt/task_group.hpp"

namespace drom::outbox {
namespace {

constexpr milliseconds kListen{5000};
constexpr milliseconds kCloseLimit{5000};
constexpr milliseconds kSampleEvery{
    10'000};  // the due end of the table is looked at for the metrics
constexpr milliseconds kSampleSoon{1000};
constexpr int kStuckLeases = 3;  // so many lease times without progress are too long
// Under a lock file nobody else may take over, so renewing often would only wear the disk.
constexpr milliseconds kGuardedLease = std::chrono::hours(1);

class OutboxConsumer final : public Consumer {
 public:
  OutboxConsumer(const OutboxServices& services, const OutboxOptions& options)
      : s_(services),
        options_(options),
        channel_(wake_channel(options.table)),
        progress_(options.policy.lease * kStuckLeases),
        work_(s_.clock.make_alarm()),
        rows_(s_.clock.make_alarm()),
        sample_(s_.clock.make_alarm()),
        tasks_(s_.io, s_.clock, s_.log) {}

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.in_flight_max = options_.in_flight_max;
    traits.poll_max = options_.in_flight_max;
    traits.keyed = options_.policy.ordering == Ordering::key;
    if (options_.policy.ordering == Ordering::total)
      traits.in_flight_max = traits.poll_max = 1;
    else
      traits.window = options_.window;
    return traits;
  }

  async<Result<void>> open() override {
    if (machine_) co_return Result<void>();
    Result<TableShape> shape = co_await prepare_shape(s_.database, shape_of(options_),
                                                      options_.sent, options_.create_table);
    if (!shape) co_return std::move(shape.error());
    shape_ = std::move(*shape);
    StoreOptions store;
    store.shape = shape_;
    store.owner = s_.rng.uuid();
    store.sent = options_.sent;
    store.lease = options_.policy.lease;
    store.retention = options_.retention;
    store_ = make_sql_store(s_.database, s_.clock, std::move(store));
    Result<void> opened = co_await store_->open();
    if (!opened) co_return opened;
    RelayPolicy policy = options_.policy;
    if (store_->guarded()) policy.lease = kGuardedLease;
    store_->set_lease(policy.lease);
    stopped_ = closing_ = finished_ = due_ = data_down_ = lease_down_ = false;
    stats_ = OutboxStats();
    progress_ = ProgressWatch(options_.policy.lease * kStuckLeases);
    machine_ = std::make_unique<OutboxRelay>(policy);
    tasks_.spawn(options_.uri, drive());
    tasks_.spawn(options_.uri, listen());
    if (s_.board) {
      s_.board->add(this, options_.uri, [this] { return stats(); });
      tasks_.spawn(options_.uri, sample());
    }
    co_return Result<void>();
  }

  async<Result<Batch>> poll(size_t max) override {
    Batch batch;
    while (!stopped_ && batch.empty()) {
      relay::Take take;
      take.max = max;
      RelayEffects effects = step(take);
      const bool asked = !effects.rows.empty();
      batch = hand_out(std::move(effects.rows));
      if (!asked) co_await rows_->wait(milliseconds::max());
    }
    co_return batch;
  }

  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    failpoint("publish.acked_no_mark");
    if (!machine_) co_return Result<void>();
    relay::SettledAll all;
    all.rows.reserve(receipts.size());
    for (const Receipt& receipt : receipts) all.rows.push_back(settled(receipt));
    step(std::move(all));
    co_return Result<void>();
  }

  void stop() override {
    failpoint("shutdown.drain");
    stopped_ = true;
    rows_->ring();
    if (machine_) step(relay::Stop());
  }

  async<> close() override {
    if (!machine_) co_return;
    stop();
    closing_ = true;
    step(relay::Abandon());
    work_->ring();
    sample_->ring();
    if (s_.board) s_.board->remove(this);
    s_.database.signal(channel_);
    const bool ended = co_await tasks_.wait(kCloseLimit);
    if (!ended) {
      s_.log.warn(options_.uri, "could not give back the lease in time; it expires by itself");
      tasks_.cancel();
      // A statement on a blocking lane is not interrupted, and its caller uses all this afterwards.
      while (!tasks_.empty()) co_await tasks_.wait(kCloseLimit);
    }
    store_->close();
    machine_.reset();
  }

 private:
  // Feeds the machine and wakes whom the effects concern.
  RelayEffects step(RelayEvent event) {
    RelayEffects effects = machine_->step(std::move(event), s_.clock.steady());
    const bool new_trip = !std::holds_alternative<std::monostate>(effects.trip);
    if (new_trip) trip_ = std::move(effects.trip);
    finished_ = effects.finished;
    const bool sooner = effects.wake_at < wake_at_;
    wake_at_ = effects.wake_at;
    if (waiting_ && (new_trip || sooner || finished_)) work_->ring();
    if (effects.ready) rows_->ring();
    due_ = due_ || machine_->in_flight() + machine_->buffered() > 0 || data_down_ || lease_down_;
    progress_.observe(due_, s_.clock.steady());
    return effects;
  }

  async<> drive() {
    while (true) {
      step(relay::Tick());
      while (!std::holds_alternative<std::monostate>(trip_)) {
        auto trip = std::exchange(trip_, std::monostate());
        co_await perform(std::move(trip));
      }
      if (finished_) co_return;
      const milliseconds wait = until(wake_at_);
      if (wait.count() <= 0) continue;
      waiting_ = true;
      co_await work_->wait(wait);
      waiting_ = false;
    }
  }

  milliseconds until(SteadyTime at) const {
    if (at == SteadyTime::max()) return milliseconds::max();
    return std::chrono::ceil<milliseconds>(at - s_.clock.steady());
  }

  async<> perform(std::variant<std::monostate, LeaseRequest, DataTrip, ReleaseTrip> trip) {
    Error failure;
    if (auto* lease = std::get_if<LeaseRequest>(&trip)) {
      LeaseAnswer answer = co_await store_->lease(std::move(*lease), &failure);
      report(answer.ok, failure, lease_down_);
      const int held = machine_->held_buckets();
      step(std::move(answer));
      if (machine_->held_buckets() < held) failpoint("lease.lost");
    } else if (auto* data = std::get_if<DataTrip>(&trip)) {
      const OutboxStats marked = count(*data);
      const bool reads = data->read.has_value();
      relay::DataAnswer answer = co_await store_->data(std::move(*data), &failure);
      // The first of a row of failures; the others would tell the same.
      if (!answer.ok && !data_down_)
        failure = co_await explain(s_.database, shape_, options_.sent, std::move(failure));
      report(answer.ok, failure, data_down_);
      if (answer.ok) add(marked, answer);
      if (answer.ok && reads && answer.rows.empty())
        due_ = false;  // step() knows what is under way
      step(std::move(answer));
    } else {
      LeaseAnswer answer = co_await store_->leave(&failure);
      report(answer.ok, failure, lease_down_);
      step(std::move(answer));
    }
  }

  static OutboxStats count(const DataTrip& trip) {
    OutboxStats out;
    out.sent = trip.sent.size();
    out.failed = trip.failed.size();
    for (const FailedMark& mark : trip.failed) {
      if (mark.to == FailedMark::To::dead) ++out.dead;
      if (mark.to == FailedMark::To::parked) ++out.parked;
    }
    return out;
  }

  // What the database has taken. Which of the marks it refused is not told; the lease was lost
  // then.
  void add(const OutboxStats& marked, const relay::DataAnswer& answer) {
    if (marked.sent + marked.failed > answer.refused) progress_.progressed(s_.clock.steady());
    stats_.sent += marked.sent - std::min<uint64_t>(marked.sent, answer.refused);
    stats_.failed += marked.failed;
    stats_.dead += marked.dead;
    stats_.parked += marked.parked;
    stats_.purged += answer.purged;
  }

  OutboxStats stats() const {
    const SteadyTime now = s_.clock.steady();
    OutboxStats out = stats_;
    out.buckets = machine_->held_buckets();
    out.in_flight = machine_->in_flight();
    out.buffered = machine_->buffered();
    out.paused = machine_->paused(now);
    out.database_down = data_down_ || lease_down_;
    out.ready = !progress_.stuck(now);
    if (out.ready) return out;
    out.why = out.database_down ? "the outbox cannot be worked on"
              : out.paused      ? "the target cannot be reached"
                                : "no row was sent or failed";
    out.why += " for " + to_string(progress_.waiting(now));
    return out;
  }

  // For the metrics; a relay without keys leaves it to the others.
  async<> sample() {
    while (!closing_) {
      const bool works = machine_->held_buckets() > 0;
      if (works) {
        Result<Backlog> found = co_await backlog(s_.database, shape_);
        if (found && !closing_) keep(*found);
      } else {
        keep(Backlog());
      }
      if (!closing_) co_await sample_->wait(works ? kSampleEvery : kSampleSoon);
    }
  }
  void keep(const Backlog& found) {
    stats_.due = found.due;
    stats_.due_max = kLagRows;
    stats_.oldest_due = found.oldest;
    stats_.lags.clear();
    for (const Backlog::Lag& lag : found.lags)
      stats_.lags.push_back({lag.bucket, lag.due, lag.oldest_id, lag.oldest});
    stats_.holder_pid.reset();
    stats_.holder_age.reset();
    if (!found.holder) return;
    stats_.holder_pid = found.holder->pid;
    stats_.holder_age = found.holder->age;
  }

  // One line when the database goes and one when it is back, however often we try in between. A
  // lease that can be renewed does not mean that the table can be read.
  void report(bool ok, const Error& failure, bool& down) {
    const bool before = data_down_ || lease_down_;
    down = !ok;
    const bool now = data_down_ || lease_down_;
    if (now && !before)
      s_.log.warn(options_.uri, "the outbox cannot be worked on: " + failure.message());
    if (before && !now) s_.log.info(options_.uri, "the outbox is worked on again");
  }

  async<> listen() {
    while (!closing_) {
      const SteadyTime before = s_.clock.steady();
      std::string channel = channel_;
      co_await s_.database.wait(std::move(channel), kListen);
      if (!closing_ && s_.clock.steady() - before < kListen) step(relay::Woken());
    }
  }

  Batch hand_out(std::vector<RelayRow> rows) {
    Batch batch;
    relay::SettledAll broken;
    std::set<std::string> held_back;
    batch.reserve(rows.size());
    for (RelayRow& row : rows) {
      const int64_t id = row.id;
      // Nothing of a key may pass a row that could not be handed out: the machine decides anew.
      if (held_back.contains(row.key)) {
        broken.rows.push_back(released(id));
        continue;
      }
      const std::string key = row.key;
      Result<Exchange> exchange = failpoint("publish.before")
                                      ? Result<Exchange>(failpoint_error("publish.before"))
                                      : restored(std::move(row));
      if (exchange) {
        batch.push_back(std::move(*exchange));
        continue;
      }
      relay::Settled settled;
      settled.id = id;
      settled.fate = relay::Fate::failed;
      settled.kind = exchange.error().kind;
      settled.error = exchange.error().message();
      s_.log.error(options_.uri, "row " + std::to_string(id) + " cannot be read: " + settled.error);
      broken.rows.push_back(std::move(settled));
      if (!key.empty()) held_back.insert(key);
    }
    if (!broken.rows.empty()) step(std::move(broken));
    return batch;
  }

  Result<Exchange> restored(RelayRow row) const {
    if (!options_.foreign) return restore(std::move(row));
    return restore_foreign(shape_, options_.foreign->event, std::move(row));
  }

  static relay::Settled released(int64_t id) {
    relay::Settled out;
    out.id = id;
    return out;
  }

  relay::Settled settled(const Receipt& receipt) {
    relay::Settled out;
    out.id = static_cast<int64_t>(receipt.exchange.delivery);
    out.dice = s_.rng.next();
    if (receipt.outcome == Outcome::done) out.fate = relay::Fate::done;
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
  TableShape shape_;  // resolved
  std::string channel_;
  OutboxStats stats_;
  ProgressWatch progress_;
  std::unique_ptr<Alarm> work_;  // the driver has something to do
  std::unique_ptr<Alarm> rows_;  // poll() may find rows
  std::unique_ptr<Alarm> sample_;
  std::unique_ptr<RelayStore> store_;
  std::unique_ptr<OutboxRelay> machine_;
  std::variant<std::monostate, LeaseRequest, DataTrip, ReleaseTrip> trip_;
  SteadyTime wake_at_ = SteadyTime::max();
  bool waiting_ = false;  // drive() sleeps; else it looks at trip_ and wake_at_ by itself
  bool stopped_ = false;
  bool closing_ = false;
  bool finished_ = false;
  bool due_ = false;  // since the last read that found nothing
  bool data_down_ = false;
  bool lease_down_ = false;
  TaskGroup tasks_;  // last: its coroutines use the members above
};

}  // namespace

std::unique_ptr<Consumer> make_consumer(const OutboxServices& services,
                                        const OutboxOptions& options) {
  return options.mode == Mode::claim ? make_claim_consumer(services, options)
                                     : make_log_consumer(services, options);
}

std::unique_ptr<Consumer> make_claim_consumer(const OutboxServices& services,
                                              const OutboxOptions& options) {
  return std::make_unique<OutboxConsumer>(services, options);
}

}  // namespace drom::outbox
