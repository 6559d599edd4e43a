// Tables that are not ours on real databases: Debezium's, the classic one with ProcessedAt, status
// columns; what is done with sent rows; columns that are missing.
#include "connectors/outbox/foreign_table_fixture.hpp"

namespace drom::outbox {
namespace {

using Names = BodyList;

TEST_P(ForeignDb, RelaysDebeziumsTableInTheOrderOfItsSequence) {
  create_debezium();
  add_sequence();
  for (int i = 1; i <= 3; ++i)
    run("INSERT INTO outbox_orders (aggregatetype, aggregateid, type, payload) VALUES ('order', "
        "'7', 'OrderCreated', '{\"n\": " +
        std::to_string(i) + "}')");
  start({{"format", "debezium"}});
  ASSERT_TRUE(wait_for(3));
  EXPECT_EQ(bodies, (Names{"{\"n\": 1}", "{\"n\": 2}", "{\"n\": 3}"}));
  EXPECT_EQ(seen[0].message.headers.text("outbox.topic"), "outbox.event.order");
  EXPECT_EQ(seen[0].key, "7");
  EXPECT_GE(seen[0].message.headers.text("id").size(), 32u);
  EXPECT_TRUE(becomes("SELECT count(*) FROM outbox_orders", 0)) << "sent rows are deleted";
}

TEST_P(ForeignDb, ATableWithoutASequenceIsRefusedWithTheDdlThatMendsIt) {
  run("CREATE TABLE outbox_orders (id " +
      std::string(postgres() ? "uuid"
                  : mysql()  ? "char(36)"
                             : "TEXT") +
      " PRIMARY KEY, aggregatetype TEXT, aggregateid TEXT, type TEXT, payload TEXT)");
  const Error error = refusal({{"format", "debezium"}});
  EXPECT_NE(error.what.find("orders its rows"), std::string::npos);
  if (sqlite()) return;  // it cannot add one
  ASSERT_NE(error.hint.find("ADD COLUMN " + quote("seq")), std::string::npos) << error.hint;
  ASSERT_TRUE(harness.run(database->script(error.hint)).ok()) << "the hint is SQL that works";
  start({{"format", "debezium"}});
}

TEST_P(ForeignDb, AnOrderByATimeIsRefused) {
  create_debezium(postgres() ? ", created_at timestamptz" : ", created_at TEXT");
  const Error error = refusal({{"format", "debezium"}, {"sequenceColumn", "created_at"}});
  EXPECT_NE(error.what.find("cannot order"), std::string::npos);
}

TEST_P(ForeignDb, RelaysTheClassicTableAndMarksProcessedAt) {
  create_classic();
  for (const char* body : {"a", "b"}) insert_classic(body);
  start(classic());
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(bodies, (Names{"a", "b"}));
  EXPECT_EQ(seen[0].message.headers.text("eventType"), "OrderPlaced");
  EXPECT_EQ(seen[0].message.headers.text("eventId"), "1");
  EXPECT_TRUE(
      becomes("SELECT count(*) FROM \"OutboxMessages\" WHERE \"ProcessedAt\" IS NOT NULL", 2));
  EXPECT_EQ(number("SELECT count(*) FROM drom_trouble"), 0);
}

TEST_P(ForeignDb, NamesOfColumnsNeedNotBeSpelledInTheirCase) {
  create_classic();
  insert_classic("a");
  start({{"format", "mapped"},
         {"table", "OutboxMessages"},
         {"payloadColumn", "payload"},
         {"sentColumn", "processedat"}});
  ASSERT_TRUE(wait_for(1));
}

TEST_P(ForeignDb, ARowThatFailsWaitsInTheCompanionTableAndHoldsItsKeyBack) {
  create_debezium();
  add_sequence();
  const auto insert = [&](const char* key, const char* body) {
    run("INSERT INTO outbox_orders (aggregatetype, aggregateid, type, payload) VALUES ('order', "
        "$1, 't', " +
            std::string(postgres() ? "to_jsonb($2::text)"
                        : mysql()  ? "json_quote($2)"
                                   : "'\"' || $2 || '\"'") +
            ")",
        {key, body});
  };
  insert("a", "a1");
  insert("a", "a2");
  insert("b", "b1");
  failures["\"a1\""] = 1000;
  start({{"format", "debezium"}, {"sentPolicy", "delete"}});
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(bodies, Names{"\"b1\""});
  EXPECT_TRUE(becomes("SELECT count(*) FROM drom_trouble WHERE key = 'a' AND attempts >= 2", 1));
  failures.clear();
  ASSERT_TRUE(wait_for(3));
  EXPECT_EQ(bodies, (Names{"\"b1\"", "\"a1\"", "\"a2\""}));
  EXPECT_TRUE(becomes("SELECT count(*) FROM outbox_orders", 0));
  EXPECT_TRUE(becomes("SELECT count(*) FROM drom_trouble", 0)) << "what is over is forgotten";
}

TEST_P(ForeignDb, AfterTheLastAttemptTheRowIsDeadInTheCompanionTable) {
  create_classic();
  for (const char* body : {"bad", "good"}) insert_classic(body);
  failures["bad"] = 100;
  start(classic({{"maximumAttempts", "2"}}));
  ASSERT_TRUE(wait_for(1));
  EXPECT_TRUE(becomes("SELECT count(*) FROM drom_trouble WHERE status = 'dead'", 1));
  EXPECT_EQ(run("SELECT last_error, attempts FROM drom_trouble").rows[0], (List{"boom", 2}));
  let_pass(milliseconds(100));
  EXPECT_EQ(bodies, Names{"good"});
  EXPECT_EQ(number("SELECT count(*) FROM \"OutboxMessages\" WHERE \"ProcessedAt\" IS NULL"), 1);
}

TEST_P(ForeignDb, AStatusColumnTellsDueFromSent) {
  run(postgres() ? "CREATE TABLE events (id bigserial PRIMARY KEY, key text, payload text, state "
                   "integer NOT NULL DEFAULT 0)"
      : mysql()  ? "CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY, key varchar(100), "
                   "payload text, state int NOT NULL DEFAULT 0)"
                 : "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, payload "
                   "TEXT, state INTEGER NOT NULL DEFAULT 0)");
  run("INSERT INTO events (key, payload, state) VALUES ('k', 'a', 0), ('k', 'held', 9), ('k', 'b', "
      "1), ('k', 'old', 2)");
  start({{"format", "mapped"},
         {"table", "events"},
         {"keyColumn", "key"},
         {"statusColumn", "state"},
         {"dueValues", "0,1"},
         {"sentValue", "2"}});
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(bodies, (Names{"a", "b"}));
  EXPECT_TRUE(becomes("SELECT count(*) FROM events WHERE state = 2", 3));
  EXPECT_EQ(number("SELECT count(*) FROM events WHERE state = 9"), 1);
}

TEST_P(ForeignDb, FlagsHeadersTopicsAndTimesCanBeMapped) {
  run(postgres() ? "CREATE TABLE events (id bigserial PRIMARY KEY, payload bytea, headers jsonb, "
                   "topic text, tenant text, visible_at timestamptz, published boolean NOT NULL "
                   "DEFAULT false)"
      : mysql()
          ? "CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY, payload blob, headers "
            "json, "
            "topic varchar(100), tenant varchar(100), visible_at datetime(3), published boolean "
            "NOT "
            "NULL DEFAULT false)"
          : "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, payload BLOB, headers "
            "TEXT, topic TEXT, tenant TEXT, visible_at TEXT, published BOOLEAN NOT NULL "
            "DEFAULT 0)");
  run("INSERT INTO events (payload, headers, topic, tenant) VALUES ($1, '{\"a\": \"b\"}', 'news', "
      "'t1')",
      {Bytes(std::string("\x01\xff", 2))});
  run("INSERT INTO events (visible_at) VALUES ('2999-01-01T00:00:00" +
      std::string(mysql() ? "" : "Z") + "')");
  start({{"format", "mapped"},
         {"table", "events"},
         {"headersColumn", "headers"},
         {"headerColumns", "tenant"},
         {"topicColumn", "topic"},
         {"availableColumn", "visible_at"},
         {"sentColumn", "published"}});
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(seen[0].message.body.raw(), std::string_view("\x01\xff", 2));
  EXPECT_EQ(seen[0].message.headers.text("a"), "b");
  EXPECT_EQ(seen[0].message.headers.text("tenant"), "t1");
  EXPECT_EQ(seen[0].message.headers.text("outbox.topic"), "news");
  EXPECT_TRUE(becomes("SELECT count(*) FROM events WHERE published", 1));
  let_pass(milliseconds(60));
  EXPECT_EQ(bodies.size(), 1u) << "the other row is not visible yet";
}

TEST_P(ForeignDb, SentRowsMoveToTheArchive) {
  create_classic();
  for (const char* body : {"a", "b"}) insert_classic(body);
  start(classic({{"sentPolicy", "archive"}}));
  ASSERT_TRUE(wait_for(2));
  EXPECT_TRUE(becomes("SELECT count(*) FROM \"OutboxMessages_archive\"", 2));
  EXPECT_EQ(number("SELECT count(*) FROM \"OutboxMessages\""), 0);
  EXPECT_EQ(number("SELECT count(*) FROM \"OutboxMessages_archive\" WHERE \"ProcessedAt\" IS NOT "
                   "NULL AND drom_archived_at IS NOT NULL"),
            2);
}

TEST_P(ForeignDb, OurOwnTableCanBeArchivedAsWell) {
  start({{"sentPolicy", "archive"}});
  run("INSERT INTO outbox_orders (key, type, payload) VALUES ('k', 't', 'a')");
  ASSERT_TRUE(wait_for(1));
  EXPECT_TRUE(becomes("SELECT count(*) FROM outbox_orders_archive WHERE status = 'sent'", 1));
  EXPECT_EQ(number("SELECT count(*) FROM outbox_orders"), 0);
  const sql::Rows rows = run("SELECT key, type, payload FROM outbox_orders_archive");
  EXPECT_EQ(rows.rows.at(0), (List{"k", "t", "a"}));
  stop();
  run("ALTER TABLE outbox_orders ADD COLUMN mine TEXT");
  const Error error = refusal({{"sentPolicy", "archive"}});
  EXPECT_NE(error.what.find("mine"), std::string::npos) << error.message();
  ASSERT_TRUE(harness.run(database->script(error.hint)).ok()) << error.hint;
  start({{"sentPolicy", "archive"}});
}

TEST_P(ForeignDb, SentRowsOfOthersArePurgedOnlyWhenAsked) {
  create_classic();
  for (const char* body : {"a", "b", "c"}) insert_classic(body);
  run(postgres()
          ? "UPDATE \"OutboxMessages\" SET \"ProcessedAt\" = now() - interval '3 days' WHERE "
            "\"Id\" = 1"
      : mysql()
          ? "UPDATE OutboxMessages SET ProcessedAt = utc_timestamp() - INTERVAL 3 DAY WHERE "
            "Id = 1"
          : "UPDATE OutboxMessages SET ProcessedAt = datetime('now', '-3 days') WHERE Id = 1");
  start(classic());
  ASSERT_TRUE(wait_for(2));
  EXPECT_TRUE(
      becomes("SELECT count(*) FROM \"OutboxMessages\" WHERE \"ProcessedAt\" IS NOT NULL", 3));
  stop();
  start(classic({{"sentRetention", "1d"}}));
  EXPECT_TRUE(becomes("SELECT count(*) FROM \"OutboxMessages\"", 2));
}

TEST_P(ForeignDb, MissingColumnsAreAllNamedWithTheirDdl) {
  create_classic();
  const Error error = refusal(classic({{"keyColumn", "AggregateId"}, {"availableColumn", "Due"}}));
  EXPECT_NE(error.what.find("AggregateId, Due"), std::string::npos) << error.what;
  EXPECT_NE(error.hint.find("ADD COLUMN " + quote("AggregateId")), std::string::npos) << error.hint;
  EXPECT_NE(error.hint.find("EventType"), std::string::npos) << "tells what there is";
  const Error none = refusal({{"format", "debezium"}, {"table", "nowhere"}});
  EXPECT_NE(none.what.find("nowhere"), std::string::npos);
}

TEST_P(ForeignDb, ExtraColumnsAreFine) {
  create_classic();
  run("ALTER TABLE \"OutboxMessages\" ADD COLUMN \"Note\" TEXT");
  insert_classic("a");
  start(classic());
  ASSERT_TRUE(wait_for(1));
}

TEST_P(ForeignDb, WithoutCreateTableMissingCompanionsAreNamed) {
  create_classic();
  const Error error = refusal(classic({{"createTable", "false"}}));
  EXPECT_NE(error.what.find("drom_lease"), std::string::npos);
  EXPECT_NE(error.hint.find("drom outbox init"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Dialects, ForeignDb, ::testing::ValuesIn(testing::all_dialects()),
                         testing::dialect_name);

}  // namespace
}  // namespace drom::outbox
