#include "connectors/seda/seda.hpp"

#include <gtest/gtest.h>

#include "support/endpoints.hpp"

namespace drom {
namespace {

using std::chrono::seconds;
using testing::Harness;
using testing::make_endpoint;
using testing::Options;
using testing::send;
using testing::try_endpoint;

class Seda : public ::testing::Test {
 protected:
  Seda() { register_seda(harness.registry()); }

  std::unique_ptr<Endpoint> endpoint(Options more = {}) {
    more.emplace_back("name", "q");
    return make_endpoint(harness, "seda", more);
  }
  std::unique_ptr<Consumer> open_consumer(Endpoint& target) {
    std::unique_ptr<Consumer> consumer = target.make_consumer().value();
    EXPECT_TRUE(harness.run(consumer->open()).ok());
    return consumer;
  }
  Exchange push(Producer& producer, Value body,
                ExchangePattern pattern = ExchangePattern::in_only) {
    Exchange exchange(Message{std::move(body), {}}, pattern);
    send(harness, producer, exchange);
    return exchange;
  }
  Batch poll(Consumer& consumer, size_t max = 10) {
    Result<Batch> polled = harness.run(consumer.poll(max));
    return std::move(polled).value();
  }
  void settle(Consumer& consumer, Exchange exchange, Outcome outcome) {
    std::vector<Receipt> receipts;
    receipts.push_back(Receipt{std::move(exchange), outcome});
    EXPECT_TRUE(harness.run(consumer.settle(std::move(receipts))).ok());
  }

  Harness harness;
};

// Takes one exchange after `delay`, answers it.
async<> answer_one(Consumer& consumer, Clock& clock, milliseconds delay, bool fail) {
  Result<Batch> polled = co_await consumer.poll(1);
  co_await clock.sleep(delay);
  Exchange exchange = std::move(polled->front());
  exchange.message.body = exchange.message.body.to_text() + "!";
  exchange.properties.set("done", true);
  if (fail) exchange.fail(Error(ErrorKind::rejected, "no"));
  std::vector<Receipt> receipts;
  receipts.push_back(Receipt{std::move(exchange), fail ? Outcome::failed : Outcome::done});
  Result<void> settled = co_await consumer.settle(std::move(receipts));
  EXPECT_TRUE(settled.ok());
}

TEST_F(Seda, HandsOverCopiesInOrderAndInBatches) {
  auto target = endpoint();
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  Exchange first(Message{Value("a"), {}});
  first.message.headers.set("h", 1);
  UnitOfWork* const unit = reinterpret_cast<UnitOfWork*>(0x10);
  first.unit = unit;
  first.depth = 7;
  send(harness, *producer, first);
  first.message.body = "changed later";
  push(*producer, "b");
  push(*producer, "c");
  Batch batch = poll(*consumer, 2);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].message.body, Value("a"));
  EXPECT_EQ(batch[0].unit, nullptr);
  EXPECT_EQ(batch[0].depth, 0);
  EXPECT_EQ(*batch[0].message.headers.find("h"), Value(1));
  EXPECT_EQ(batch[1].message.body, Value("b"));
  EXPECT_EQ(first.unit, unit);
  EXPECT_EQ(poll(*consumer).size(), 1u);
}

TEST_F(Seda, WakesAWaitingConsumer) {
  auto target = endpoint();
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  harness.spawn(answer_one(*consumer, harness.clock(), seconds(0), false));
  harness.settle();
  const Exchange reply = push(*producer, "ping", ExchangePattern::in_out);
  EXPECT_EQ(reply.message.body, Value("ping!"));
  EXPECT_NE(reply.properties.find("done"), nullptr);
  EXPECT_TRUE(reply.running());
}

TEST_F(Seda, HandsTheErrorOfTheReceivingRouteToAWaitingSender) {
  auto target = endpoint({{"waitForTaskToComplete", "Always"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  harness.spawn(answer_one(*consumer, harness.clock(), seconds(0), true));
  const Exchange reply = push(*producer, "ping");
  ASSERT_TRUE(reply.failed());
  EXPECT_EQ(reply.error->kind, ErrorKind::rejected);
  EXPECT_EQ(reply.message.body, Value("ping"));
}

TEST_F(Seda, IgnoresAnAnswerThatComesAfterTheTimeout) {  // C45, the same kind of fault
  auto target = endpoint({{"timeout", "5s"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  harness.spawn(answer_one(*consumer, harness.clock(), seconds(9), false));
  const Exchange reply = push(*producer, "ping", ExchangePattern::in_out);
  ASSERT_TRUE(reply.failed());
  EXPECT_EQ(reply.error->kind, ErrorKind::timeout);
  harness.advance(seconds(20));
  EXPECT_EQ(reply.message.body, Value("ping"));
  EXPECT_EQ(reply.properties.find("done"), nullptr);
}

TEST_F(Seda, WithdrawsWhatNobodyHasStartedWhenTheSenderGivesUp) {
  auto target = endpoint({{"timeout", "5s"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  EXPECT_TRUE(push(*producer, "ping", ExchangePattern::in_out).failed());
  consumer->stop();
  EXPECT_TRUE(poll(*consumer).empty());
}

TEST_F(Seda, NeverWaitsWhenToldSo) {
  auto target = endpoint({{"waitForTaskToComplete", "Never"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  EXPECT_TRUE(push(*producer, "x", ExchangePattern::in_out).running());
  EXPECT_EQ(poll(*consumer)[0].pattern, ExchangePattern::in_only);
}

TEST_F(Seda, FailsWhenTheQueueIsFull) {
  auto target = endpoint({{"size", "2"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  push(*producer, "a");
  push(*producer, "b");
  const Exchange third = push(*producer, "c");
  ASSERT_TRUE(third.failed());
  EXPECT_EQ(third.error->kind, ErrorKind::transient);
  EXPECT_EQ(third.error->what, "the queue 'seda:q' is full");
  EXPECT_EQ(poll(*consumer).size(), 2u);
}

TEST_F(Seda, DropsWhatDoesNotFitWhenAskedTo) {
  auto target = endpoint({{"size", "1"}, {"discardWhenFull", "true"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  push(*producer, "a");
  EXPECT_TRUE(push(*producer, "b").running());
  EXPECT_EQ(poll(*consumer).size(), 1u);
}

TEST_F(Seda, BlocksUntilThereIsRoom) {
  auto target = endpoint({{"size", "1"}, {"blockWhenFull", "true"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  push(*producer, "a");
  Batch blocked;
  blocked.emplace_back(Message{Value("b"), {}});
  Scope scope = harness.scope();
  bool sent = false;
  harness.spawn([](Producer& p, Batch& b, Scope& s, bool& done) -> async<> {
    co_await p.run(b, s);
    done = true;
  }(*producer, blocked, scope, sent));
  harness.advance(seconds(60));
  EXPECT_FALSE(sent);
  EXPECT_EQ(poll(*consumer)[0].message.body, Value("a"));
  harness.settle();
  EXPECT_TRUE(sent);
  EXPECT_EQ(poll(*consumer)[0].message.body, Value("b"));
}

TEST_F(Seda, GivesUpBlockingAfterTheOfferTimeout) {
  auto target = endpoint({{"size", "1"}, {"blockWhenFull", "true"}, {"offerTimeout", "2s"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  push(*producer, "a");
  const Exchange second = push(*producer, "b");
  ASSERT_TRUE(second.failed());
  EXPECT_EQ(second.error->kind, ErrorKind::transient);
  EXPECT_EQ(harness.manual_clock.steady().time_since_epoch(), seconds(2));
}

TEST_F(Seda, EndsABlockedSendWhenTheProducerCloses) {
  auto target = endpoint({{"size", "1"}, {"blockWhenFull", "true"}});
  auto producer = target->make_producer().value();
  push(*producer, "a");
  Batch blocked;
  blocked.emplace_back(Message{Value("b"), {}});
  Scope scope = harness.scope();
  harness.spawn(producer->run(blocked, scope));
  harness.settle();
  harness.run(producer->close());
  harness.settle();
  ASSERT_TRUE(blocked[0].failed());
  EXPECT_EQ(blocked[0].error->kind, ErrorKind::cancelled);
}

TEST_F(Seda, WorksOffTheQueueAfterStopAndThenAnswersEmpty) {
  auto target = endpoint();
  auto consumer = open_consumer(*target);
  EXPECT_TRUE(consumer->traits().internal);
  auto producer = target->make_producer().value();
  push(*producer, "a");
  push(*producer, "b");
  consumer->stop();
  consumer->stop();
  EXPECT_EQ(poll(*consumer, 1).size(), 1u);
  EXPECT_EQ(poll(*consumer, 1).size(), 1u);
  EXPECT_TRUE(poll(*consumer, 1).empty());
}

TEST_F(Seda, PurgesAtStopWhenAskedTo) {
  auto target = endpoint({{"purgeWhenStopping", "true"}});
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  push(*producer, "a");
  consumer->stop();
  EXPECT_TRUE(poll(*consumer).empty());
}

TEST_F(Seda, GivesReleasedMessagesAgainInTheirOrder) {
  auto target = endpoint();
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  for (const char* body : {"a", "b", "c"}) push(*producer, body);
  Batch batch = poll(*consumer, 2);
  batch[0].fail(Error(ErrorKind::cancelled, "stopping"));
  std::vector<Receipt> receipts;
  for (Exchange& exchange : batch)
    receipts.push_back(Receipt{std::move(exchange), Outcome::released});
  ASSERT_TRUE(harness.run(consumer->settle(std::move(receipts))).ok());
  Batch again = poll(*consumer);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[0].message.body, Value("a"));
  EXPECT_TRUE(again[0].running());
  EXPECT_EQ(again[1].message.body, Value("b"));
  EXPECT_EQ(again[2].message.body, Value("c"));
}

TEST_F(Seda, DoesNotRepeatAFailedMessage) {
  auto target = endpoint();
  auto consumer = open_consumer(*target);
  auto producer = target->make_producer().value();
  push(*producer, "a");
  Batch batch = poll(*consumer);
  settle(*consumer, std::move(batch[0]), Outcome::failed);
  consumer->stop();
  EXPECT_TRUE(poll(*consumer).empty());
}

TEST_F(Seda, GivesEveryConsumerACopyWithMultipleConsumers) {
  auto target = endpoint({{"multipleConsumers", "true"}});
  auto one = open_consumer(*target);
  auto two = open_consumer(*target);
  EXPECT_TRUE(target->verify().ok());
  auto producer = target->make_producer().value();
  push(*producer, "a");
  EXPECT_EQ(poll(*one)[0].message.body, Value("a"));
  EXPECT_EQ(poll(*two)[0].message.body, Value("a"));
}

TEST_F(Seda, TakesTwoRoutesOnOneQueueForAMistakeOtherwise) {
  auto target = endpoint();
  auto one = open_consumer(*target);
  auto two = open_consumer(*target);
  ASSERT_FALSE(target->verify().ok());
}

TEST_F(Seda, TreatsMissingConsumersAsConfigured) {
  auto failing = endpoint({{"failIfNoConsumers", "true"}});
  auto producer = failing->make_producer().value();
  EXPECT_FALSE(failing->verify().ok());
  EXPECT_TRUE(push(*producer, "a").failed());
  auto discarding = endpoint({{"discardIfNoConsumers", "true"}});
  auto quiet = discarding->make_producer().value();
  EXPECT_TRUE(push(*quiet, "a").running());
  auto consumer = open_consumer(*discarding);
  consumer->stop();
  EXPECT_TRUE(poll(*consumer).empty());
}

TEST_F(Seda, DefersInATransactionUnlessAReplyIsWaitedFor) {
  EXPECT_TRUE(endpoint()->make_producer().value()->defers_in_transaction());
  EXPECT_FALSE(
      endpoint({{"transacted", "false"}})->make_producer().value()->defers_in_transaction());
  EXPECT_FALSE(endpoint({{"waitForTaskToComplete", "Always"}})
                   ->make_producer()
                   .value()
                   ->defers_in_transaction());
}

TEST_F(Seda, RefusesContradictingOptions) {
  const auto refused = [&](Options options) {
    options.emplace_back("name", "x");
    return !try_endpoint(harness, "seda", options).ok();
  };
  EXPECT_TRUE(refused({{"blockWhenFull", "true"}, {"discardWhenFull", "true"}}));
  EXPECT_TRUE(refused({{"failIfNoConsumers", "true"}, {"discardIfNoConsumers", "true"}}));
  EXPECT_TRUE(refused({{"concurrentConsumers", "501"}}));
  EXPECT_FALSE(refused({{"concurrentConsumers", "501"}, {"limitConcurrentConsumers", "false"}}));
  EXPECT_FALSE(refused({{"size", "5"}}));
  EXPECT_TRUE(refused({{"size", "6"}}));
}

}  // namespace
}  // namespace drom
