// A relay of a table that is not ours on a real database, with options as a route writes them and a
// target that fails as told.
#pragma once

#include <algorithm>
#include <map>
#include <regex>

#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/table_check.hpp"
#include "support/sql_fixture.hpp"

namespace drom::outbox {

using OptionList = std::vector<std::pair<std::string, std::string>>;
using BodyList = std::vector<std::string>;

class ForeignDb : public testing::SqlTest {
 protected:
  void TearDown() override {
    stop();
    SqlTest::TearDown();
  }

  OutboxOptions read(OptionList given) {
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
  void start(OptionList given) {
    const Result<void> opened = open(read(std::move(given)));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    stopping = ended = false;
    harness.spawn(pump(consumer.get(), &ended));
  }
  // The error of a start that must be refused.
  Error refusal(OptionList given) {
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
  async<> pump(Consumer* from, bool* over) {
    while (!stopping) {
      Result<Batch> polled = co_await from->poll(8);
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
      Result<void> settled = co_await from->settle(std::move(receipts));
      EXPECT_TRUE(settled.ok());
    }
    *over = true;
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

  // The tests write names as the standard has them, and `key`, which is a word of MySQL's own.
  std::string spelled(std::string text) const {
    if (!mysql()) return text;
    if (text.find("\"OutboxMessages") != std::string::npos) std::ranges::replace(text, '"', '`');
    static const std::regex kKey("\\bkey\\b");
    return std::regex_replace(text, kKey, "`key`");
  }
  sql::Rows run(std::string text, List params = {}) {
    return SqlTest::run(spelled(std::move(text)), std::move(params));
  }
  int64_t number(std::string text) { return SqlTest::number(spelled(std::move(text))); }
  std::string quote(std::string_view name) const { return quoted(GetParam(), name); }

  void create_debezium(const std::string& more = "") {
    run(postgres() ? "CREATE TABLE outbox_orders (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), "
                     "aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL, type "
                     "varchar(255) NOT NULL, payload jsonb" +
                         more + ")"
        : mysql()
            ? "CREATE TABLE outbox_orders (seq bigint NOT NULL AUTO_INCREMENT UNIQUE, id "
              "char(36) NOT NULL DEFAULT (uuid()) PRIMARY KEY, aggregatetype varchar(255) NOT "
              "NULL, aggregateid varchar(255) NOT NULL, type varchar(255) NOT NULL, payload "
              "json" +
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
        : mysql()  ? "CREATE TABLE OutboxMessages (Id bigint AUTO_INCREMENT PRIMARY KEY, EventType "
                     "varchar(100) NOT NULL, Payload longtext NOT NULL, CreatedAt datetime(3) NOT "
                     "NULL DEFAULT CURRENT_TIMESTAMP(3), ProcessedAt datetime(3))"
                   : "CREATE TABLE OutboxMessages (Id INTEGER PRIMARY KEY AUTOINCREMENT, EventType "
                     "TEXT NOT NULL, Payload TEXT NOT NULL, CreatedAt TEXT NOT NULL DEFAULT "
                     "CURRENT_TIMESTAMP, ProcessedAt TEXT)");
  }
  void insert_classic(const std::string& payload) {
    run("INSERT INTO \"OutboxMessages\" (\"EventType\", \"Payload\") VALUES ($1, $2)",
        {"OrderPlaced", payload});
  }
  static OptionList classic(OptionList more = {}) {
    OptionList out = {{"format", "mapped"},         {"table", "OutboxMessages"},
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
  BodyList bodies;
  std::vector<Exchange> seen;
};

}  // namespace drom::outbox
