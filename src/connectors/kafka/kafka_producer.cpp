// The target: sends through a client of its own, or through the transactional clients of the
// engine.
#include "connectors/kafka/kafka_endpoint.hpp"

namespace drom::kafka {
namespace {

constexpr milliseconds kFlush{30'000};

class KafkaProducer final : public Producer {
 public:
  KafkaProducer(const Services& services, const Options& options, ClientSettings settings)
      : s_(services),
        options_(options),
        sender_(std::make_unique<Sender>(services, options.uri, std::move(settings), Settings())) {}

  async<Result<void>> open() override { co_return sender_->open(); }
  bool pipelines() const override { return true; }
  bool defers_in_transaction() const override { return options_.transacted; }

  async<> run(Batch& batch, Scope& scope) override {
    if (!sender_->is_open() || sender_->broken()) {
      Result<void> opened = co_await reopen();
      if (!opened) {
        for (Exchange& exchange : batch) exchange.fail(opened.error());
        co_return;
      }
    }
    co_await sender_->send(batch, options_, scope);
  }

  async<> close() override { co_await sender_->close(kFlush); }

 private:
  // One at a time; the others find it done.
  async<Result<void>> reopen() {
    while (reopening_) co_await reopened_.wait(s_.clock, milliseconds::max());
    if (sender_->is_open() && !sender_->broken()) co_return Result<void>();
    reopening_ = true;
    if (sender_->is_open()) co_await sender_->close(milliseconds(0));
    Result<void> opened = sender_->open();
    reopening_ = false;
    reopened_.ring_all();
    co_return opened;
  }

  Services s_;
  Options options_;
  std::unique_ptr<Sender> sender_;
  WaitList reopened_;
  bool reopening_ = false;
};

class TransactionalProducer final : public Producer {
 public:
  TransactionalProducer(const Options& options, ClientSettings settings,
                        std::shared_ptr<Transactions> transactions)
      : options_(options), settings_(std::move(settings)), transactions_(std::move(transactions)) {
    transactions_->want();
  }

  bool defers_in_transaction() const override { return options_.transacted; }
  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch)
      co_await transactions_->send(exchange, options_, settings_, scope);
  }
  // The clients belong to all endpoints; whoever closes first closes them, and use opens them anew.
  async<> close() override { co_await transactions_->close(); }

 private:
  Options options_;
  ClientSettings settings_;
  std::shared_ptr<Transactions> transactions_;
};

}  // namespace

std::unique_ptr<Producer> make_producer(const Services& services, const Options& options,
                                        ClientSettings settings,
                                        std::shared_ptr<Transactions> transactions) {
  if (options.transaction_prefix.empty())
    return std::make_unique<KafkaProducer>(services, options, std::move(settings));
  return std::make_unique<TransactionalProducer>(options, std::move(settings),
                                                 std::move(transactions));
}

}  // namespace drom::kafka
