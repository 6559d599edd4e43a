#include "connectors/mock/mock.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/endpoints.hpp"

namespace drom {
namespace {

using testing::Harness;
using testing::make_endpoint;
using testing::Options;
using testing::send;

class MockComponent : public ::testing::Test {
 protected:
  MockComponent() { register_mock(harness.registry()); }

  Mock& mock() { return mocks(harness.registry()).get("result"); }
  void make(Options options = {}) {
    options.emplace_back("name", "result");
    endpoint = make_endpoint(harness, "mock", options);
    producer = endpoint->make_producer().value();
  }
  Exchange push(Value body) {
    Exchange exchange(Message{std::move(body), {}});
    exchange.message.headers.set("kind", "order");
    if (!producer) make();
    send(harness, *producer, exchange);
    return exchange;
  }

  Harness harness;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Producer> producer;
};

TEST_F(MockComponent, IsContentWithoutExpectations) {
  EXPECT_TRUE(mock().satisfied());
  push("x");
  EXPECT_TRUE(mock().satisfied());
  EXPECT_EQ(mock().count(), 1u);
}

TEST_F(MockComponent, SaysWhatIsMissing) {
  mock().expect_count(2);
  mock().expect_minimum_count(2);
  mock().expect_bodies({"a", "b"});
  push("a");
  EXPECT_EQ(mock().problems(), (std::vector<std::string>{"expected 2 messages, got 1",
                                                         "expected at least 2 messages, got 1",
                                                         "expected 2 bodies, got 1"}));
  push("b");
  EXPECT_TRUE(mock().satisfied());
  EXPECT_TRUE(mocks(harness.registry()).problems().empty());
}

TEST_F(MockComponent, ComparesBodiesInOrderOrInAny) {
  push("b");
  push("a");
  mock().expect_bodies({"a", "b"});
  EXPECT_EQ(mock().problems().front(), "body of message 0: expected \"a\", got \"b\"");
  mock().reset();
  push("b");
  push("a");
  mock().expect_bodies_in_any_order({"a", "b"});
  EXPECT_TRUE(mock().satisfied());
  mock().expect_bodies_in_any_order({"a", "a"});
  EXPECT_EQ(mock().problems(), std::vector<std::string>{"no message has the body \"a\""});
}

TEST_F(MockComponent, ComparesHeadersPropertiesAndPredicates) {
  push("x");
  mock().expect_header("KIND", "order");
  mock().expect_message(0, "has a text",
                        [](const Exchange& e) { return e.message.body.is_text(); });
  EXPECT_TRUE(mock().satisfied());
  mock().expect_property("p", 1);
  mock().expect_message(1, "is there", [](const Exchange&) { return true; });
  EXPECT_EQ(mock().problems(),
            (std::vector<std::string>{"message 0: not true that it has property p = 1",
                                      "message 1 has not come"}));
}

TEST_F(MockComponent, TakesExpectationsAsData) {
  Object headers, expected;
  headers.set("kind", "order");
  expected.set("count", 1);
  expected.set("bodies", List{Value("x")});
  expected.set("headers", std::move(headers));
  ASSERT_TRUE(mock().expect(expected).ok());
  EXPECT_EQ(mock().problems().size(), 2u);
  push("x");
  EXPECT_TRUE(mock().satisfied());
  Object wrong;
  wrong.set("cuont", 1);
  Result<void> refused = mock().expect(wrong);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().hint.find("count"), std::string::npos);
  Object negative;
  negative.set("count", -1);
  EXPECT_FALSE(mock().expect(negative).ok());
}

TEST_F(MockComponent, IsTheSameBeforeAndAfterTheRoutesAreBuilt) {
  mock().expect_count(1);
  make({{"expectedCount", "3"}});
  EXPECT_EQ(mock().problems(), std::vector<std::string>{"expected 3 messages, got 0"});
}

TEST_F(MockComponent, FailsOnDemandAndDoesNotCountWhatItRefused) {
  mock().fail_next(2, Error(ErrorKind::transient, "injected"));
  EXPECT_TRUE(push("a").failed());
  EXPECT_TRUE(push("a").failed());
  EXPECT_TRUE(push("a").running());
  EXPECT_EQ(mock().attempts(), 3u);
  EXPECT_EQ(mock().count(), 1u);
  mock().fail_when([](const Exchange& e) { return e.message.body == Value("bad"); },
                   Error(ErrorKind::rejected, "bad one"));
  EXPECT_EQ(push("bad").error->kind, ErrorKind::rejected);
  EXPECT_TRUE(push("good").running());
}

TEST_F(MockComponent, AnswersAndTakesItsTime) {
  mock().reply([](Exchange& e) { e.message.body = "reply"; });
  mock().delay_next(1, std::chrono::seconds(5));
  EXPECT_EQ(push("question").message.body, Value("reply"));
  EXPECT_EQ(harness.manual_clock.steady().time_since_epoch(), std::chrono::seconds(5));
  EXPECT_EQ(mock().received(0).message.body, Value("question"));
}

TEST_F(MockComponent, KeepsOnlyTheFirstOrTheLast) {
  make({{"retainFirst", "2"}});
  for (const char* body : {"a", "b", "c"}) push(body);
  EXPECT_EQ(mock().bodies(), (std::vector<Value>{"a", "b"}));
  EXPECT_EQ(mock().count(), 3u);
  mock().reset();
  mock().retain_last(2);
  for (const char* body : {"a", "b", "c"}) push(body);
  EXPECT_EQ(mock().bodies(), (std::vector<Value>{"b", "c"}));
  mock().reset();
  mock().retain_last(0);
  push("a");
  EXPECT_TRUE(mock().bodies().empty());
}

TEST_F(MockComponent, KeepsCopiesWithoutTheUnitOfWork) {
  make();
  Exchange exchange(Message{Value("before"), {}});
  exchange.unit = reinterpret_cast<UnitOfWork*>(0x10);
  send(harness, *producer, exchange);
  exchange.message.body = "after";
  EXPECT_EQ(mock().received(0).message.body, Value("before"));
  EXPECT_EQ(mock().received(0).unit, nullptr);
}

TEST_F(MockComponent, LetsAnotherThreadWait) {
  mock().expect_count(1);
  EXPECT_FALSE(mock().wait(std::chrono::milliseconds(0)));
  bool seen = false;
  std::thread waiter([&] { seen = mock().wait(std::chrono::seconds(30)); });
  push("x");
  waiter.join();
  EXPECT_TRUE(seen);
}

TEST_F(MockComponent, DefersOnlyWhenAskedTo) {
  make();
  EXPECT_FALSE(producer->defers_in_transaction());
  make({{"transacted", "true"}});
  EXPECT_TRUE(producer->defers_in_transaction());
}

TEST_F(MockComponent, CannotBeASource) {
  make();
  EXPECT_FALSE(endpoint->make_consumer().ok());
}

TEST(MatchesExpected, ComparesAsATestMeansIt) {
  EXPECT_TRUE(matches_expected(Value("abc"), Value(Bytes("abc"))));
  EXPECT_TRUE(matches_expected(Value(7), Value("7")));
  EXPECT_TRUE(matches_expected(Value(true), Value("true")));
  Object object;
  object.set("n", 1);
  EXPECT_TRUE(matches_expected(Value(object), Value(R"({ "n": 1 })")));
  EXPECT_TRUE(matches_expected(Value(R"({"n":1})"), Value(object)));
  EXPECT_FALSE(matches_expected(Value(object), Value("no json")));
  EXPECT_FALSE(matches_expected(Value(""), Value(nullptr)));
  EXPECT_FALSE(matches_expected(Value(List{Value(1)}), Value(1)));
}

}  // namespace
}  // namespace drom
