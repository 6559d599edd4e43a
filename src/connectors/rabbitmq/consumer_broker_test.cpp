// The consumer against a real broker.
#include "connectors/rabbitmq/rabbitmq_fixture.hpp"

namespace drom::testing {
namespace {

class RabbitConsumerTest : public RabbitTest {
 protected:
  void SetUp() override {
    RabbitTest::SetUp();
    queue_ = fresh("q");
  }
  void TearDown() override {
    if (peer) peer->remove(queue_);
  }
  std::unique_ptr<Consumer> simple_consumer(Options more = {}) {
    more.emplace_back("queues", queue_);
    return consumer("default", std::move(more));
  }
  static Exchange failed(Exchange exchange, ErrorKind kind) {
    exchange.fail(Error(kind, "on purpose"));
    return exchange;
  }
  std::string queue_;
};

TEST_F(RabbitConsumerTest, DeclaresBindsAndTakesInOrder) {
  const std::string exchange = fresh("ev");
  const auto from = consumer(exchange, {{"queues", queue_},
                                        {"exchangeType", "topic"},
                                        {"routingKey", "a.*,b"},
                                        {"arg.queue.x-queue-type", "quorum"},
                                        {"arg.exchange.autoDelete", "true"}});
  rabbitmq::Outgoing properties;
  properties.message_id = "m1";
  properties.type = "T";
  properties.timestamp_s = 1704164645;
  properties.headers.set("n", Value(3));
  for (const char* key : {"a.x", "c", "b"}) peer->publish(exchange, key, key, properties);
  Batch batch = polled(*from, 2);
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(body_of(batch[0]), "a.x");
  EXPECT_EQ(body_of(batch[1]), "b");
  const Headers& headers = batch[0].message.headers;
  EXPECT_EQ(headers.text("rabbitmq.exchange"), exchange);
  EXPECT_EQ(headers.text("rabbitmq.routingKey"), "a.x");
  EXPECT_EQ(headers.text("rabbitmq.messageId"), "m1");
  EXPECT_EQ(headers.text("rabbitmq.type"), "T");
  EXPECT_EQ(*headers.find("rabbitmq.redelivered"), Value(false));
  EXPECT_EQ(*headers.find("n"), Value(3));
  EXPECT_EQ(batch[0].pattern, ExchangePattern::in_only);
  settle(*from, std::move(batch));
  close(*from);
  EXPECT_EQ(peer->count(queue_), 0U);
}

TEST_F(RabbitConsumerTest, AcknowledgesOutOfOrderAndGivesBackTheRestAtTheEnd) {
  const auto from = simple_consumer({{"prefetchCount", "100"}});
  for (int i = 0; i < 100; ++i) peer->publish("", queue_, std::to_string(i));
  Batch batch = polled(*from, 100);
  ASSERT_EQ(batch.size(), 100U);
  std::vector<Receipt> odd, some;
  for (size_t i = 0; i < 100; ++i) {
    if (i % 2 == 1) odd.push_back(Receipt{std::move(batch[i]), Outcome::done});
    if (i % 2 == 0 && i < 50) some.push_back(Receipt{std::move(batch[i]), Outcome::done});
  }
  EXPECT_TRUE(harness.run(from->settle(std::move(odd))).ok());
  EXPECT_TRUE(harness.run(from->settle(std::move(some))).ok());
  close(*from);
  EXPECT_TRUE(until([&] { return peer->count(queue_) == 25; }));
  EXPECT_EQ(get(queue_)->message.body.raw(), "50");
}

TEST_F(RabbitConsumerTest, NoMoreThanThePrefetchIsHandedOut) {
  const auto from = simple_consumer({{"prefetchCount", "10"}});
  for (int i = 0; i < 30; ++i) peer->publish("", queue_, std::to_string(i));
  Batch batch = polled(*from, 10);
  EXPECT_EQ(from->traits().window, 10U);
  EXPECT_TRUE(until([&] { return peer->count(queue_) == 20; }));
  settle(*from, std::move(batch));
  Batch next = polled(*from, 10);
  EXPECT_EQ(body_of(next[0]), "10");
  close(*from);
}

TEST_F(RabbitConsumerTest, AFailedMessageComesAgainAfterItsPause) {
  const auto from = simple_consumer({{"requeueDelay", "50ms"}});
  peer->publish("", queue_, "x");
  for (int i = 0; i < 3; ++i) {
    Batch batch = polled(*from, 1);
    ASSERT_EQ(batch.size(), 1U);
    EXPECT_EQ(*batch[0].message.headers.find("rabbitmq.redelivered"), Value(i > 0));
    settle(*from, failed(std::move(batch[0]), ErrorKind::transient), Outcome::failed);
  }
  settle(*from, polled(*from, 1));
  close(*from);
  EXPECT_EQ(peer->count(queue_), 0U);
}

TEST_F(RabbitConsumerTest, QuorumQueuesCountDeliveries) {
  const auto from =
      simple_consumer({{"requeueDelay", "10ms"}, {"arg.queue.x-queue-type", "quorum"}});
  peer->publish("", queue_, "x");
  Batch first = polled(*from, 1);
  settle(*from, failed(std::move(first[0]), ErrorKind::transient), Outcome::failed);
  Batch second = polled(*from, 1);
  ASSERT_TRUE(second[0].message.headers.find("rabbitmq.deliveryCount"));
  EXPECT_EQ(*second[0].message.headers.find("rabbitmq.deliveryCount"), Value(1));
  settle(*from, std::move(second));
  close(*from);
}

TEST_F(RabbitConsumerTest, WhatCannotSucceedGoesToTheDeadLetters) {
  const std::string dead = fresh("dead");
  const auto from = simple_consumer({{"deadLetterExchange", dead},
                                     {"deadLetterQueue", dead},
                                     {"deadLetterRoutingKey", "gone"},
                                     {"requeueDelay", "10ms"}});
  peer->publish("", queue_, "poison");
  Batch batch = polled(*from, 1);
  settle(*from, failed(std::move(batch[0]), ErrorKind::data), Outcome::failed);
  const std::optional<Got> got = get(dead);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->message.body.raw(), "poison");
  EXPECT_NE(got->message.headers.find("x-death"), nullptr);
  // What may succeed later comes again.
  peer->publish("", queue_, "later");
  Batch later = polled(*from, 1);
  settle(*from, failed(std::move(later[0]), ErrorKind::transient), Outcome::failed);
  Batch again = polled(*from, 1);
  EXPECT_EQ(body_of(again[0]), "later");
  settle(*from, std::move(again));
  close(*from);
  peer->remove(dead);
}

TEST_F(RabbitConsumerTest, WithoutDeadLettersNothingIsLost) {
  const auto from = simple_consumer({{"requeueDelay", "10ms"}});
  peer->publish("", queue_, "poison");
  Batch batch = polled(*from, 1);
  settle(*from, failed(std::move(batch[0]), ErrorKind::data), Outcome::failed);
  Batch again = polled(*from, 1);
  EXPECT_EQ(body_of(again[0]), "poison");
  EXPECT_TRUE(harness.captured.contains("deadLetterExchange"));
  close(*from);
  EXPECT_TRUE(until([&] { return peer->count(queue_) == 1; }));
}

TEST_F(RabbitConsumerTest, C32AStaleTagIsDroppedAndTheNewChannelStaysOpen) {
  FaultProxy proxy(place.port);
  const auto from = simple_consumer({{"prefetchCount", "10"}, {"addresses", address_of(proxy)}});
  for (int i = 0; i < 10; ++i) peer->publish("", queue_, std::to_string(i));
  Batch old = polled(*from, 10);
  proxy.cut();
  Result<Batch> lost = harness.run(from->poll(10));
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().kind, ErrorKind::not_connected);
  harness.run(from->close());
  ASSERT_TRUE(harness.run(from->open()).ok());
  settle(*from, std::move(old));  // with tags of the connection before
  Batch again = polled(*from, 10);
  ASSERT_EQ(again.size(), 10U);
  for (const Exchange& exchange : again)
    EXPECT_EQ(*exchange.message.headers.find("rabbitmq.redelivered"), Value(true));
  settle(*from, std::move(again));
  peer->publish("", queue_, "after");
  Batch after = polled(*from, 1);
  EXPECT_EQ(body_of(after[0]), "after");
  settle(*from, std::move(after));
  close(*from);
  EXPECT_EQ(peer->count(queue_), 0U);
}

TEST_F(RabbitConsumerTest, C33ADeletedQueueIsSubscribedAgainWhenItIsThere) {
  peer->queue(queue_);
  const auto from = simple_consumer({{"autoDeclare", "false"}});
  peer->remove(queue_);
  Result<Batch> cancelled = harness.run(from->poll(10));
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().kind, ErrorKind::not_connected);
  EXPECT_NE(cancelled.error().message().find("cancelled"), std::string::npos);
  harness.run(from->close());
  const Result<void> missing = harness.run(from->open());
  ASSERT_FALSE(missing.ok());
  EXPECT_TRUE(missing.error().retryable());
  EXPECT_NE(missing.error().message().find(queue_), std::string::npos);
  harness.run(from->close());
  peer->queue(queue_);
  peer->publish("", queue_, "m1");
  ASSERT_TRUE(harness.run(from->open()).ok());
  Batch batch = polled(*from, 1);
  EXPECT_EQ(body_of(batch[0]), "m1");
  settle(*from, std::move(batch));
  close(*from);
}

TEST_F(RabbitConsumerTest, HeartbeatsKeepAnIdleConnectionAndNoticeADeadOne) {
  FaultProxy proxy(place.port);
  const auto from = simple_consumer({{"heartbeat", "1s"}, {"addresses", address_of(proxy)}});
  harness.run(clock->sleep(milliseconds(3500)));  // the broker would have closed it
  peer->publish("", queue_, "x");
  settle(*from, polled(*from, 1));
  EXPECT_EQ(proxy.connections(), 1U);
  proxy.set({ProxyMode::blackhole});
  const Result<Batch> dead = harness.run(from->poll(1));
  ASSERT_FALSE(dead.ok());
  EXPECT_EQ(dead.error().kind, ErrorKind::not_connected);
  proxy.heal();
  close(*from);
}

TEST_F(RabbitConsumerTest, SeveralQueuesFeedOneConsumer) {
  const std::string other = fresh("other");
  const auto from = consumer("default", {{"queues", queue_ + "," + other}});
  peer->publish("", queue_, "1");
  peer->publish("", other, "2");
  Batch batch = polled(*from, 2);
  std::set<std::string> bodies = {body_of(batch[0]), body_of(batch[1])};
  EXPECT_EQ(bodies, (std::set<std::string>{"1", "2"}));
  settle(*from, std::move(batch));
  close(*from);
  peer->remove(other);
}

TEST_F(RabbitConsumerTest, LargeAndEmptyBodiesPass) {
  const auto from = simple_consumer();
  const auto to = producer("default", {{"routingKey", queue_}});
  const std::string large(10 * 1024 * 1024, 'x');
  EXPECT_FALSE(sent(*to, exchange_of(Value(large))).failed());
  EXPECT_FALSE(sent(*to, exchange_of(Value())).failed());
  Batch batch = polled(*from, 2);
  EXPECT_EQ(batch[0].message.body.raw().size(), large.size());
  EXPECT_EQ(batch[1].message.body.raw(), "");
  settle(*from, std::move(batch));
  close(*from);
  close(*to);
}

TEST_F(RabbitConsumerTest, ARequestIsAnsweredByDirectReplyTo) {
  const auto from = simple_consumer();
  const auto to = producer("default", {{"routingKey", queue_}, {"replyTimeout", "10s"}});
  Batch requests;
  for (const char* body : {"a", "b"}) {
    requests.push_back(exchange_of(Value(body)));
    requests.back().pattern = ExchangePattern::in_out;
  }
  Scope scope = harness.scope();
  bool ended = false;
  const auto go = [](Producer& p, Batch& b, Scope& s, bool& done) -> async<> {
    co_await p.run(b, s);
    done = true;
  };
  harness.spawn(go(*to, requests, scope, ended));
  Batch asked = polled(*from, 2);
  // Answered in the other order.
  for (size_t i : {1, 0}) {
    EXPECT_EQ(asked[i].pattern, ExchangePattern::in_out);
    asked[i].message.body = Value("re: " + body_of(asked[i]));
    asked[i].message.headers.set("by", Value(static_cast<int>(i)));
    settle(*from, std::move(asked[i]));
  }
  ASSERT_TRUE(until([&] { return ended; }));
  for (size_t i : {0, 1}) {
    ASSERT_FALSE(requests[i].failed()) << error_of(requests[i]);
    EXPECT_EQ(*requests[i].message.headers.find("by"), Value(static_cast<int>(i)));
  }
  EXPECT_EQ(body_of(requests[0]), "re: a");
  EXPECT_EQ(body_of(requests[1]), "re: b");
  close(*from);
  close(*to);
}

TEST_F(RabbitConsumerTest, ARequestThatNobodyAnswersTimesOut) {
  peer->queue(queue_);
  const auto to = producer("default", {{"routingKey", queue_}, {"replyTimeout", "100ms"}});
  Exchange request = exchange_of(Value("?"));
  request.pattern = ExchangePattern::in_out;
  request = sent(*to, std::move(request));
  ASSERT_TRUE(request.failed());
  EXPECT_EQ(request.error->kind, ErrorKind::timeout);
  EXPECT_NE(error_of(request).find("reply"), std::string::npos);
  // The connection is as good as before.
  EXPECT_FALSE(sent(*to, exchange_of(Value("!"))).failed());
  close(*to);
}

}  // namespace
}  // namespace drom::testing
