#include <unordered_map>

#include "connectors/seda/seda_endpoint.hpp"

namespace drom::seda {
namespace {

// Exchanges handed over in one poll; they run in order, so this only saves wake-ups.
constexpr size_t kPollMax = 64;

class SedaConsumer final : public Consumer {
 public:
  SedaConsumer(Queue& queue, Options options, Clock& clock)
      : queue_(queue),
        options_(std::move(options)),
        clock_(clock),
        inbox_(queue.subscribe(options_.multiple_consumers)) {}
  SedaConsumer(const SedaConsumer&) = delete;
  SedaConsumer& operator=(const SedaConsumer&) = delete;
  ~SedaConsumer() override { queue_.unsubscribe(inbox_); }

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.in_flight_max = options_.concurrent_consumers;
    traits.poll_max = std::max(kPollMax, options_.concurrent_consumers);
    traits.internal = true;
    return traits;
  }
  async<Result<void>> open() override {
    stopped_ = false;
    co_return Result<void>();
  }

  // After stop() it goes on handing out what is queued, then answers with an empty batch.
  async<Result<Batch>> poll(size_t max) override {
    while (inbox_->items.empty() && !stopped_)
      co_await inbox_->consumers.wait(clock_, milliseconds::max());
    Batch batch;
    while (!inbox_->items.empty() && batch.size() < max) {
      Item item = std::move(inbox_->items.front());
      inbox_->items.pop_front();
      item.exchange.delivery = ++deliveries_;
      if (item.reply) replies_.emplace(deliveries_, std::move(item.reply));
      batch.push_back(std::move(item.exchange));
      queue_.space.ring_one();
    }
    co_return batch;
  }

  // A failed exchange is the error handler's matter: it is not queued again, as in Camel.
  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    // Released ones go back to the front; backwards, so that they keep their order.
    for (auto it = receipts.rbegin(); it != receipts.rend(); ++it)
      if (it->outcome == Outcome::released) give_back(std::move(it->exchange));
    for (Receipt& receipt : receipts) {
      if (receipt.outcome == Outcome::released) continue;
      if (const auto reply = take_reply(receipt.exchange.delivery))
        reply->answered(std::move(receipt.exchange));
    }
    co_return Result<void>();
  }

  void stop() override {
    stopped_ = true;
    if (options_.purge_when_stopping) purge();
    inbox_->consumers.ring_all();
  }
  async<> close() override { co_return; }

 private:
  void give_back(Exchange exchange) {
    std::shared_ptr<Reply> reply = take_reply(exchange.delivery);
    if (stopped_ && options_.purge_when_stopping) {
      if (reply) reply->failed(purged());
      return;
    }
    exchange.flow = Flow::running;
    exchange.error.reset();
    exchange.error_exhausted = false;
    inbox_->items.push_front(Item{std::move(exchange), std::move(reply)});
  }
  void purge() {
    for (const Item& item : inbox_->items)
      if (item.reply) item.reply->failed(purged());
    inbox_->items.clear();
    queue_.space.ring_all();
  }
  std::shared_ptr<Reply> take_reply(uint64_t delivery) {
    auto node = replies_.extract(delivery);
    return node.empty() ? nullptr : std::move(node.mapped());
  }
  Error purged() const {
    return Error(ErrorKind::cancelled, "'seda:" + options_.name + "' was purged while stopping");
  }

  Queue& queue_;
  Options options_;
  Clock& clock_;
  std::shared_ptr<Inbox> inbox_;
  std::unordered_map<uint64_t, std::shared_ptr<Reply>> replies_;
  uint64_t deliveries_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Consumer> make_consumer(Queue& queue, const Options& options, Clock& clock) {
  return std::make_unique<SedaConsumer>(queue, options, clock);
}

}  // namespace drom::seda
