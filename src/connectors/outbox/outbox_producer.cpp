// Inserts rows: in the exchange's unit of work when it has one, else in a transaction of its own.
#include "connectors/outbox/cdc_slot.hpp"
#include "connectors/outbox/log_admin.hpp"
#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"
#include "connectors/outbox/outbox_store.hpp"
#include "drom/rt/unit_of_work.hpp"

namespace drom::outbox {
namespace {

// A delay or a time to live: a duration text ("5s"), milliseconds, or the moment that is meant.
Result<Value> delay_ms(const Value& value, WallTime now) {
  if (value.is_null()) return Value();
  if (const WallTime* at = value.as_time())
    return Value(int64_t{std::chrono::ceil<milliseconds>(*at - now).count()});
  if (const auto number = value.to_int()) return Value(*number);
  Result<milliseconds> parsed = parse_duration(value.to_text());
  if (!parsed) return std::move(parsed.error());
  return Value(int64_t{parsed->count()});
}

std::string insert_statement(sql::Dialect dialect, const OutboxOptions& options) {
  if (options.tableless) return message_statement(options.table);
  const std::string table = options.mode == Mode::claim ? options.table : log_table(options.table);
  return make_statements(dialect, table, SentPolicy::mark).insert;
}

class OutboxProducer final : public Producer {
 public:
  OutboxProducer(const OutboxServices& services, const OutboxOptions& options)
      : database_(services.database),
        clock_(services.clock),
        modes_(services.modes),
        options_(options),
        filter_(options.headers),
        channel_(wake_channel(options.table)) {}

  async<Result<void>> open() override {
    if (prepared_) co_return Result<void>();
    choose_table();
    Result<void> prepared =
        co_await prepare_tables(database_, options_.table, options_.create_table);
    if (prepared && options_.mode != Mode::claim)
      prepared = co_await prepare_log_tables(database_, options_.table, options_.create_table);
    if (prepared && options_.tableless) prepared = co_await prepare_slot();
    prepared_ = prepared.ok();
    co_return prepared;
  }

  bool takes_batches() const override { return true; }
  std::string data_source() const override { return database_.name(); }
  async<> run(Batch& batch, Scope& scope) override {
    if (!prepared_) {  // the database was away when the route started
      Result<void> opened = co_await open();
      if (!opened) {
        for (Exchange& exchange : batch) exchange.fail(opened.error());
        co_return;
      }
    }
    // Neighbours that share their unit of work (or have none) go in one trip.
    size_t first = 0;
    while (first < batch.size()) {
      size_t end = first + 1;
      while (end < batch.size() && batch[end].unit == batch[first].unit) ++end;
      co_await insert(batch, first, end, scope);
      first = end;
    }
  }

 private:
  // What is written before there is a slot, nobody is told of.
  async<Result<void>> prepare_slot() {
    std::string slot = options_.cdc.slot;
    Result<void> ready = co_await prepare_cdc(database_, options_.table, options_.cdc.publication,
                                              &slot, options_.create_table);
    if (ready) ready = co_await require_slot(database_, std::move(slot));
    co_return ready;
  }
  // All routes are there by now.
  void choose_table() {
    if (!options_.mode_given && modes_) {
      const auto relay = modes_->find({&database_, options_.table});
      if (relay != modes_->end()) options_.mode = relay->second;
    }
    insert_ = insert_statement(database_.dialect(), options_);
  }

  async<> insert(Batch& batch, size_t first, size_t end, Scope& scope) {
    std::vector<sql::Command> commands;
    std::vector<Exchange*> members;
    for (size_t i = first; i < end; ++i) {
      Result<sql::Command> command = row(batch[i], scope);
      if (!command) {
        batch[i].fail(std::move(command.error()));
        continue;
      }
      commands.push_back(std::move(*command));
      members.push_back(&batch[i]);
    }
    if (members.empty()) co_return;
    std::vector<sql::Command> again;
    if (members.size() > 1 && !members.front()->unit) again = commands;
    Result<std::vector<sql::Rows>> inserted =
        co_await sql::execute_all(*members.front(), database_, std::move(commands));
    if (inserted) {
      announce(*members.front());
      co_return;
    }
    if (again.empty()) {
      for (Exchange* exchange : members) exchange->fail(inserted.error());
      co_return;
    }
    // One bad row must cost only itself.
    for (size_t i = 0; i < members.size(); ++i) {
      std::vector<sql::Command> one;
      one.push_back(std::move(again[i]));
      Result<std::vector<sql::Rows>> single =
          co_await sql::execute_all(*members[i], database_, std::move(one));
      if (!single)
        members[i]->fail(std::move(single.error()));
      else
        announce(*members[i]);
    }
  }

  // Relays of this process look at once, but not before the row is there.
  void announce(Exchange& exchange) {
    if (!exchange.unit) {
      database_.signal(channel_);
      return;
    }
    exchange.unit->on_commit(
        [&database = database_, channel = channel_] { database.signal(channel); });
  }

  Result<sql::Command> row(const Exchange& exchange, const Scope& scope) const {
    const EvalScope eval = scope.eval();
    Value key(exchange.key), type, event_id, delay, time_to_live;
    for (auto& [expression, target] :
         {std::pair(&options_.key, &key), std::pair(&options_.type, &type),
          std::pair(&options_.event_id, &event_id), std::pair(&options_.delay, &delay),
          std::pair(&options_.time_to_live, &time_to_live)}) {
      if (!*expression) continue;
      Result<Value> value = (*expression)->evaluate(exchange, eval);
      if (!value) return std::move(value.error());
      *target = std::move(*value);
    }
    Result<Value> ms = delay_ms(delay, clock_.wall());
    if (!ms) return std::move(ms.error());
    Result<Value> live = delay_ms(time_to_live, clock_.wall());
    if (!live) return std::move(live.error());
    StoredBody body = store_body(exchange.message.body);
    Value headers = store_headers(exchange.message.headers, filter_, body.json);
    sql::Command out;
    out.sql = insert_;
    out.params = {text_or_null(event_id), text_or_null(key),     text_or_null(type),
                  std::move(body.text),   std::move(body.bytes), std::move(headers),
                  std::move(*ms),         std::move(*live)};
    return out;
  }

  static Value text_or_null(const Value& value) {
    std::string text = value.to_text();
    return text.empty() ? Value() : Value(std::move(text));
  }

  sql::Database& database_;
  Clock& clock_;
  const RelayModes* modes_;
  OutboxOptions options_;
  HeaderFilter filter_;
  std::string channel_;
  std::string insert_;  // once open
  bool prepared_ = false;
};

}  // namespace

std::unique_ptr<Producer> make_producer(const OutboxServices& services,
                                        const OutboxOptions& options) {
  return std::make_unique<OutboxProducer>(services, options);
}

}  // namespace drom::outbox
