#include "connectors/direct/direct.hpp"

#include <gtest/gtest.h>

#include "support/endpoints.hpp"

namespace drom {
namespace {

using testing::Harness;
using testing::make_endpoint;
using testing::send;

// The body of a route as the engine would run it.
class FakeRoute final : public RouteEntry {
 public:
  explicit FakeRoute(std::function<void(Exchange&)> body, std::string id = "called")
      : body_(std::move(body)), id_(std::move(id)) {}
  std::string_view route_id() const override { return id_; }
  async<> run(Exchange& exchange) override {
    ++calls;
    body_(exchange);
    co_return;
  }
  int calls = 0;

 private:
  std::function<void(Exchange&)> body_;
  std::string id_;
};

class Direct : public ::testing::Test {
 protected:
  Direct() { register_direct(harness.registry()); }

  std::unique_ptr<Endpoint> endpoint(std::string name, testing::Options more = {}) {
    more.emplace_back("name", std::move(name));
    return make_endpoint(harness, "direct", more);
  }

  Harness harness;
};

TEST_F(Direct, GivesTheCallerTheMessageThatTheCalledRouteLeavesBehind) {
  auto target = endpoint("x");
  auto consumer = target->make_inline_consumer();
  FakeRoute route([](Exchange& e) {
    EXPECT_EQ(e.depth, 1);
    e.message.body = e.message.body.to_text() + "!";
    e.properties.set("seen", true);
  });
  ASSERT_TRUE(consumer->attach(route).ok());
  auto producer = target->make_producer().value();
  Exchange exchange(Message{"hello", {}}, ExchangePattern::in_out);
  UnitOfWork* const unit = reinterpret_cast<UnitOfWork*>(0x10);
  exchange.unit = unit;
  send(harness, *producer, exchange);
  EXPECT_EQ(exchange.message.body, Value("hello!"));
  EXPECT_NE(exchange.properties.find("seen"), nullptr);
  EXPECT_EQ(exchange.unit, unit);
  EXPECT_EQ(exchange.depth, 0);
}

TEST_F(Direct, GoesOnAfterAStopInsideTheCalledRoute) {
  auto target = endpoint("x");
  auto consumer = target->make_inline_consumer();
  FakeRoute route([](Exchange& e) { e.stop(); });
  ASSERT_TRUE(consumer->attach(route).ok());
  auto producer = target->make_producer().value();
  Exchange exchange;
  send(harness, *producer, exchange);
  EXPECT_TRUE(exchange.running());
}

TEST_F(Direct, HandsAnUnhandledErrorToTheCallerWithItsExhaustedMark) {
  auto target = endpoint("x");
  auto consumer = target->make_inline_consumer();
  FakeRoute route([](Exchange& e) {
    e.fail(Error(ErrorKind::rejected, "no"));
    e.error_exhausted = true;
  });
  ASSERT_TRUE(consumer->attach(route).ok());
  auto producer = target->make_producer().value();
  Exchange exchange;
  send(harness, *producer, exchange);
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::rejected);
  EXPECT_TRUE(exchange.error_exhausted);
}

TEST_F(Direct, RefusesToNestWithoutEnd) {
  auto target = endpoint("loop");
  auto consumer = target->make_inline_consumer();
  FakeRoute route([](Exchange&) {});
  ASSERT_TRUE(consumer->attach(route).ok());
  auto producer = target->make_producer().value();
  Exchange exchange;
  exchange.depth = 100;
  send(harness, *producer, exchange);
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::config);
  EXPECT_NE(exchange.error->what.find("100 levels"), std::string::npos);
  EXPECT_EQ(route.calls, 0);
}

TEST_F(Direct, SaysAtLoadTimeThatNoRouteStartsWithTheName) {
  auto near = endpoint("validate-order");
  auto consumer = near->make_inline_consumer();
  auto wrong = endpoint("validate-ordr");
  auto producer = wrong->make_producer().value();
  EXPECT_TRUE(near->verify().ok());
  Result<void> checked = wrong->verify();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().what, "no route starts with 'direct:validate-ordr'");
  EXPECT_NE(checked.error().hint.find("direct:validate-order"), std::string::npos);
}

TEST_F(Direct, TakesTwoRoutesWithOneNameForAMistake) {
  auto target = endpoint("x");
  auto first = target->make_inline_consumer();
  auto second = target->make_inline_consumer();
  EXPECT_FALSE(target->verify().ok());
  FakeRoute a([](Exchange&) {}, "a"), b([](Exchange&) {}, "b");
  ASSERT_TRUE(first->attach(a).ok());
  Result<void> attached = second->attach(b);
  ASSERT_FALSE(attached.ok());
  EXPECT_EQ(attached.error().what, "the routes 'a' and 'b' both start with 'direct:x'");
}

TEST_F(Direct, LetsMessagesPassWhenMissingConsumersAreAllowed) {
  auto target = endpoint("nobody", {{"failIfNoConsumers", "false"}});
  auto producer = target->make_producer().value();
  EXPECT_TRUE(target->verify().ok());
  Exchange exchange(Message{"x", {}});
  send(harness, *producer, exchange);
  EXPECT_TRUE(exchange.running());
  EXPECT_EQ(exchange.message.body, Value("x"));
}

TEST_F(Direct, WaitsForARouteThatIsStillStarting) {
  auto target = endpoint("late", {{"timeout", "5s"}});
  auto consumer = target->make_inline_consumer();
  auto producer = target->make_producer().value();
  FakeRoute route([](Exchange& e) { e.message.body = "done"; });
  Batch batch;
  batch.emplace_back();
  Scope scope = harness.scope();
  harness.spawn(producer->run(batch, scope));
  harness.advance(std::chrono::seconds(3));
  ASSERT_TRUE(consumer->attach(route).ok());
  harness.settle();
  EXPECT_EQ(batch[0].message.body, Value("done"));
}

TEST_F(Direct, GivesUpWaitingAfterTheTimeout) {
  auto target = endpoint("late", {{"timeout", "5s"}});
  auto consumer = target->make_inline_consumer();
  auto producer = target->make_producer().value();
  Exchange exchange;
  send(harness, *producer, exchange);
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::not_connected);
  EXPECT_EQ(harness.manual_clock.steady().time_since_epoch(), std::chrono::seconds(5));
}

TEST_F(Direct, FailsAtOnceAtRunTimeForANameThatNoRouteHas) {
  auto target = endpoint("unknown");
  auto producer = target->make_producer().value();
  Exchange exchange;
  send(harness, *producer, exchange);
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::config);
  EXPECT_EQ(harness.manual_clock.steady().time_since_epoch(), std::chrono::seconds(0));
}

}  // namespace
}  // namespace drom
