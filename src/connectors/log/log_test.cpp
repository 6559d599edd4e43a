#include "connectors/log/log.hpp"

#include <gtest/gtest.h>

#include "connectors/log/log_format.hpp"
#include "support/endpoints.hpp"

namespace drom {
namespace {

using testing::Harness;
using testing::make_endpoint;
using testing::Options;
using testing::send;

class LogComponent : public ::testing::Test {
 protected:
  LogComponent() { register_log_component(harness.registry()); }

  // The lines that one exchange leaves behind.
  std::vector<std::string> lines(Exchange exchange, Options options) {
    options.emplace_back("loggerName", "orders");
    auto endpoint = make_endpoint(harness, "log", options);
    auto producer = endpoint->make_producer().value();
    harness.captured.lines.clear();
    send(harness, *producer, exchange);
    std::vector<std::string> out;
    for (const auto& line : harness.captured.lines) out.push_back(line.message);
    return out;
  }
  std::string line(Exchange exchange, Options options = {}) {
    const auto all = lines(std::move(exchange), std::move(options));
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? "" : all.front();
  }
  static Exchange with_body(Value body) { return Exchange(Message{std::move(body), {}}); }

  Harness harness;
};

TEST_F(LogComponent, WritesBodyAndItsKindByDefault) {
  EXPECT_EQ(line(with_body("hello")), "Exchange[BodyType: text, Body: hello]");
  EXPECT_EQ(harness.captured.lines[0].level, LogLevel::info);
  EXPECT_EQ(harness.captured.lines[0].category, "orders");
  EXPECT_EQ(line(with_body(nullptr)), "Exchange[BodyType: null, Body: [Body is null]]");
}

TEST_F(LogComponent, ShowsWhatIsAskedFor) {
  Exchange exchange = with_body("x");
  exchange.serial = 7;
  exchange.message.headers.set("b", 2);
  exchange.message.headers.set("a", "one");
  exchange.properties.set("p", true);
  EXPECT_EQ(line(std::move(exchange), {{"showAll", "true"}}),
            "Exchange[Id: test-7, ExchangePattern: InOnly, RouteId: test, Properties: {p=true}, "
            "Variables: {}, Headers: {a=one, b=2}, BodyType: text, Body: x]");
}

TEST_F(LogComponent, WritesOneLinePerFieldWithMultiline) {
  EXPECT_EQ(lines(with_body("x"), {{"multiline", "true"}}),
            (std::vector<std::string>{"Exchange[", "  BodyType: text", "  Body: x", "]"}));
}

TEST_F(LogComponent, WritesTheBareBodyWhenPlain) {
  EXPECT_EQ(line(with_body("just\nthis"), {{"plain", "true"}}), "justthis");
  EXPECT_EQ(line(with_body("two\nlines"), {{"plain", "true"}, {"skipBodyLineSeparator", "false"}}),
            "two\nlines");
}

TEST_F(LogComponent, CutsLongLinesAtACharacterBorder) {
  EXPECT_EQ(line(with_body(std::string(50, 'x')), {{"plain", "true"}, {"maxChars", "5"}}),
            "xxxxx...");
  EXPECT_EQ(line(with_body("aé"), {{"plain", "true"}, {"maxChars", "2"}}), "a...");
  EXPECT_EQ(line(with_body(std::string(20000, 'x')), {{"plain", "true"}, {"maxChars", "0"}}).size(),
            20000u);
}

TEST_F(LogComponent, MasksSecretsByName) {  // C58
  Exchange exchange;
  for (const char* name : {"Authorization", "Cookie", "dbPassword", "access_token", "client-secret",
                           "api-key", "X-Auth-Token"})
    exchange.message.headers.set(name, "K1SECRET");
  exchange.message.headers.set("note", "a}b");
  exchange.properties.set("password", "K1SECRET");
  Object body;
  body.set("user", "ann");
  body.set("secret", "K1SECRET");
  exchange.message.body = Value(std::move(body));
  const std::string text = line(std::move(exchange), {{"showAll", "true"}});
  EXPECT_EQ(text.find("K1SECRET"), std::string::npos) << text;
  EXPECT_NE(text.find("note=a}b"), std::string::npos);
  EXPECT_NE(text.find("\"user\":\"ann\""), std::string::npos);
  EXPECT_NE(text.find("Authorization=xxxxx"), std::string::npos);
}

TEST_F(LogComponent, ShowsTheHandledError) {
  Exchange exchange = with_body("x");
  exchange.fail(Error(ErrorKind::timeout, "too slow"));
  exchange.catch_error();
  EXPECT_EQ(line(std::move(exchange), {{"showCaughtException", "true"}, {"showBodyType", "false"}}),
            "Exchange[Body: x, CaughtException: timeout too slow]");
}

TEST_F(LogComponent, WritesAtTheLevelAsked) {
  line(with_body("x"), {{"level", "WARN"}});
  EXPECT_EQ(harness.captured.lines[0].level, LogLevel::warn);
}

TEST_F(LogComponent, ReportsThroughputByGroup) {
  auto endpoint = make_endpoint(harness, "log", {{"loggerName", "t"}, {"groupSize", "2"}});
  auto producer = endpoint->make_producer().value();
  for (int i = 0; i < 5; ++i) {
    Exchange exchange;
    send(harness, *producer, exchange);
    harness.advance(std::chrono::milliseconds(500));
  }
  ASSERT_EQ(harness.captured.lines.size(), 2u);
  EXPECT_EQ(harness.captured.lines[1].message,
            "Received: 2 new messages, with total 4 so far. Last group took: 1000 millis which is: "
            "2.00 messages per second. average: 2.67");
  harness.run(producer->close());
  EXPECT_EQ(harness.captured.lines.size(), 3u);
}

TEST_F(LogComponent, ReportsThroughputByInterval) {
  auto endpoint = make_endpoint(harness, "log", {{"loggerName", "t"}, {"groupInterval", "1s"}});
  auto producer = endpoint->make_producer().value();
  for (int i = 0; i < 9; ++i) {
    Exchange exchange;
    send(harness, *producer, exchange);
    harness.advance(std::chrono::milliseconds(250));
  }
  ASSERT_EQ(harness.captured.lines.size(), 2u);
  EXPECT_NE(harness.captured.lines[0].message.find("5 new messages, with total 5"),
            std::string::npos);
}

TEST_F(LogComponent, RefusesTwoWaysOfGrouping) {
  EXPECT_FALSE(
      testing::try_endpoint(harness, "log",
                            {{"loggerName", "t"}, {"groupSize", "2"}, {"groupInterval", "1s"}})
          .ok());
}

}  // namespace
}  // namespace drom
