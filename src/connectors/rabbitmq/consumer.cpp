#include <deque>
#include <unordered_map>

#include "connectors/rabbitmq/consumer_link.hpp"
#include "connectors/rabbitmq/ends.hpp"

namespace drom::rabbitmq {
namespace {

constexpr size_t kPollMax = 64;
// Above the tag: which connection it belongs to. Tags start at 1 on each.
constexpr int kEpochShift = 48;
constexpr uint64_t kTagMask = (uint64_t{1} << kEpochShift) - 1;

bool cannot_succeed(ErrorKind kind) {
  return kind == ErrorKind::data || kind == ErrorKind::rejected || kind == ErrorKind::config ||
         kind == ErrorKind::bug;
}

class RabbitConsumer final : public Consumer {
 public:
  RabbitConsumer(EndpointOptions options, BuildContext& context)
      : options_(options.consumer),
        uri_(options.uri),
        env_(context.env()),
        clock_(context.clock()),
        log_(context.log()),
        alarm_(clock_.make_alarm()),
        link_(context.io(), std::move(options), [this] { alarm_->ring(); }) {}

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.in_flight_max = options_.concurrent;
    traits.window = options_.prefetch;
    traits.poll_max = std::max(std::min<size_t>(kPollMax, options_.prefetch), options_.concurrent);
    return traits;
  }

  async<Result<void>> open() override {
    stopped_ = false;
    held_.clear();
    asked_.clear();
    epoch_ = (epoch_ + 1) & 0xFFFF;
    Result<void> opened = co_await link_.open();
    co_return opened;
  }

  async<Result<Batch>> poll(size_t max) override {
    while (!stopped_) {
      put_back_due();
      Result<std::vector<Delivery>> taken = link_.take(max);
      if (!taken) co_return taken.error();
      if (!taken->empty()) {
        Batch batch = to_batch(std::move(*taken));
        co_return batch;
      }
      const milliseconds limit = until_next();
      co_await alarm_->wait(limit);
    }
    co_return Batch();
  }

  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    std::vector<Settlement> now;
    for (const Receipt& receipt : receipts) {
      const uint64_t delivery = receipt.exchange.delivery;
      // A tag of an earlier connection: its message is with the broker again.
      if (delivery >> kEpochShift != epoch_) continue;
      const uint64_t tag = delivery & kTagMask;
      switch (receipt.outcome) {
        case Outcome::done: now.push_back({tag, Verdict::ack, reply_of(tag, receipt)}); break;
        case Outcome::released: now.push_back({tag, Verdict::requeue, {}}); break;
        case Outcome::failed: settle_failed(tag, receipt.exchange, now); break;
      }
    }
    link_.settle(std::move(now));
    co_return Result<void>();
  }

  void stop() override {
    stopped_ = true;
    alarm_->ring();
  }

  async<> close() override {
    std::vector<Settlement> rest;
    for (const Held& held : held_) rest.push_back({held.tag, Verdict::requeue, {}});
    held_.clear();
    link_.settle(std::move(rest));
    co_await link_.close();
  }

 private:
  struct Held {
    SteadyTime due;
    uint64_t tag;
  };

  struct Asked {
    std::string reply_to;
    std::string correlation_id;
  };

  Batch to_batch(std::vector<Delivery> deliveries) {
    Batch batch;
    batch.reserve(deliveries.size());
    for (Delivery& delivery : deliveries) {
      Exchange exchange(std::move(delivery.message));
      exchange.delivery = epoch_ << kEpochShift | delivery.tag;
      if (!delivery.reply_to.empty()) {
        exchange.pattern = ExchangePattern::in_out;
        asked_[delivery.tag] = {std::move(delivery.reply_to), std::move(delivery.correlation_id)};
      }
      batch.push_back(std::move(exchange));
    }
    return batch;
  }

  // The message that the route leaves behind, for who has asked.
  std::optional<Outgoing> reply_of(uint64_t tag, const Receipt& receipt) {
    auto asked = asked_.extract(tag);
    if (asked.empty()) return std::nullopt;
    ProducerOptions options;
    options.persistent = false;
    const EvalScope scope{env_, {}, {}};
    Result<Outgoing> reply = to_wire(receipt.exchange, options, scope, clock_.wall());
    if (!reply) {
      log_.warn("rabbitmq", uri_ + ": a reply cannot be sent: " + reply.error().message());
      return std::nullopt;
    }
    reply->routing_key = std::move(asked.mapped().reply_to);
    if (!asked.mapped().correlation_id.empty())
      reply->correlation_id = std::move(asked.mapped().correlation_id);
    return std::move(*reply);
  }

  void settle_failed(uint64_t tag, const Exchange& exchange, std::vector<Settlement>& now) {
    const bool hopeless = exchange.error && cannot_succeed(exchange.error->kind);
    const bool reject =
        options_.rejects == Rejects::always ||
        (options_.rejects == Rejects::by_kind && hopeless && options_.has_dead_letters);
    if (reject) {
      now.push_back({tag, Verdict::reject, {}});
      return;
    }
    if (hopeless && !warned_) {
      warned_ = true;
      log_.warn("rabbitmq", uri_ + ": a message that cannot succeed is put back and comes again; " +
                                "give deadLetterExchange, or the route a dead letter channel");
    }
    held_.push_back({clock_.steady() + options_.requeue_delay, tag});
    alarm_->ring();
  }

  void put_back_due() {
    std::vector<Settlement> due;
    const SteadyTime now = clock_.steady();
    while (!held_.empty() && held_.front().due <= now) {
      due.push_back({held_.front().tag, Verdict::requeue, {}});
      held_.pop_front();
    }
    link_.settle(std::move(due));
  }

  milliseconds until_next() const {
    if (held_.empty()) return milliseconds::max();
    const auto left = std::chrono::ceil<milliseconds>(held_.front().due - clock_.steady());
    return std::max(left, milliseconds(1));
  }

  ConsumerOptions options_;
  std::string uri_;
  const EvalEnv& env_;
  Clock& clock_;
  Log& log_;
  std::unique_ptr<Alarm> alarm_;
  uint64_t epoch_ = 0;
  std::deque<Held> held_;                      // failed messages before they are put back
  std::unordered_map<uint64_t, Asked> asked_;  // by tag
  bool stopped_ = false;
  bool warned_ = false;
  ConsumerLink link_;
};

}  // namespace

std::unique_ptr<Consumer> make_consumer(EndpointOptions options, BuildContext& context) {
  return std::make_unique<RabbitConsumer>(std::move(options), context);
}

}  // namespace drom::rabbitmq
