// The source: records out of the subscription's window become exchanges, one each or a batch of
// them, and what the route makes of them goes back into the window.
#include <unordered_map>

#include "connectors/kafka/kafka_endpoint.hpp"
#include "connectors/kafka/kafka_message.hpp"

namespace drom::kafka {
namespace {

using Fate = PartitionWindow::Fate;

constexpr size_t kPollMax = 256;
constexpr uint64_t kBatchBit = uint64_t{1} << 63;  // a delivery that stands for several records

const rd_kafka_message_t& record_of(const PartitionWindow::Taken& taken) {
  return *static_cast<KeptRecord*>(taken.payload)->record;
}

class KafkaConsumer final : public Consumer {
 public:
  KafkaConsumer(const Services& services, const Options& options, ClientSettings settings,
                std::shared_ptr<Transactions> transactions, SourceLagBoard& board)
      : s_(services),
        options_(options),
        news_(s_.clock.make_alarm()),
        transactions_(std::move(transactions)),
        board_(board),
        subscription_(s_, options_, std::move(settings), [this] { news_->ring(); }) {}
  KafkaConsumer(const KafkaConsumer&) = delete;
  KafkaConsumer& operator=(const KafkaConsumer&) = delete;

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.keyed = true;
    traits.in_flight_max = options_.consumers;
    if (options_.batch_max > 0) return traits;
    traits.poll_max = std::min(kPollMax, options_.window);
    traits.window = options_.window;
    return traits;
  }

  async<Result<void>> open() override {
    stopped_ = false;
    Result<void> opened = co_await subscription_.open();
    if (opened) board_.add(this, options_.uri, [this] { return subscription_.lags(); });
    co_return opened;
  }

  async<Result<Batch>> poll(size_t max) override {
    const SteadyTime deadline = s_.clock.steady() + options_.poll_timeout;
    while (!stopped_) {
      if (std::optional<Error> told = subscription_.told()) co_return std::move(*told);
      Batch batch = options_.batch_max > 0 ? co_await next_batch() : hand_out(max);
      if (!batch.empty()) co_return batch;
      const SteadyTime now = s_.clock.steady();
      if (now >= deadline) {
        if (std::optional<Error> trouble = subscription_.trouble()) co_return std::move(*trouble);
        break;
      }
      if (!stopped_) co_await news_->wait(std::chrono::ceil<milliseconds>(deadline - now));
    }
    co_return Batch();
  }

  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    for (const Receipt& receipt : receipts) {
      if (receipt.exchange.delivery & kBatchBit) {
        co_await settle_batch(receipt);
      } else {
        std::vector<uint64_t> handles = {receipt.exchange.delivery};
        co_await settle_records(handles, receipt, receipt.exchange.delivery);
      }
    }
    subscription_.settled();
    co_return Result<void>();
  }

  void stop() override {
    stopped_ = true;
    news_->ring();
  }

  async<> close() override {
    board_.remove(this);
    co_await subscription_.close();
    batches_.clear();
    tickets_.clear();
  }

 private:
  std::vector<PartitionWindow::Taken>& take(size_t max) {
    taken_.clear();
    PartitionWindow& window = subscription_.window();
    window.take(max, s_.clock.steady(), taken_);
    if (!taken_.empty()) return taken_;
    subscription_.drain();
    window.take(max, s_.clock.steady(), taken_);
    return taken_;
  }

  Batch hand_out(size_t max) {
    Batch batch;
    const std::vector<PartitionWindow::Taken>& taken = take(max);
    batch.reserve(taken.size());
    for (const PartitionWindow::Taken& one : taken) {
      const rd_kafka_message_t& record = record_of(one);
      Exchange exchange = to_exchange(record);
      exchange.delivery = one.handle;
      // Without a key there is no order to keep but that of a partition, and that only where
      // records would be worked on at once. A transaction goes from one offset to the next.
      const bool by_partition = transactions_->wanted();
      if (by_partition || (exchange.key.empty() && options_.consumers > 1))
        exchange.key = std::string(1, '\0') + std::to_string(one.partition);
      if (transactions_->wanted()) give_ticket(exchange, {one.handle});
      batch.push_back(std::move(exchange));
    }
    return batch;
  }

  // Waits until a batch is full, if that was asked for. Nothing is taken from the window before.
  async<Batch> next_batch() {
    PartitionWindow& window = subscription_.window();
    if (options_.batch_wait.count() > 0 && window.ready(s_.clock.steady())) {
      const SteadyTime deadline = s_.clock.steady() + options_.batch_wait;
      while (!stopped_ && window.held() - window.out() < options_.batch_max) {
        subscription_.drain();
        const SteadyTime now = s_.clock.steady();
        if (now >= deadline || window.failing() > 0) break;
        if (window.held() - window.out() >= options_.batch_max) break;
        co_await news_->wait(std::chrono::ceil<milliseconds>(deadline - now));
      }
    }
    Batch batch;
    if (!stopped_) make_batch(batch);
    co_return batch;
  }

  void make_batch(Batch& batch) {
    const std::vector<PartitionWindow::Taken>& taken = take(options_.batch_max);
    if (taken.empty()) return;
    List bodies;
    List records;
    std::vector<uint64_t> handles;
    bodies.reserve(taken.size());
    handles.reserve(taken.size());
    for (const PartitionWindow::Taken& one : taken) {
      const rd_kafka_message_t& record = record_of(one);
      bodies.push_back(body_of(record));
      if (options_.record_metadata) records.push_back(describe(record));
      handles.push_back(one.handle);
    }
    Message message;
    message.headers.append(kBatchSize, Value(static_cast<int64_t>(bodies.size())));
    message.headers.append(kTopic, Value(rd_kafka_topic_name(record_of(taken.front()).rkt)));
    if (options_.record_metadata) message.headers.append(kRecords, Value(std::move(records)));
    message.body = Value(std::move(bodies));
    Exchange exchange(std::move(message));
    exchange.delivery = kBatchBit | ++last_batch_;
    if (transactions_->wanted()) {
      exchange.key = "batch";  // one transaction after the other
      give_ticket(exchange, handles);
    }
    batches_.emplace(exchange.delivery, std::move(handles));
    batch.push_back(std::move(exchange));
  }

  void give_ticket(Exchange& exchange, std::vector<uint64_t> handles) {
    const uint64_t ticket = transactions_->give_ticket(subscription_, std::move(handles));
    exchange.properties.set(kTicket, Value(static_cast<int64_t>(ticket)));
    tickets_.emplace(exchange.delivery, ticket);
  }

  async<> settle_batch(const Receipt& receipt) {
    auto node = batches_.extract(receipt.exchange.delivery);
    if (node.empty()) co_return;
    co_await settle_records(node.mapped(), receipt, receipt.exchange.delivery);
  }

  async<> settle_records(const std::vector<uint64_t>& handles, const Receipt& receipt,
                         uint64_t delivery) {
    Fate fate = receipt.outcome == Outcome::done     ? Fate::done
                : receipt.outcome == Outcome::failed ? Fate::failed
                                                     : Fate::released;
    const auto ticket = tickets_.extract(delivery);
    if (!ticket.empty()) {
      const Transactions::Verdict verdict =
          co_await transactions_->settle(ticket.mapped(), fate == Fate::done);
      if (verdict == Transactions::Verdict::committed) co_return;
      if (verdict == Transactions::Verdict::undone && fate == Fate::done) fate = Fate::failed;
    }
    const Error* error = receipt.exchange.error.get();
    for (const uint64_t handle : handles) {
      subscription_.settle(handle, fate, error);
      error = nullptr;  // once for a batch
    }
  }

  Services s_;
  Options options_;
  std::unique_ptr<Alarm> news_;
  std::shared_ptr<Transactions> transactions_;
  SourceLagBoard& board_;
  std::vector<PartitionWindow::Taken> taken_;  // scratch
  std::unordered_map<uint64_t, std::vector<uint64_t>> batches_;
  std::unordered_map<uint64_t, uint64_t> tickets_;  // by delivery
  uint64_t last_batch_ = 0;
  bool stopped_ = false;
  Subscription subscription_;  // last: it calls back
};

}  // namespace

std::unique_ptr<Consumer> make_consumer(const Services& services, const Options& options,
                                        ClientSettings settings,
                                        std::shared_ptr<Transactions> transactions,
                                        SourceLagBoard& board) {
  return std::make_unique<KafkaConsumer>(services, options, std::move(settings),
                                         std::move(transactions), board);
}

}  // namespace drom::kafka
