// The producer against a real broker.
#include "connectors/rabbitmq/rabbitmq_fixture.hpp"

namespace drom::testing {
namespace {

class RabbitProducerTest : public RabbitTest {
 protected:
  void SetUp() override {
    RabbitTest::SetUp();
    if (!peer) return;
    exchange_ = fresh("ev");
    queue_ = fresh("q");
    peer->exchange(exchange_, "topic");
    peer->queue(queue_);
  }
  void TearDown() override {
    if (peer) peer->remove(queue_);
  }
  std::string exchange_;
  std::string queue_;
};

TEST_F(RabbitProducerTest, SendsWithPropertiesAndTypedHeaders) {
  peer->bind(queue_, exchange_, "order.#");
  const auto to = producer(exchange_, {{"routingKey", "order.${header.region}"},
                                       {"messageId", "m-${header.region}"},
                                       {"type", "OrderPlaced"},
                                       {"contentType", "application/json"},
                                       {"correlationId", "c1"},
                                       {"replyTo", "answers"},
                                       {"expiration", "60000"},
                                       {"priority", "5"}});
  Headers headers;
  headers.set("region", Value("eu"));
  headers.set("count", Value(7));
  headers.set("good", Value(true));
  headers.set("raw", Value(Bytes(std::string("\xff\0", 2))));
  headers.set("none", Value());
  headers.set("list", Value(List{Value(1), Value("two")}));
  headers.set("kafka.topic", Value("not sent on"));
  headers.set("CC", Value(List{Value("elsewhere")}));
  headers.set("X-API-Key", Value("secret"));
  headers.set("Set-Cookie", Value("session=1"));
  const Exchange done = sent(*to, exchange_of(Value("{}"), headers));
  EXPECT_FALSE(done.failed()) << error_of(done);
  const std::optional<Got> got = get(queue_);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->message.body.raw(), "{}");
  const Headers& in = got->message.headers;
  EXPECT_EQ(in.text("rabbitmq.messageId"), "m-eu");
  EXPECT_EQ(in.text("rabbitmq.type"), "OrderPlaced");
  EXPECT_EQ(in.text("rabbitmq.contentType"), "application/json");
  EXPECT_EQ(in.text("rabbitmq.correlationId"), "c1");
  EXPECT_EQ(in.text("rabbitmq.replyTo"), "answers");
  EXPECT_EQ(in.text("rabbitmq.expiration"), "60000");
  EXPECT_EQ(*in.find("rabbitmq.priority"), Value(5));
  EXPECT_EQ(*in.find("rabbitmq.persistent"), Value(true));
  EXPECT_EQ(*in.find("count"), Value(7));
  EXPECT_EQ(*in.find("good"), Value(true));
  ASSERT_TRUE(in.find("raw")->is_bytes());
  EXPECT_EQ(in.text("raw"), std::string_view("\xff\0", 2));
  EXPECT_TRUE(in.find("none")->is_null());
  EXPECT_EQ(*in.find("list"), Value(List{Value(1), Value("two")}));
  EXPECT_EQ(in.find("kafka.topic"), nullptr);
  EXPECT_EQ(in.find("CC"), nullptr);
  EXPECT_EQ(in.find("X-API-Key"), nullptr);
  EXPECT_EQ(in.find("Set-Cookie"), nullptr);
  close(*to);
}

TEST_F(RabbitProducerTest, ThousandsAreConfirmedInOrderThroughASmallWindow) {
  peer->bind(queue_, exchange_, "#");
  const auto to = producer(exchange_, {{"routingKey", "k"}, {"confirmWindow", "50"}});
  Batch batch;
  for (int i = 0; i < 3000; ++i) batch.push_back(exchange_of(Value(std::to_string(i))));
  run(*to, batch);
  for (const Exchange& exchange : batch) ASSERT_FALSE(exchange.failed()) << error_of(exchange);
  EXPECT_TRUE(until([&] { return peer->count(queue_) == 3000; }));
  for (int i = 0; i < 3000; ++i) {
    const std::optional<Got> got = peer->get(queue_);
    ASSERT_TRUE(got) << i;
    ASSERT_EQ(got->message.body.raw(), std::to_string(i));
  }
  close(*to);
}

TEST_F(RabbitProducerTest, C29AMessageRefusedHereDoesNotShiftTheConfirms) {
  peer->bind(queue_, exchange_, "#");
  const auto to =
      producer(exchange_, {{"routingKey", "k"}, {"correlationId", "${header.correlation}"}});
  Batch batch;
  for (const size_t length : {1, 256, 3}) {
    Headers headers;
    headers.set("correlation", Value(std::string(length, 'c')));
    batch.push_back(exchange_of(Value(std::to_string(length)), headers));
  }
  run(*to, batch);
  EXPECT_FALSE(batch[0].failed()) << error_of(batch[0]);
  EXPECT_FALSE(batch[2].failed()) << error_of(batch[2]);
  ASSERT_TRUE(batch[1].failed());
  EXPECT_EQ(batch[1].error->kind, ErrorKind::data);
  EXPECT_NE(error_of(batch[1]).find(exchange_), std::string::npos) << error_of(batch[1]);
  EXPECT_NE(error_of(batch[1]).find("256"), std::string::npos) << error_of(batch[1]);
  EXPECT_EQ(get(queue_)->message.body.raw(), "1");
  EXPECT_EQ(get(queue_)->message.body.raw(), "3");
  // The next one is confirmed as itself.
  const Exchange next = sent(*to, exchange_of(Value("next")));
  EXPECT_FALSE(next.failed()) << error_of(next);
  close(*to);
}

TEST_F(RabbitProducerTest, C30AnUnroutableMessageFailsAndOnlyThatOne) {
  peer->bind(queue_, exchange_, "good");
  const auto to = producer(exchange_, {{"routingKey", "${header.key}"}});
  Batch batch;
  for (int i = 0; i < 200; ++i) {
    Headers headers;
    headers.set("key", Value(i % 7 == 3 ? "a.b" : "good"));
    batch.push_back(exchange_of(Value(std::to_string(i)), headers));
  }
  run(*to, batch);
  size_t failed = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(batch[static_cast<size_t>(i)].failed(), i % 7 == 3) << i;
    if (i % 7 != 3) continue;
    ++failed;
    EXPECT_EQ(batch[static_cast<size_t>(i)].error->kind, ErrorKind::rejected);
    EXPECT_NE(error_of(batch[static_cast<size_t>(i)]).find("312"), std::string::npos);
  }
  EXPECT_EQ(peer->count(queue_), 200 - failed);
  // Sent again when there is a binding, it arrives once.
  peer->bind(queue_, exchange_, "a.b");
  const size_t before = peer->count(queue_);
  Headers headers;
  headers.set("key", Value("a.b"));
  EXPECT_FALSE(sent(*to, exchange_of(Value("3"), headers)).failed());
  EXPECT_EQ(peer->count(queue_), before + 1);
  close(*to);
}

TEST_F(RabbitProducerTest, UnroutableMessagesAreParkedOrDroppedWhenToldSo) {
  const std::string parked = fresh("parked");
  const auto park = producer(
      exchange_, {{"routingKey", "nowhere"}, {"unroutable", "park"}, {"parkQueue", parked}});
  const Exchange kept = sent(*park, exchange_of(Value("kept")));
  EXPECT_FALSE(kept.failed()) << error_of(kept);
  const std::optional<Got> got = get(parked);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->message.body.raw(), "kept");
  EXPECT_EQ(got->message.headers.text("x-unroutable-routing-key"), "nowhere");
  EXPECT_EQ(got->message.headers.text("x-unroutable-exchange"), exchange_);
  // And where that queue has gone too, it is an error after all.
  peer->remove(parked);
  EXPECT_TRUE(sent(*park, exchange_of(Value("kept"))).failed());
  close(*park);

  const auto drop = producer(exchange_, {{"routingKey", "nowhere"}, {"unroutable", "drop"}});
  EXPECT_FALSE(sent(*drop, exchange_of(Value("gone"))).failed());
  close(*drop);
}

TEST_F(RabbitProducerTest, AFullQueueThatRejectsIsTransient) {
  const std::string full = fresh("full");
  Headers arguments;
  arguments.set("x-max-length", Value(1));
  arguments.set("x-overflow", Value("reject-publish"));
  peer->queue(full, arguments);
  const auto to = producer("default", {{"routingKey", full}});
  Batch batch;
  for (int i = 0; i < 5; ++i) batch.push_back(exchange_of(Value("x")));
  run(*to, batch);
  EXPECT_FALSE(batch[0].failed()) << error_of(batch[0]);
  ASSERT_TRUE(batch[4].failed());
  EXPECT_EQ(batch[4].error->kind, ErrorKind::transient);
  close(*to);
  peer->remove(full);
}

TEST_F(RabbitProducerTest, WhatWasNotConfirmedWhenTheConnectionBreaksFailsAndCanBeSentAgain) {
  peer->bind(queue_, exchange_, "#");
  FaultProxy proxy(place.port);
  const auto to = producer(exchange_, {{"routingKey", "k"}, {"addresses", address_of(proxy)}});
  EXPECT_FALSE(sent(*to, exchange_of(Value("before"))).failed());
  proxy.set({ProxyMode::mute});
  Batch batch;
  for (int i = 0; i < 10; ++i) batch.push_back(exchange_of(Value(std::to_string(i))));
  Scope scope = harness.scope();
  bool ended = false;
  const auto go = [](Producer& p, Batch& b, Scope& s, bool& done) -> async<> {
    co_await p.run(b, s);
    done = true;
  };
  harness.spawn(go(*to, batch, scope, ended));
  ASSERT_TRUE(until([&] { return peer->count(queue_) == 11; }));
  EXPECT_FALSE(ended);
  proxy.cut();
  proxy.heal();
  ASSERT_TRUE(until([&] { return ended; }));
  for (const Exchange& exchange : batch) {
    ASSERT_TRUE(exchange.failed());
    EXPECT_EQ(exchange.error->kind, ErrorKind::transient);
    EXPECT_NE(error_of(exchange).find("not known"), std::string::npos) << error_of(exchange);
  }
  const Exchange again = sent(*to, exchange_of(Value("again")));
  EXPECT_FALSE(again.failed()) << error_of(again);
  EXPECT_TRUE(harness.captured.contains("the connection is lost"));
  close(*to);
}

TEST_F(RabbitProducerTest, ABrokerThatConfirmsNothingIsATimeoutAndTheConnectionIsMadeAnew) {
  peer->bind(queue_, exchange_, "#");
  FaultProxy proxy(place.port);
  const auto to = producer(
      exchange_,
      {{"routingKey", "k"}, {"addresses", address_of(proxy)}, {"confirmTimeout", "300ms"}});
  proxy.set({ProxyMode::mute});
  const Exchange slow = sent(*to, exchange_of(Value("slow")));
  ASSERT_TRUE(slow.failed());
  EXPECT_EQ(slow.error->kind, ErrorKind::timeout);
  proxy.heal();
  Exchange next;
  ASSERT_TRUE(until([&] {
    next = sent(*to, exchange_of(Value("next")));
    return !next.failed();
  })) << error_of(next);
  close(*to);
}

TEST_F(RabbitProducerTest, DeclaresItsExchangeAtEveryConnect) {
  const std::string own = fresh("own");
  FaultProxy proxy(place.port);
  const auto to = producer(own, {{"exchangeType", "fanout"},
                                 {"autoDeclareProducer", "true"},
                                 {"addresses", address_of(proxy)}});
  peer->bind(queue_, own, "");
  EXPECT_FALSE(sent(*to, exchange_of(Value("1"))).failed());
  proxy.cut();
  Exchange next;
  ASSERT_TRUE(until([&] {
    next = sent(*to, exchange_of(Value("2")));
    return !next.failed();
  })) << error_of(next);
  close(*to);
}

TEST_F(RabbitProducerTest, AMissingExchangeIsTransientAndDoesNotHammer) {
  FaultProxy proxy(place.port);
  const auto to =
      producer(fresh("missing"), {{"routingKey", "k"}, {"addresses", address_of(proxy)}});
  for (int i = 0; i < 50; ++i) {
    const Exchange exchange = sent(*to, exchange_of(Value("x")));
    ASSERT_TRUE(exchange.failed());
    EXPECT_EQ(exchange.error->kind, ErrorKind::transient);
    EXPECT_NE(error_of(exchange).find("404"), std::string::npos) << error_of(exchange);
  }
  EXPECT_LE(proxy.connections(), 10U);
  close(*to);
}

}  // namespace
}  // namespace drom::testing
