#include "connectors/seda/seda_endpoint.hpp"

namespace drom::seda {
namespace {

class SedaProducer final : public Producer {
 public:
  SedaProducer(Queue& queue, Options options) : queue_(queue), options_(std::move(options)) {}

  bool defers_in_transaction() const override {
    return options_.transacted && options_.wait != WaitForReply::always;
  }
  async<Result<void>> open() override {
    closed_ = false;
    co_return Result<void>();
  }
  async<> close() override {
    closed_ = true;
    queue_.space.ring_all();
    co_return;
  }

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      if (queue_.declared() == 0 && no_consumer(exchange)) continue;
      if (queue_.full()) {
        Result<bool> room = co_await make_room(scope.clock);
        if (!room) {
          exchange.fail(std::move(room.error()));
          continue;
        }
        if (!*room) continue;  // discarded
      }
      if (waits_for_reply(exchange)) {
        co_await request(exchange, scope.clock);
      } else {
        queue_.push(Item{detached_copy(exchange, ExchangePattern::in_only), nullptr});
      }
    }
  }

 private:
  // True when the exchange is done with: discarded or failed.
  bool no_consumer(Exchange& exchange) const {
    if (options_.fail_if_no_consumers)
      exchange.fail(Error(ErrorKind::not_connected,
                          "no route consumes 'seda:" + options_.name + "'",
                          "add a route with `from: seda:" + options_.name + "`"));
    return options_.fail_if_no_consumers || options_.discard_if_no_consumers;
  }

  bool waits_for_reply(const Exchange& exchange) const {
    if (options_.wait == WaitForReply::always) return true;
    return options_.wait == WaitForReply::if_expected &&
           exchange.pattern == ExchangePattern::in_out;
  }

  // The queue is full. True: there is room now. False: the message is to be discarded.
  async<Result<bool>> make_room(Clock& clock) {
    if (options_.discard_when_full) co_return false;
    if (!options_.block_when_full)
      co_return Error(ErrorKind::transient, "the queue 'seda:" + options_.name + "' is full",
                      "raise size, use blockWhenFull, or add concurrentConsumers");
    const bool limited = options_.offer_timeout > milliseconds(0);
    const SteadyTime deadline = clock.steady() + options_.offer_timeout;
    while (queue_.full()) {
      if (closed_)
        co_return Error(ErrorKind::cancelled,
                        "stopped while waiting for room in 'seda:" + options_.name + "'");
      milliseconds left = milliseconds::max();
      if (limited) left = std::chrono::ceil<milliseconds>(deadline - clock.steady());
      if (left <= milliseconds(0))
        co_return Error(
            ErrorKind::transient,
            "no room in 'seda:" + options_.name + "' within " + to_string(options_.offer_timeout),
            "raise size or offerTimeout, or add concurrentConsumers");
      co_await queue_.space.wait(clock, left);
    }
    co_return true;
  }

  // The receiving route works on a copy, outside the sender's unit of work: it may still run when
  // the sender's transaction is long over.
  static Exchange detached_copy(const Exchange& exchange, ExchangePattern pattern) {
    Exchange copy = exchange.copy();
    copy.unit = nullptr;
    copy.original = nullptr;
    copy.depth = 0;
    copy.delivery = 0;
    copy.pattern = pattern;
    return copy;
  }

  async<> request(Exchange& exchange, Clock& clock) {
    const auto reply = std::make_shared<Reply>();
    reply->alarm = clock.make_alarm();
    queue_.push(Item{detached_copy(exchange, ExchangePattern::in_out), reply});
    const bool limited = options_.timeout > milliseconds(0);
    const milliseconds timeout = limited ? options_.timeout : milliseconds::max();
    co_await reply->alarm->wait(timeout);
    if (reply->pending > 0) {
      // Nobody may write into this exchange any more: a late answer finds no one.
      reply->pending = 0;
      queue_.withdraw(*reply);
      exchange.fail(
          Error(ErrorKind::timeout,
                "no reply from 'seda:" + options_.name + "' within " + to_string(options_.timeout),
                "raise timeout, or send without waiting (waitForTaskToComplete=Never)"));
      co_return;
    }
    if (reply->failure) {
      exchange.fail(std::move(*reply->failure));
      co_return;
    }
    Exchange& answer = *reply->answer;
    if (answer.failed()) {
      exchange.fail(std::move(*answer.error));
      co_return;
    }
    exchange.message = std::move(answer.message);
    exchange.properties = std::move(answer.properties);
  }

  Queue& queue_;
  Options options_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Producer> make_producer(Queue& queue, const Options& options) {
  return std::make_unique<SedaProducer>(queue, options);
}

}  // namespace drom::seda
