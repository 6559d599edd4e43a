// The relay: the shell around machines/outbox_relay. One long-lived coroutine does what the machine
// asks of the database, a second one listens for wake-ups; poll() and settle() only exchange rows
// with the machine, so that reading and marking overlap with the work of the route.
#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/outbox_store.hpp"
#include "rt/task_group.hpp"

namespace drom::outbox {
namespace {

constexpr milliseconds kListen{5000};
constexpr milliseconds kCloseLimit{5000};
// Under a lock file nobody else may take over, so renewing often would only wear the disk.
constexpr milliseconds kGuardedLease = std::chrono::hours(1);

class OutboxConsumer final : public Consumer {
 public:
  OutboxConsumer(const OutboxServices& services, const OutboxOptions& options)
      : s_(services),
        options_(options),
        channel_(wake_channel(options.table)),
        work_(s_.clock.make_alarm()),
        rows_(s_.clock.make_alarm()),
        tasks_(s_.io, s_.clock, s_.log) {}

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.in_flight_max = options_.in_flight_max;
    traits.poll_max = options_.in_flight_max;
    traits.keyed = true;
    return traits;
  }

  async<Result<void>> open() override {
    if (machine_) co_return Result<void>();
    Result<void> prepared =
        co_await prepare_tables(s_.database, options_.table, options_.create_table);
    if (!prepared) co_return prepared;
    StoreOptions store;
    store.table = options_.table;
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
    stopped_ = closing_ = finished_ = database_down_ = false;
    machine_ = std::make_unique<OutboxRelay>(policy);
    tasks_.spawn(options_.uri, drive());
    tasks_.spawn(options_.uri, listen());
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
    if (!machine_) co_return Result<void>();
    relay::SettledAll all;
    all.rows.reserve(receipts.size());
    for (const Receipt& receipt : receipts) all.rows.push_back(settled(receipt));
    step(std::move(all));
    co_return Result<void>();
  }

  void stop() override {
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
    s_.database.signal(channel_);
    const bool ended = co_await tasks_.wait(kCloseLimit);
    if (!ended) {
      s_.log.warn(options_.uri, "could not give back the lease in time; it expires by itself");
      tasks_.cancel();
      co_await tasks_.wait(kCloseLimit);
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
    bool ok = true;
    if (auto* lease = std::get_if<LeaseRequest>(&trip)) {
      LeaseAnswer answer = co_await store_->lease(std::move(*lease), &failure);
      ok = answer.ok;
      report(ok, failure);
      step(std::move(answer));
    } else if (auto* data = std::get_if<DataTrip>(&trip)) {
      relay::DataAnswer answer = co_await store_->data(std::move(*data), &failure);
      ok = answer.ok;
      report(ok, failure);
      step(std::move(answer));
    } else {
      LeaseAnswer answer = co_await store_->leave(&failure);
      report(answer.ok, failure);
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
    batch.reserve(rows.size());
    for (RelayRow& row : rows) {
      const int64_t id = row.id;
      Result<Exchange> exchange = restore(std::move(row));
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
    }
    if (!broken.rows.empty()) step(std::move(broken));
    return batch;
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
  std::string channel_;
  std::unique_ptr<Alarm> work_;  // the driver has something to do
  std::unique_ptr<Alarm> rows_;  // poll() may find rows
  std::unique_ptr<RelayStore> store_;
  std::unique_ptr<OutboxRelay> machine_;
  std::variant<std::monostate, LeaseRequest, DataTrip, ReleaseTrip> trip_;
  SteadyTime wake_at_ = SteadyTime::max();
  bool waiting_ = false;  // drive() sleeps; else it looks at trip_ and wake_at_ by itself
  bool stopped_ = false;
  bool closing_ = false;
  bool finished_ = false;
  bool database_down_ = false;
  TaskGroup tasks_;  // last: its coroutines use the members above
};

}  // namespace

std::unique_ptr<Consumer> make_consumer(const OutboxServices& services,
                                        const OutboxOptions& options) {
  return std::make_unique<OutboxConsumer>(services, options);
}

}  // namespace drom::outbox
