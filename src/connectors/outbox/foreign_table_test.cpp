// The options of tables that are not ours, and the shape of Debezium's events: what its outbox
// event router puts on the wire for the same row, option by option.
#include "connectors/outbox/foreign_table.hpp"

#include <gtest/gtest.h>

#include "connectors/outbox/outbox_endpoint.hpp"
#include "drom/base/json.hpp"
#include "support/harness.hpp"

namespace drom::outbox {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

class ForeignTableTest : public ::testing::Test {
 protected:
  Result<OutboxOptions> read(Options options) {
    std::vector<OptionText> texts;
    options.emplace_back("name", "orders");
    for (auto& [name, value] : options) {
      OptionText text;
      text.name = name;
      text.text = value;
      texts.push_back(std::move(text));
    }
    const Config config =
        Config::validate(endpoint_spec(), texts, Location{}, harness, harness.problems);
    EXPECT_FALSE(harness.problems.has_errors()) << harness.problems.render();
    return read_options(config);
  }
  ForeignTable debezium(Options options = {}) {
    options.emplace_back("format", "debezium");
    Result<OutboxOptions> out = read(std::move(options));
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
    return std::move(*out->foreign);
  }
  std::string refused(Options options) {
    const Result<OutboxOptions> out = read(std::move(options));
    EXPECT_FALSE(out.ok());
    if (out.ok()) return {};
    EXPECT_EQ(out.error().kind, ErrorKind::config);
    return out.error().message();
  }

  // The row of Debezium's own example, with the values of the extras.
  static RelayRow row(Value payload, List extras = {"order"}) {
    RelayRow out;
    out.id = 7;
    out.key = "1";
    out.columns = {7,
                   3,
                   "406c07f3",
                   "1",
                   "OrderCreated",
                   std::move(payload),
                   Value(),
                   Value(),
                   0,
                   "2026-11-30T12:00:00Z",
                   Value()};
    for (Value& extra : extras) out.columns.push_back(std::move(extra));
    return out;
  }
  static Exchange event(const ForeignTable& table, RelayRow from) {
    Result<Exchange> out = restore_foreign(table.shape, table.event, std::move(from));
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
    return std::move(*out);
  }
  // The headers that go on the wire, as "name=value".
  static std::vector<std::string> wire(const Exchange& exchange) {
    std::vector<std::string> out;
    for (const auto& [name, value] : exchange.message.headers)
      if (!is_engine_header(name)) out.push_back(name + "=" + to_json(value));
    return out;
  }
  static std::string topic(const Exchange& exchange) {
    return std::string(exchange.message.headers.text("outbox.topic"));
  }

  testing::Harness harness;
};

using Names = std::vector<std::string>;

TEST_F(ForeignTableTest, ByDefaultTheEventIsThePayloadWithItsIdOnTheTopicOfItsAggregate) {
  const Exchange got = event(debezium(), row("{\"id\": 1}"));
  EXPECT_EQ(topic(got), "outbox.event.order");
  EXPECT_EQ(got.key, "1");
  EXPECT_EQ(*got.message.headers.find("outbox.key"), Value("1"));
  EXPECT_EQ(wire(got), Names{"id=\"406c07f3\""});
  EXPECT_EQ(got.message.body, Value("{\"id\": 1}"));
  EXPECT_EQ(got.delivery, 7u);
}

TEST_F(ForeignTableTest, BytesTravelAsTheyAre) {
  const std::string avro("\x00\x01\xff", 3);
  EXPECT_EQ(event(debezium(), row(Bytes(avro))).message.body.raw(), avro);
}

TEST_F(ForeignTableTest, TheTopicFollowsRegexAndReplacement) {
  EXPECT_EQ(
      topic(event(debezium({{"route.topic.replacement", "events.${routedByValue}.v1"}}), row("x"))),
      "events.order.v1");
  const Options numbered = {{"route.topic.regex", "shop\\.(.*)\\.(v[0-9])"},
                            {"route.topic.replacement", "$2-$1"}};
  EXPECT_EQ(topic(event(debezium(numbered), row("x", {"shop.order.v2"}))), "v2-order");
  EXPECT_EQ(topic(event(debezium(numbered), row("x", {"other"}))), "other")
      << "what does not match stays as it is";
  EXPECT_EQ(topic(event(debezium({{"route.topic.replacement", "a\\$b"}}), row("x"))), "a$b");
}

TEST_F(ForeignTableTest, ANullTopicColumnIsAnErrorOfTheRow) {
  const ForeignTable table = debezium();
  const Result<Exchange> got = restore_foreign(table.shape, table.event, row("x", {Value()}));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::data);
}

TEST_F(ForeignTableTest, AnotherColumnMayNameTheTopic) {
  const ForeignTable table = debezium({{"route.by.field", "destination"}});
  EXPECT_EQ(table.shape.extras.at(0).name, "destination");
}

TEST_F(ForeignTableTest, AdditionalColumnsGoToHeaderEnvelopeAndPartition) {
  const Exchange header = event(
      debezium({{"table.fields.additional.placement", "type:header:eventType,tenant:header"}}),
      row("x", {"order", "OrderCreated", 12}));
  EXPECT_EQ(wire(header), (Names{"id=\"406c07f3\"", "eventType=\"OrderCreated\"", "tenant=12"}));

  const Exchange envelope =
      event(debezium({{"table.fields.additional.placement", "type:envelope:eventType"}}),
            row("{\"id\":1}", {"order", "OrderCreated"}));
  EXPECT_EQ(to_json(envelope.message.body),
            R"({"payload":"{\"id\":1}","eventType":"OrderCreated"})");

  const Exchange partition = event(debezium({{"table.fields.additional.placement", "p:partition"}}),
                                   row("x", {"order", 3}));
  EXPECT_EQ(*partition.message.headers.find("outbox.partition"), Value(3));
  EXPECT_EQ(wire(partition), Names{"id=\"406c07f3\""});
}

TEST_F(ForeignTableTest, AMissingAdditionalColumnIsLeftOutWhenThatIsNoError) {
  ForeignTable table = debezium({{"table.fields.additional.placement", "type:header,tenant:header"},
                                 {"table.fields.additional.error.on.missing", "false"}});
  EXPECT_TRUE(table.shape.extras[2].optional);
  table.shape.extras[2] = Column();  // as resolve() does it
  EXPECT_EQ(wire(event(table, row("x", {"order", "T", Value()}))),
            (Names{"id=\"406c07f3\"", "type=\"T\""}));
  EXPECT_FALSE(
      debezium({{"table.fields.additional.placement", "a:header"}}).shape.extras[1].optional);
}

TEST_F(ForeignTableTest, JsonIsExpandedWhenAskedAndOnlyJson) {
  const ForeignTable expanding = debezium({{"table.expand.json.payload", "true"}});
  EXPECT_EQ(to_json(event(expanding, row(R"({"a": 1, "b": null, "c": {"d": null, "e": [1, 2]}})"))
                        .message.body),
            R"({"a":1,"c":{"e":[1,2]}})");
  EXPECT_EQ(event(expanding, row("plain")).message.body, Value("plain"));
  EXPECT_EQ(event(expanding, row("{broken")).message.body, Value("{broken"));
  const ForeignTable keeping = debezium({{"table.expand.json.payload", "true"},
                                         {"table.json.payload.null.behavior", "optional_bytes"}});
  EXPECT_EQ(to_json(event(keeping, row(R"({"b": null})")).message.body), R"({"b":null})");
  EXPECT_EQ(event(debezium(), row("{\"a\": 1}")).message.body, Value("{\"a\": 1}"))
      << "without the option not a byte changes";
  const ForeignTable both = debezium({{"table.expand.json.payload", "true"},
                                      {"table.fields.additional.placement", "type:envelope"}});
  EXPECT_EQ(to_json(event(both, row("{\"a\": 1}", {"order", "T"})).message.body),
            R"({"payload":{"a":1},"type":"T"})");
}

TEST_F(ForeignTableTest, AnEmptyPayloadIsATombstoneWhenAskedAndANullOneAlways) {  // C11
  const ForeignTable keeping = debezium();
  EXPECT_TRUE(event(keeping, row(Value())).message.body.is_null());
  EXPECT_EQ(event(keeping, row("")).message.body, Value(""));
  EXPECT_EQ(event(keeping, row(" ")).message.body, Value(" "));
  const ForeignTable burying = debezium({{"route.tombstone.on.empty.payload", "true"}});
  for (const Value& payload : {Value(), Value(""), Value(" \n"), Value(Bytes(""))})
    EXPECT_TRUE(event(burying, row(payload)).message.body.is_null());
  EXPECT_EQ(event(burying, row("x")).message.body, Value("x"));
  const ForeignTable enveloped = debezium({{"route.tombstone.on.empty.payload", "true"},
                                           {"table.fields.additional.placement", "type:envelope"}});
  EXPECT_TRUE(event(enveloped, row("", {"order", "T"})).message.body.is_null());
}

TEST_F(ForeignTableTest, TimeAndSchemaVersionAreMetadata) {
  const ForeignTable table = debezium({{"table.field.event.timestamp", "created_at"},
                                       {"table.field.event.schema.version", "version"}});
  EXPECT_EQ(table.shape.created.name, "created_at");
  const Exchange got = event(table, row("x", {"order", 4}));
  EXPECT_EQ(*got.message.headers.find("outbox.schemaVersion"), Value(4));
  EXPECT_EQ(got.message.headers.text("outbox.createdAt"), "2026-11-30T12:00:00Z");
  EXPECT_EQ(wire(got), Names{"id=\"406c07f3\""});
}

TEST_F(ForeignTableTest, WhatPollingCannotKeepIsRefused) {
  EXPECT_NE(refused({{"format", "debezium"}, {"table.op.invalid.behavior", "fatal"}})
                .find("cannot be kept"),
            std::string::npos);
  EXPECT_TRUE(read({{"format", "debezium"}, {"table.op.invalid.behavior", "error"}}).ok());
}

TEST_F(ForeignTableTest, WrongOptionsAreNamed) {
  EXPECT_NE(refused({{"format", "debezium"}, {"route.topic.regex", "("}}).find("route.topic.regex"),
            std::string::npos);
  EXPECT_NE(refused({{"format", "debezium"}, {"route.topic.replacement", "$x"}}).find("dollar"),
            std::string::npos);
  EXPECT_NE(refused({{"format", "debezium"}, {"table.fields.additional.placement", "a:body"}})
                .find("a:body"),
            std::string::npos);
  EXPECT_NE(refused({{"format", "mapped"}, {"idColumn", "a\"b"}}).find("idColumn"),
            std::string::npos);
  EXPECT_NE(refused({{"route.by.field", "x"}}).find("format=debezium"), std::string::npos);
  EXPECT_NE(refused({{"format", "debezium"}, {"keyColumn", "x"}}).find("format=mapped"),
            std::string::npos);
  EXPECT_NE(refused({{"format", "mapped"}, {"statusColumn", "s"}}).find("sentValue"),
            std::string::npos);
  EXPECT_NE(refused({{"format", "mapped"},
                     {"statusColumn", "s"},
                     {"dueValues", "NEW'; DROP TABLE x"},
                     {"sentValue", "SENT"}})
                .find("dueValues"),
            std::string::npos);
}

TEST_F(ForeignTableTest, WithoutAMarkASentRowMustBeDeletedOrArchived) {
  EXPECT_NE(refused({{"format", "mapped"}}).find("sentColumn"), std::string::npos);
  EXPECT_NE(refused({{"format", "debezium"}, {"sentPolicy", "mark"}}).find("sentColumn"),
            std::string::npos);
  EXPECT_EQ(read({{"format", "debezium"}})->sent, SentPolicy::remove);
  EXPECT_EQ(read({{"format", "debezium"}, {"sentColumn", "sent_at"}})->sent, SentPolicy::mark);
  EXPECT_EQ(read({{"format", "mapped"}, {"sentPolicy", "archive"}})->sent, SentPolicy::archive);
  EXPECT_EQ(read({{"format", "mapped"}, {"sentColumn", "a"}})->policy.purge_max, 0u)
      << "the rows of others are purged only when asked";
}

}  // namespace
}  // namespace drom::outbox
