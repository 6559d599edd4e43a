#include "connectors/stub/stub.hpp"

#include <gtest/gtest.h>

#include "support/endpoints.hpp"

namespace drom {
namespace {

using testing::Harness;
using testing::make_endpoint;
using testing::Options;
using testing::send;

class Stub : public ::testing::Test {
 protected:
  Stub() { register_stub(harness.registry()); }
  std::unique_ptr<Endpoint> endpoint(Options more = {}) {
    more.emplace_back("name", "kafka:orders");
    return make_endpoint(harness, "stub", more);
  }
  Exchange push(Producer& producer, Value body) {
    Exchange exchange(Message{std::move(body), {}});
    send(harness, producer, exchange);
    return exchange;
  }
  Harness harness;
};

TEST_F(Stub, TakesAnyParametersAndKeepsNothing) {
  auto target = endpoint({{"brokers", "nowhere:9092"}, {"groupId", "g"}});
  EXPECT_TRUE(target->verify().ok());
  auto producer = target->make_producer().value();
  EXPECT_TRUE(push(*producer, "a").running());
  auto consumer = target->make_consumer().value();
  consumer->stop();
  EXPECT_TRUE(harness.run(consumer->poll(5)).value().empty());
}

TEST_F(Stub, HandsOverToARouteThatStartsWithTheSameStub) {
  auto target = endpoint();
  auto consumer = target->make_consumer().value();
  auto producer = target->make_producer().value();
  push(*producer, "a");
  push(*producer, "b");
  Batch batch = harness.run(consumer->poll(5)).value();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[1].message.body, Value("b"));
}

TEST_F(Stub, IsBounded) {
  auto target = endpoint({{"stubSize", "1"}});
  auto consumer = target->make_consumer().value();
  auto producer = target->make_producer().value();
  push(*producer, "a");
  const Exchange refused = push(*producer, "b");
  ASSERT_TRUE(refused.failed());
  EXPECT_EQ(refused.error->kind, ErrorKind::transient);
}

TEST_F(Stub, EndsAWaitingPollAtTheStop) {
  auto target = endpoint();
  auto consumer = target->make_consumer().value();
  bool returned = false;
  harness.spawn([](Consumer& c, bool& done) -> async<> {
    Result<Batch> polled = co_await c.poll(1);
    EXPECT_TRUE(polled.ok() && polled->empty());
    done = true;
  }(*consumer, returned));
  harness.settle();
  EXPECT_FALSE(returned);
  consumer->stop();
  harness.settle();
  EXPECT_TRUE(returned);
}

}  // namespace
}  // namespace drom
