#include <gtest/gtest.h>

#include "drom/model/exchange.hpp"

namespace drom {
namespace {

TEST(Headers, IgnoreCaseAndKeepTheFirstSpelling) {
  Headers headers;
  headers.set("Content-Type", "a");
  headers.set("content-type", "b");
  EXPECT_EQ(headers.size(), 1U);
  EXPECT_EQ(headers.begin()->first, "Content-Type");
  EXPECT_EQ(headers.text("CONTENT-TYPE"), "b");
  EXPECT_TRUE(headers.erase("cOntent-type"));
  EXPECT_TRUE(headers.empty());
}

TEST(Headers, InjectionNeedsALineBreakOrNul) {
  EXPECT_TRUE(has_header_injection("a\r\nSet-Cookie: x"));
  EXPECT_TRUE(has_header_injection(std::string_view("a\0b", 3)));
  EXPECT_FALSE(has_header_injection("plain\ttext"));
}

TEST(Headers, EngineNamesAreNeverSentOn) {
  EXPECT_TRUE(is_engine_header("CamelFileName"));
  EXPECT_TRUE(is_engine_header("camelhttpuri"));
  EXPECT_TRUE(is_engine_header("outbox.eventId"));
  EXPECT_FALSE(is_engine_header("traceparent"));
  EXPECT_FALSE(is_engine_header("Outboxes"));
}

TEST(Headers, WhatBelongsToOneCallerDoesNotTravelOn) {
  for (const char* name : {"Authorization", "set-cookie", "X-API-Key", "Host", "Content-Encoding"})
    EXPECT_TRUE(is_private_header(name)) << name;
  for (const char* name : {"traceparent", "eventId", "Content-Type", "X-Request-Id"})
    EXPECT_FALSE(is_private_header(name)) << name;
}

TEST(Exchange, CopyTakesEverythingButTheError) {
  Exchange exchange(Message{Value("body"), {}}, ExchangePattern::in_out);
  exchange.message.headers.set("h", 1);
  exchange.properties.set("p", 2);
  exchange.variables.set("v", 3);
  exchange.key = "k";
  exchange.fail(Error(ErrorKind::data, "bad"));
  const Exchange copy = exchange.copy();
  EXPECT_TRUE(copy.running());
  EXPECT_EQ(copy.error, nullptr);
  EXPECT_EQ(copy.message.body, Value("body"));
  EXPECT_EQ(*copy.message.headers.find("h"), Value(1));
  EXPECT_EQ(*copy.properties.find("p"), Value(2));
  EXPECT_EQ(*copy.variables.find("v"), Value(3));
  EXPECT_EQ(copy.key, "k");
  EXPECT_EQ(copy.pattern, ExchangePattern::in_out);
}

TEST(Exchange, CatchingAnErrorMakesItRunAgainAndKeepsTheErrorReadable) {
  Exchange exchange;
  exchange.fail(Error(ErrorKind::data, "bad"));
  exchange.error_exhausted = true;
  exchange.catch_error();
  EXPECT_TRUE(exchange.running());
  EXPECT_FALSE(exchange.error_exhausted);
  EXPECT_EQ(exchange.error, nullptr);
  EXPECT_EQ(exchange.caught->what, "bad");
}

}  // namespace
}  // namespace drom
