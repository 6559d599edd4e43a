// Polls a query. Each row becomes an exchange; after its route has ended, onConsume (or
// onConsumeFailed) runs with the values of the row as it was read, whatever the route made of it.
#include <deque>

#include "connectors/sql/sql_endpoint.hpp"

namespace drom::sqlc {
namespace {

class SqlConsumer final : public Consumer {
 public:
  SqlConsumer(const SqlServices& services, const SqlOptions& options)
      : s_(services), options_(options), alarm_(s_.clock.make_alarm()) {}

  // One at a time: onConsume of a row comes before the next row starts, and may end the batch.
  ConsumerTraits traits() const override { return {}; }

  async<Result<void>> open() override {
    stopped_ = false;
    if (!due_) due_ = s_.clock.steady() + options_.initial_delay;
    co_return Result<void>();
  }

  async<Result<Batch>> poll(size_t) override {
    Batch batch;
    while (!stopped_ && rows_.empty()) {
      const milliseconds left = time_left();
      if (left.count() > 0) {
        co_await alarm_->wait(left);
        continue;
      }
      Result<void> queried = co_await query();
      if (!queried) co_return std::move(queried.error());
      if (rows_.empty()) co_return batch;  // the caller shall know that the query works
    }
    if (stopped_) co_return batch;
    batch.push_back(next());
    co_return batch;
  }

  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    Result<void> out;
    for (Receipt& receipt : receipts) {
      Result<void> consumed = co_await consume(receipt);
      if (!consumed && out.ok()) out = std::move(consumed);
      if (!out && options_.break_batch) {
        rows_.clear();
        due_ = s_.clock.steady() + options_.delay;
        co_return out;
      }
    }
    if (rows_.empty() && options_.on_batch_complete && !stopped_) {
      const Value nothing;
      const Exchange empty;
      Result<int64_t> done = co_await execute(*options_.on_batch_complete, nothing, empty);
      if (!done && out.ok()) out = std::move(done.error());
    }
    co_return out;
  }

  void stop() override {
    stopped_ = true;
    rows_.clear();
    alarm_->ring();
  }
  async<> close() override {
    rows_.clear();
    co_return;
  }

 private:
  milliseconds time_left() const {
    if (options_.repeat_count > 0 && polls_ >= options_.repeat_count) return milliseconds::max();
    return std::chrono::ceil<milliseconds>(*due_ - s_.clock.steady());
  }

  async<Result<void>> query() {
    ++polls_;
    const Value nothing;
    const Exchange empty;
    const EvalScope scope{s_.env, {}, {}};
    const SqlInput input{nothing, empty, scope, options_.separator};
    Result<sql::Command> command = bind_sql(options_.query, input);
    due_ = s_.clock.steady() + options_.delay;
    if (!command) co_return std::move(command.error());
    Result<sql::Rows> rows =
        co_await s_.database.execute(std::move(command->sql), std::move(command->params));
    due_ = s_.clock.steady() + options_.delay;
    if (!rows) co_return std::move(rows.error());
    size_t count = rows->rows.size();
    if (options_.messages_per_poll_max > 0) count = std::min(count, options_.messages_per_poll_max);
    if (options_.greedy && count > 0) due_ = s_.clock.steady();
    total_ = index_ = 0;
    if (options_.use_iterator) {
      for (size_t i = 0; i < count; ++i) rows_.emplace_back(rows->object(i));
    } else if (count > 0 || options_.route_empty) {
      List list;
      for (size_t i = 0; i < count; ++i) list.emplace_back(rows->object(i));
      rows_.emplace_back(std::move(list));
    }
    total_ = rows_.size();
    co_return Result<void>();
  }

  Exchange next() {
    current_ = std::move(rows_.front());
    rows_.pop_front();
    Exchange exchange;
    exchange.message.body = current_;
    exchange.properties.set("CamelBatchIndex", static_cast<int64_t>(index_++));
    exchange.properties.set("CamelBatchSize", static_cast<int64_t>(total_));
    exchange.properties.set("CamelBatchComplete", rows_.empty());
    return exchange;
  }

  async<Result<void>> consume(Receipt& receipt) {
    if (receipt.outcome == Outcome::released) co_return Result<void>();
    const bool done = receipt.outcome == Outcome::done;
    const std::optional<SqlText>& text = done ? options_.on_consume : options_.on_consume_failed;
    if (!text) co_return Result<void>();
    Result<int64_t> count = co_await execute(*text, current_, receipt.exchange);
    if (!count) co_return std::move(count.error());
    if (options_.expected_update_count >= 0 && *count != options_.expected_update_count)
      co_return Error(ErrorKind::rejected, "expected " +
                                               std::to_string(options_.expected_update_count) +
                                               " rows to be changed after consuming, but it were " +
                                               std::to_string(*count));
    co_return Result<void>();
  }

  async<Result<int64_t>> execute(const SqlText& text, const Value& row, const Exchange& exchange) {
    const EvalScope scope{s_.env, {}, {}};
    const SqlInput input{row, exchange, scope, options_.separator};
    Result<sql::Command> command = bind_sql(text, input);
    if (!command) co_return std::move(command.error());
    Result<sql::Rows> rows =
        co_await s_.database.execute(std::move(command->sql), std::move(command->params));
    if (!rows) co_return std::move(rows.error());
    co_return rows->affected;
  }

  SqlServices s_;
  SqlOptions options_;
  std::unique_ptr<Alarm> alarm_;
  std::deque<Value> rows_;  // of this poll, not handed out
  Value current_;           // the row under way
  size_t index_ = 0;
  size_t total_ = 0;
  int64_t polls_ = 0;
  std::optional<SteadyTime> due_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Consumer> make_consumer(const SqlServices& services, const SqlOptions& options) {
  return std::make_unique<SqlConsumer>(services, options);
}

}  // namespace drom::sqlc
