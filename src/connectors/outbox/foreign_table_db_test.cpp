// Tables that are not ours on real databases: Debezium's, the classic one with ProcessedAt, status
// columns; what is done with sent rows; columns that are missing, at the start and later.
#include <map>

#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/table_check.hpp"
#include "support/sql_fixture.hpp"

namespace drom::outbox {
namespace {

using std::chrono::seconds;
using Options = std::vector<std::pair<std::string, std::string>>;
using Names = std::vector<std::string>;

class ForeignDb : public testing::SqlTest {
 protected:
  void TearDown() override {
    stop();
    SqlTest::TearDown();
  }

  OutboxOptions read(Options given) {
    std::vector<OptionText> texts;
    given.emplace_back("name", "orders");
    for (auto& [name, value] : given) {
      OptionText text;
      text.name = name;
      text.text = value;
      texts.push_back(std::move(text));
    }
    const Config config =
        Config::validate(endpoint_spec(), texts, Location{}, harness, harness.problems);
    EXPECT_FALSE(harness.problems.has_errors()) << harness.problems.render();
    Result<OutboxOptions> out = read_options(config);
    EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().message());
    out->policy.retry = Backoff{milliseconds(20), 2, milliseconds(200), 0};
    out->policy.poll_min = milliseconds(5);
    out->policy.poll_max = milliseconds(20);
    out->policy.lease = milliseconds(600);
    return std::move(*out);
  }
  Result<void> open(const OutboxOptions& options) {
    consumer = make_consumer(
        {*database, harness.io(), *clock, harness.captured, harness.rng(), &stats}, options);
    return harness.run(consumer->open());
  }
  void start(Options given) {
    const Result<void> opened = open(read(std::move(given)));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    stopping = ended = false;
    harness.spawn(pump());
  }
  // The error of a start that must be refused.
  Error refusal(Options given) {
    Result<void> opened = open(read(std::move(given)));
    EXPECT_FALSE(opened.ok());
    consumer.reset();
    if (opened.ok()) return {};
    EXPECT_EQ(opened.error().kind, ErrorKind::config);
    return opened.error();
  }
  void stop() {
    if (!consumer) return;
    stopping = true;
    consumer->stop();
    EXPECT_TRUE(until([&] { return ended; }));
    harness.run(consumer->close());
    consumer.reset();
  }
  async<> pump() {
    while (!stopping) {
      Result<Batch> polled = co_await consumer->poll(8);
      if (!polled) break;
      std::vector<Receipt> receipts;
      std::string failed;  // as the engine: what follows a failed one of its key is given back
      for (Exchange& exchange : *polled) {
        const std::string key = exchange.key;
        if (!key.empty() && key == failed) {
          receipts.push_back(Receipt{std::move(exchange), Outcome::released});
          continue;
        }
        receipts.push_back(handle(std::move(exchange)));
        if (receipts.back().outcome == Outcome::failed) failed = key;
      }
      Result<void> settled = co_await consumer->settle(std::move(receipts));
      EXPECT_TRUE(settled.ok());
    }
    ended = true;
  }
  Receipt handle(Exchange exchange) {
    Receipt receipt;
    const std::string body = exchange.message.body.to_text();
    auto failing = failures.find(body);
    if (away) {
      exchange.fail(Error(ErrorKind::not_connected, "nobody there"));
      receipt.outcome = Outcome::failed;
    } else if (failing != failures.end() && failing->second > 0) {
      --failing->second;
      exchange.fail(Error(ErrorKind::transient, "boom"));
      receipt.outcome = Outcome::failed;
    } else {
      receipt.outcome = Outcome::done;
      bodies.push_back(body);
      Exchange& kept = seen.emplace_back();
      kept.message = exchange.message;
      kept.key = exchange.key;
    }
    receipt.exchange = std::move(exchange);
    return receipt;
  }
  bool wait_for(size_t count) {
    return until([&] { return bodies.size() >= count; });
  }
  bool becomes(const std::string& query, int64_t wanted) {
    return until([&] { return number(query) == wanted; });
  }

  void create_debezium(const std::string& more = "") {
    run(postgres() ? "CREATE TABLE outbox_orders (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), "
                     "aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL, type "
                     "varchar(255) NOT NULL, payload jsonb" +
                         more + ")"
                   : "CREATE TABLE outbox_orders (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT "
                     "NOT NULL DEFAULT (lower(hex(randomblob(16)))), aggregatetype TEXT NOT NULL, "
                     "aggregateid TEXT NOT NULL, type TEXT NOT NULL, payload TEXT" +
                         more + ")");
  }
  void add_sequence() {
    if (postgres()) run("ALTER TABLE outbox_orders ADD COLUMN seq bigserial");
  }
  void create_classic() {
    run(postgres() ? "CREATE TABLE \"OutboxMessages\" (\"Id\" bigint GENERATED ALWAYS AS IDENTITY "
                     "PRIMARY KEY, \"EventType\" text NOT NULL, \"Payload\" text NOT NULL, "
                     "\"CreatedAt\" timestamp NOT NULL DEFAULT now(), \"ProcessedAt\" timestamp)"
                   : "CREATE TABLE OutboxMessages (Id INTEGER PRIMARY KEY AUTOINCREMENT, EventType "
                     "TEXT NOT NULL, Payload TEXT NOT NULL, CreatedAt TEXT NOT NULL DEFAULT "
                     "CURRENT_TIMESTAMP, ProcessedAt TEXT)");
  }
  void insert_classic(const std::string& payload) {
    run("INSERT INTO \"OutboxMessages\" (\"EventType\", \"Payload\") VALUES ($1, $2)",
        {"OrderPlaced", payload});
  }
  static Options classic(Options more = {}) {
    Options out = {{"format", "mapped"},         {"table", "OutboxMessages"},
                   {"idColumn", "Id"},           {"typeColumn", "EventType"},
                   {"payloadColumn", "Payload"}, {"createdColumn", "CreatedAt"},
                   {"sentColumn", "ProcessedAt"}};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }

  std::unique_ptr<Consumer> consumer;
  bool stopping = false;
  bool ended = true;
  OutboxBoard stats;
  bool away = false;                    // the target
  std::map<std::string, int> failures;  // body -> how often it fails
  Names bodies;
  std::vector<Exchange> seen;
};

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
  run("CREATE TABLE outbox_orders (id " + std::string(postgres() ? "uuid" : "TEXT") +
      " PRIMARY KEY, aggregatetype TEXT, aggregateid TEXT, type TEXT, payload TEXT)");
  const Error error = refusal({{"format", "debezium"}});
  EXPECT_NE(error.what.find("orders its rows"), std::string::npos);
  if (!postgres()) return;
  ASSERT_NE(error.hint.find("ALTER TABLE outbox_orders ADD COLUMN \"seq\" bigserial;"),
            std::string::npos)
      << error.hint;
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
            std::string(postgres() ? "to_jsonb($2::text)" : "'\"' || $2 || '\"'") + ")",
        {key, body});
  };
  insert("a", "a1");
  insert("a", "a2");
  insert("b", "b1");
  failures["\"a1\""] = 3;
  start({{"format", "debezium"}, {"sentPolicy", "delete"}});
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(bodies, Names{"\"b1\""});
  EXPECT_TRUE(becomes("SELECT max(attempts) FROM drom_trouble WHERE key = 'a'", 2));
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
  run(postgres()
          ? "CREATE TABLE events (id bigserial PRIMARY KEY, payload bytea, headers jsonb, "
            "topic text, tenant text, visible_at timestamptz, published boolean NOT NULL "
            "DEFAULT false)"
          : "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, payload BLOB, headers "
            "TEXT, topic TEXT, tenant TEXT, visible_at TEXT, published BOOLEAN NOT NULL "
            "DEFAULT 0)");
  run("INSERT INTO events (payload, headers, topic, tenant) VALUES ($1, '{\"a\": \"b\"}', 'news', "
      "'t1')",
      {Bytes(std::string("\x01\xff", 2))});
  run("INSERT INTO events (visible_at) VALUES ('2999-01-01T00:00:00Z')");
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
  EXPECT_NE(error.hint.find("ADD COLUMN \"AggregateId\""), std::string::npos) << error.hint;
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

TEST_P(ForeignDb, AColumnThatIsLostWhileRunningIsNamedOnceAndTheRelayGoesOnWhenMended) {
  create_classic();
  insert_classic("a");
  start(classic());
  ASSERT_TRUE(wait_for(1));
  run("ALTER TABLE \"OutboxMessages\" RENAME COLUMN \"EventType\" TO \"Kind\"");
  ASSERT_TRUE(until([&] { return harness.captured.contains("has no column EventType"); }));
  EXPECT_TRUE(harness.captured.contains("ADD COLUMN \"EventType\""));
  let_pass(milliseconds(500));
  size_t lines = 0;
  for (const auto& line : harness.captured.lines)
    if (line.message.find("cannot be worked on") != std::string::npos) ++lines;
  EXPECT_EQ(lines, 1u) << "one line, however often it tries";
  run("ALTER TABLE \"OutboxMessages\" RENAME COLUMN \"Kind\" TO \"EventType\"");
  insert_classic("b");
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(bodies, (Names{"a", "b"}));
}

TEST_P(ForeignDb, AColumnThatOurOwnTableLostIsNamedToo) {
  start({});
  run("INSERT INTO outbox_orders (payload) VALUES ('a')");
  ASSERT_TRUE(wait_for(1));
  run("ALTER TABLE outbox_orders RENAME COLUMN headers TO meta");
  ASSERT_TRUE(until([&] { return harness.captured.contains("no column headers"); }));
  stop();
  const Error error = refusal({});
  EXPECT_NE(error.hint.find("ADD COLUMN \"headers\""), std::string::npos) << error.message();
  ASSERT_TRUE(harness.run(database->script(error.hint)).ok());
  run("INSERT INTO outbox_orders (payload) VALUES ('b')");
  start({});
  ASSERT_TRUE(wait_for(2));
}

TEST_P(ForeignDb, WithoutCreateTableMissingCompanionsAreNamed) {
  create_classic();
  const Error error = refusal(classic({{"createTable", "false"}}));
  EXPECT_NE(error.what.find("drom_lease"), std::string::npos);
  EXPECT_NE(error.hint.find("drom outbox init"), std::string::npos);
}

// --- what relays tell ---------------------------------------------------------------------------

TEST_P(ForeignDb, TheBoardTellsWhatTheRelayDoesAndThatItGetsOn) {
  create_classic();
  for (const char* body : {"a", "b", "bad"}) insert_classic(body);
  failures["bad"] = 100;
  start(classic({{"maximumAttempts", "2"}, {"lease", "100ms"}}));
  ASSERT_TRUE(until([&] { return stats.read().at(0).second.dead == 1; }));
  ASSERT_EQ(stats.read().size(), 1u);
  const auto [uri, now] = stats.read()[0];
  EXPECT_EQ(uri, "outbox:orders");
  EXPECT_EQ(now.sent, 2u);
  EXPECT_EQ(now.failed, 2u);
  EXPECT_EQ(now.buckets, 64);
  EXPECT_TRUE(now.ready) << now.why;
  EXPECT_FALSE(now.paused);
  stop();
  EXPECT_TRUE(stats.read().empty());
}

TEST_P(ForeignDb, ARelayWhoseRowsStayDueIsNotReadyUntilItGetsOn) {
  create_classic();
  insert_classic("a");
  away = true;
  OutboxOptions options = read(classic());
  options.policy.lease = milliseconds(100);
  options.policy.pause = Backoff{milliseconds(20), 2, milliseconds(50), 0};
  ASSERT_TRUE(open(options).ok());
  stopping = ended = false;
  harness.spawn(pump());
  ASSERT_TRUE(until([&] { return !stats.read().at(0).second.ready; }));
  EXPECT_NE(stats.read()[0].second.why.find(" for "), std::string::npos);
  ASSERT_TRUE(until([&] { return stats.read()[0].second.due == 1; }));
  ASSERT_EQ(stats.read()[0].second.lags.size(), 1u);
  EXPECT_EQ(stats.read()[0].second.lags[0].oldest_id, 1);
  away = false;
  ASSERT_TRUE(wait_for(1));
  EXPECT_TRUE(until([&] { return stats.read()[0].second.ready; }));
  let_pass(milliseconds(500));
  EXPECT_TRUE(stats.read()[0].second.ready) << "an idle relay is ready";
}

INSTANTIATE_TEST_SUITE_P(Dialects, ForeignDb, ::testing::ValuesIn(testing::dialects()),
                         testing::dialect_name);

}  // namespace
}  // namespace drom::outbox
