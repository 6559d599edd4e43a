#include "connectors/outbox/outbox_message.hpp"

#include <gtest/gtest.h>

#include "connectors/outbox/outbox_sql.hpp"
#include "drom/base/json.hpp"

namespace drom::outbox {
namespace {

RelayRow row_of(const StoredBody& body, const Value& headers) {
  RelayRow row;
  row.id = 12;
  row.key = "k";
  row.attempts = 2;
  row.columns = {12,        3,          "e-9",   "k", "order.created",
                 body.text, body.bytes, headers, 2,   "2026-11-30T12:00:00Z",
                 Value()};
  return row;
}

Exchange round_trip(const Value& body, const Headers& headers,
                    std::vector<std::string> patterns = {"*"}) {
  const StoredBody stored = store_body(body);
  Result<Exchange> back = restore(
      row_of(stored, store_headers(headers, HeaderFilter(std::move(patterns)), stored.json)));
  EXPECT_TRUE(back.ok());
  return std::move(*back);
}

TEST(OutboxMessage, TextAndBytesTravelAsTheyAre) {
  const Headers none;
  EXPECT_EQ(round_trip("plain \xc3\xa4 text", none).message.body, Value("plain \xc3\xa4 text"));
  const std::string binary("\xff\x00\x01", 3);
  EXPECT_EQ(round_trip(Bytes(binary), none).message.body.raw(), binary);
  const std::string with_nul("a\0b", 3);
  EXPECT_EQ(round_trip(with_nul, none).message.body.raw(), with_nul);
}

TEST(OutboxMessage, NullAndEmptyStayDifferent) {  // C11
  const Headers none;
  EXPECT_TRUE(round_trip(Value(), none).message.body.is_null());
  EXPECT_EQ(round_trip("", none).message.body, Value(""));
}

TEST(OutboxMessage, AValueBecomesJsonTextWithItsContentType) {
  Object order;
  order.set("id", int64_t{9007199254740993});
  order.set("price", Decimal{"1.10"});
  const Exchange back = round_trip(order, Headers());
  EXPECT_EQ(back.message.body, Value("{\"id\":9007199254740993,\"price\":1.10}"));
  EXPECT_EQ(back.message.headers.text("content-type"), "application/json");
}

TEST(OutboxMessage, HeadersKeepTheirTypes) {  // C52
  Headers headers;
  headers.set("tenant", "abc");
  headers.set("n", 7);
  headers.set("flag", true);
  headers.set("none", Value());
  headers.set("empty", "");
  headers.set("bin", Bytes(std::string("\xff\x00", 2)));
  headers.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  const Exchange back = round_trip("x", headers);
  for (const auto& [name, value] : headers) {
    const Value* restored = back.message.headers.find(name);
    ASSERT_TRUE(restored) << name;
    EXPECT_EQ(*restored, value) << name;
  }
}

TEST(OutboxMessage, CredentialsHopsAndEngineMetadataAreNotStored) {
  Headers headers;
  for (const char* name : {"Authorization", "Cookie", "Host", "Content-Length", "CamelHttpUri",
                           "kafka.topic", "eventId", "eventType"})
    headers.set(name, "secret");
  EXPECT_TRUE(store_headers(headers, HeaderFilter({"*"}), false).is_null());
  const Value named = store_headers(headers, HeaderFilter({"authorization", "kafka.topic"}), false);
  EXPECT_EQ(named, Value("{\"Authorization\":\"secret\"}"));
}

TEST(OutboxMessage, TheFilterKeepsNamesPrefixesAndTheTrace) {
  const HeaderFilter filter({"tenant", "x-*"});
  EXPECT_TRUE(filter.passes("Tenant"));
  EXPECT_TRUE(filter.passes("X-Request"));
  EXPECT_TRUE(filter.passes("traceparent"));
  EXPECT_TRUE(filter.passes("content-type"));
  EXPECT_FALSE(filter.passes("other"));
}

TEST(OutboxMessage, TheRowBecomesReadableMetadataAndAStableEventId) {
  const Exchange back = round_trip("x", Headers());
  const Headers& headers = back.message.headers;
  EXPECT_EQ(headers.text("eventId"), "e-9");
  EXPECT_EQ(headers.text("outbox.eventId"), "e-9");
  EXPECT_EQ(headers.text("eventType"), "order.created");
  EXPECT_EQ(headers.text("outbox.key"), "k");
  EXPECT_EQ(*headers.find("outbox.attempts"), Value(2));
  EXPECT_EQ(*headers.find("outbox.id"), Value(12));
  EXPECT_EQ(back.key, "k");
  EXPECT_EQ(back.delivery, 12u);
  EXPECT_FALSE(is_engine_header("eventId")) << "receivers need it";
  EXPECT_TRUE(is_engine_header("outbox.eventId"));
}

TEST(OutboxMessage, AStoredHeaderCannotSteerTheEngine) {
  Result<Exchange> back =
      restore(row_of(store_body("x"), "{\"CamelHttpUri\":\"http://evil\",\"a\":\"b\"}"));
  ASSERT_TRUE(back.ok());
  EXPECT_FALSE(back->message.headers.find("CamelHttpUri"));
  EXPECT_EQ(back->message.headers.text("a"), "b");
}

TEST(OutboxMessage, BrokenHeadersAreADataError) {
  for (const char* text : {"{", "[1]", "\"x\""}) {
    Result<Exchange> back = restore(row_of(store_body("x"), text));
    ASSERT_FALSE(back.ok());
    EXPECT_EQ(back.error().kind, ErrorKind::data);
  }
}

TEST(OutboxNames, OnlyIdentifiersGetIntoSql) {
  EXPECT_EQ(*default_table("orders"), "outbox_orders");
  EXPECT_EQ(*checked_table("sales.outbox"), "sales.outbox");
  for (const char* bad :
       {"", "a b", "a;drop table x", "a-b", "1a", "a.b.c", ".a", "a.", "\"a\"", "a'"})
    EXPECT_FALSE(checked_table(bad).ok()) << bad;
  EXPECT_FALSE(default_table(std::string(60, 'x')).ok());
}

}  // namespace
}  // namespace drom::outbox
