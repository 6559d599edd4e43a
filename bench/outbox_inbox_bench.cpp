// How many new messages a second the inbox accepts: transacted (100 messages to a transaction) with
// idempotentConsumer over drom.sqlIdempotentRepository, fed by a source that always has messages,
// against a bare loop of the same inserts in transactions of the same size. Promise: 60 %.
#include "bare/stores.hpp"
#include "sql/sql_idempotent_repository.hpp"

namespace drom::bench {
namespace {

constexpr size_t kBatch = 100;

std::string message_id(const std::string& kind, size_t number) {
  return kind + "-6f1d3c52-8a4e-4c0b-9d57-" + std::to_string(100'000'000'000 + number);
}

double accept_bare(BareDatabase& db, size_t messages) {
  const bool mysql = db.dialect() == sql::Dialect::mysql;
  const std::string insert =
      std::string("INSERT INTO drom_inbox (consumer, message_id) VALUES ($1, $2) ON ") +
      (mysql ? "DUPLICATE KEY UPDATE deliveries = deliveries + 1" : "CONFLICT DO NOTHING");
  const auto start = std::chrono::steady_clock::now();
  for (size_t first = 0; first < messages; first += kBatch) {
    std::vector<Command> commands;
    for (size_t i = first; i < first + kBatch; ++i)
      commands.push_back({insert, {std::string("shipping"), message_id("bare", i)}});
    db.run(commands, true);
  }
  return static_cast<double>(messages) / seconds_since(start);
}

// A source with messages to the end.
struct Supply {
  size_t given = 0;
  size_t settled = 0;
  size_t messages = 0;
} supply;

class SupplyConsumer final : public Consumer {
 public:
  explicit SupplyConsumer(Clock& clock) : stopped_(clock.make_alarm()) {}
  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.poll_max = kBatch;
    return traits;
  }
  async<Result<void>> open() override { co_return Result<void>(); }
  async<Result<Batch>> poll(size_t max) override {
    Batch batch;
    for (; batch.size() < max && supply.given < supply.messages; ++supply.given) {
      batch.emplace_back(Message{Value("an event"), {}});
      batch.back().message.headers.set("eventId", message_id("engine", supply.given));
    }
    if (batch.empty()) co_await stopped_->wait(milliseconds::max());
    co_return batch;
  }
  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    for (const Receipt& receipt : receipts)
      if (receipt.outcome == Outcome::done) ++supply.settled;
    co_return Result<void>();
  }
  void stop() override { stopped_->ring(); }
  async<> close() override { co_return; }

 private:
  std::unique_ptr<Alarm> stopped_;
};

class SupplyEndpoint final : public Endpoint {
 public:
  explicit SupplyEndpoint(Clock& clock) : clock_(clock) {}
  std::string uri() const override { return "supply:all"; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    return std::unique_ptr<Consumer>(std::make_unique<SupplyConsumer>(clock_));
  }

 private:
  Clock& clock_;
};

void register_supply(Registry& registry) {
  ComponentInfo info;
  info.scheme = "supply";
  info.spec = [] {
    ConfigSpec spec;
    spec.name = "supply";
    spec.consumes = true;
    spec.options = {{.name = "name", .required = true, .path = true}};
    return spec;
  };
  info.make = [](const Config&, BuildContext& context) -> Result<std::unique_ptr<Endpoint>> {
    return std::unique_ptr<Endpoint>(std::make_unique<SupplyEndpoint>(context.clock()));
  };
  registry.add(std::move(info));
}

double accept_with_engine(const StorePlace& place, size_t messages) {
  supply = {0, 0, messages};
  Engine engine;
  register_builtin(engine.registry());
  register_supply(engine.registry());
  Routes routes;
  size_t effects = 0;
  routes.bean("db", place.bean_type, {{place.option, place.value}});
  routes.bean("inbox", "drom.sqlIdempotentRepository");
  routes.from("supply:all")
      .transacted([&effects](Steps& steps) {
        steps
            .idempotent_consumer(
                header("eventId"), "inbox",
                [&effects](Steps& inner) { inner.process([&effects](Exchange&) { ++effects; }); })
            .with("name", "shipping");
      })
      .with("batch", std::to_string(kBatch));
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render());
  const auto start = std::chrono::steady_clock::now();
  const Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what);
  engine.drive_until([messages] { return supply.settled >= messages; }, std::chrono::minutes(30));
  const double rate = static_cast<double>(messages) / seconds_since(start);
  engine.stop_now();
  check(effects == messages, "not every message had its effect once", std::to_string(effects));
  return rate;
}

bool bench(const StorePlace& place) {
  const size_t messages = (scaled(200'000) + kBatch - 1) / kBatch * kBatch;
  Race race;
  for (size_t round = 0; round < rounds(); ++round) {
    const auto fresh = [&place] {
      const auto db = place.open();
      db->script("DROP TABLE IF EXISTS drom_inbox");
      db->script(inbox_ddl(db->dialect(), "drom_inbox"));
      if (db->dialect() == sql::Dialect::postgres) db->script("CHECKPOINT");
    };
    fresh();
    race.bare.push_back(accept_bare(*place.open(), messages));
    fresh();
    race.engine.push_back(accept_with_engine(place, messages));
    const auto db = place.open();
    check(db->number("SELECT count(*) FROM drom_inbox") == static_cast<int64_t>(messages),
          "not every key is in the inbox");
  }
  place.open()->script("DROP TABLE drom_inbox");
  return race.report("inbox " + place.name, "msg/s", 0.6);
}

}  // namespace
}  // namespace drom::bench

int main() {
  const drom::bench::Stores stores;
  bool kept = true;
  for (const auto& place : stores.all()) kept = drom::bench::bench(place) && kept;
  return kept ? 0 : 1;
}
