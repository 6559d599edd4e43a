// sql: on real databases, through the registry and validated options.
#include "connectors/sql/sql.hpp"

#include <fstream>

#include "support/endpoints.hpp"
#include "support/sql_fixture.hpp"

namespace drom {
namespace {

using testing::Options;

class SqlComponent : public testing::SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    register_sql_component(harness.registry());
    harness.registry().bind<sql::Database>("db", database);
    run("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, seen INTEGER DEFAULT 0)");
    run("INSERT INTO items (id, name) VALUES (1, 'one'), (2, 'two'), (3, NULL)");
  }
  void TearDown() override {
    producer.reset();
    consumer.reset();
    endpoint.reset();
    harness.registry().bind<sql::Database>("db", nullptr);
    SqlTest::TearDown();
  }
  Exchange send(const std::string& query, Options options, Exchange exchange = {}) {
    options.emplace_back("query", query);
    endpoint = testing::make_endpoint(harness, "sql", options);
    producer = std::move(endpoint->make_producer().value());
    testing::send(harness, *producer, exchange);
    return exchange;
  }
  static Exchange with_body(Value body) {
    Exchange exchange;
    exchange.message.body = std::move(body);
    return exchange;
  }
  Consumer& open(const std::string& query, Options options) {
    options.emplace_back("query", query);
    options.emplace_back("initialDelay", "0");
    endpoint = testing::make_endpoint(harness, "sql", options);
    consumer = std::move(endpoint->make_consumer().value());
    EXPECT_TRUE(harness.run(consumer->open()).ok());
    return *consumer;
  }
  Exchange poll_one() {
    Result<Batch> batch = harness.run(consumer->poll(1));
    EXPECT_TRUE(batch.ok()) << (batch.ok() ? "" : batch.error().message());
    if (!batch.ok() || batch->size() != 1) {
      ADD_FAILURE() << "one exchange expected";
      return {};
    }
    return std::move(batch->front());
  }
  Result<void> settle(Exchange exchange, Outcome outcome) {
    Receipt receipt;
    receipt.exchange = std::move(exchange);
    receipt.outcome = outcome;
    std::vector<Receipt> receipts;
    receipts.push_back(std::move(receipt));
    return harness.run(consumer->settle(std::move(receipts)));
  }
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Producer> producer;
  std::unique_ptr<Consumer> consumer;
};

TEST_P(SqlComponent, SelectListGivesObjectsAndTheirCount) {
  const Exchange out = send("select id, name from items order by id", {});
  ASSERT_FALSE(out.failed()) << out.error->message();
  const List* list = out.message.body.as_list();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ(*(*list)[0].as_object()->find("name"), Value("one"));
  EXPECT_TRUE((*list)[2].as_object()->find("name")->is_null());
  EXPECT_EQ(*out.message.headers.find("CamelSqlRowCount"), Value(3));
}

TEST_P(SqlComponent, SelectOneGivesTheObjectTheValueOrNull) {
  Exchange in;
  in.message.headers.set("id", 2);
  Exchange out = send("select id, name from items where id = :#id", {{"outputType", "SelectOne"}},
                      std::move(in));
  ASSERT_FALSE(out.failed()) << out.error->message();
  EXPECT_EQ(*out.message.body.as_object()->find("name"), Value("two"));
  out = send("select count(*) from items", {{"outputType", "SelectOne"}, {"outputHeader", "n"}},
             with_body("kept"));
  EXPECT_EQ(*out.message.headers.find("n"), Value(3));
  EXPECT_EQ(out.message.body, Value("kept"));
  out = send("select name from items where id = 99", {{"outputType", "SelectOne"}}, with_body("x"));
  EXPECT_TRUE(out.message.body.is_null());
  EXPECT_EQ(*out.message.headers.find("CamelSqlRowCount"), Value(0));
  out = send("select name from items", {{"outputType", "SelectOne"}});
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::data);
}

TEST_P(SqlComponent, AnUpdateKeepsTheBodyAndCounts) {
  Object body;
  body.set("name", "new");
  const Exchange out = send("update items set name = :#name where id < 3", {}, with_body(body));
  ASSERT_FALSE(out.failed()) << out.error->message();
  EXPECT_EQ(*out.message.headers.find("CamelSqlUpdateCount"), Value(2));
  EXPECT_TRUE(out.message.body.is_object());
  EXPECT_EQ(number("select count(*) from items where name = 'new'"), 2);
}

TEST_P(SqlComponent, AHostileValueStaysAValue) {
  const Exchange out = send("update items set name = :#${body} where id = 1", {},
                            with_body("x'; delete from items; --"));
  ASSERT_FALSE(out.failed()) << out.error->message();
  EXPECT_EQ(number("select count(*) from items"), 3);
}

TEST_P(SqlComponent, NoHeaderReplacesTheStatement) {
  Exchange in;
  in.message.headers.set("CamelSqlQuery", "delete from items");
  const Exchange out =
      send("select count(*) from items", {{"outputType", "SelectOne"}}, std::move(in));
  EXPECT_EQ(out.message.body, Value(3));
}

TEST_P(SqlComponent, InTakesAList) {
  Exchange in;
  in.message.headers.set("ids", List{1, 3, 77});
  const Exchange out =
      send("select id from items where id in (:#in:ids) order by id", {}, std::move(in));
  ASSERT_FALSE(out.failed()) << out.error->message();
  EXPECT_EQ(out.message.body.as_list()->size(), 2u);
}

TEST_P(SqlComponent, ABatchIsAllOrNothing) {
  const std::string insert = "insert into items (id, name) values (#, #)";
  List good{List{10, "a"}, List{11, "b"}};
  Exchange out = send(insert, {{"batch", "true"}}, with_body(good));
  ASSERT_FALSE(out.failed()) << out.error->message();
  EXPECT_EQ(*out.message.headers.find("CamelSqlUpdateCount"), Value(2));
  List bad{List{12, "a"}, List{10, "twice"}};
  out = send(insert, {{"batch", "true"}}, with_body(bad));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::rejected);
  EXPECT_EQ(number("select count(*) from items where id = 12"), 0);
}

TEST_P(SqlComponent, StatementsJoinTheUnitOfWork) {
  UnitOfWork unit;
  Exchange in;
  in.unit = &unit;
  const Exchange out = send("delete from items", {}, std::move(in));
  ASSERT_FALSE(out.failed()) << out.error->message();
  harness.run(unit.rollback());
  EXPECT_EQ(number("select count(*) from items"), 3);
}

TEST_P(SqlComponent, AFailedStatementMarksTheUnitForRollback) {
  UnitOfWork unit;
  Exchange in;
  in.unit = &unit;
  const Exchange out = send("insert into items (id) values (1)", {}, std::move(in));
  ASSERT_TRUE(out.failed());
  EXPECT_TRUE(unit.rollback_only());
  harness.run(unit.rollback());
}

TEST_P(SqlComponent, EachRowIsAMessageAndOnConsumeSeesItsFields) {
  open("select * from items where seen = 0 order by id",
       {{"onConsume", "update items set seen = 1 where id = :#id"},
        {"onConsumeFailed", "update items set seen = 2 where id = :#id"},
        {"onConsumeBatchComplete", "update items set seen = seen + 10"},
        {"expectedUpdateCount", "1"},
        {"delay", "5"}});
  Exchange first = poll_one();
  EXPECT_EQ(*first.message.body.as_object()->find("name"), Value("one"));
  EXPECT_EQ(*first.properties.find("CamelBatchSize"), Value(3));
  first.message.body = "changed by the route";
  EXPECT_TRUE(settle(std::move(first), Outcome::done).ok());
  EXPECT_EQ(number("select seen from items where id = 1"), 1);
  EXPECT_TRUE(settle(poll_one(), Outcome::failed).ok());
  EXPECT_EQ(number("select seen from items where id = 2"), 2);
  Exchange last = poll_one();
  EXPECT_EQ(*last.properties.find("CamelBatchComplete"), Value(true));
  EXPECT_TRUE(settle(std::move(last), Outcome::released).ok());
  EXPECT_EQ(number("select seen from items where id = 3"), 10) << "only onConsumeBatchComplete ran";
  EXPECT_EQ(number("select seen from items where id = 1"), 11);
}

TEST_P(SqlComponent, AFailedOnConsumeMayEndTheBatch) {
  open("select * from items order by id",
       {{"onConsume", "update items set seen = 1 where id = :#id and id > 1"},
        {"expectedUpdateCount", "1"},
        {"breakBatchOnConsumeFail", "true"},
        {"delay", "5"}});
  const Result<void> settled = settle(poll_one(), Outcome::done);
  ASSERT_FALSE(settled.ok());
  EXPECT_NE(settled.error().what.find("expected 1"), std::string::npos);
  EXPECT_EQ(*poll_one().message.body.as_object()->find("id"), Value(1)) << "a new poll begins";
}

TEST_P(SqlComponent, AllRowsCanBeOneMessageAndPollsAreLimited) {
  open("select id from items order by id", {{"useIterator", "false"}, {"maxMessagesPerPoll", "2"}});
  EXPECT_EQ(poll_one().message.body.as_list()->size(), 2u);
  open("select id from items where id > 100",
       {{"useIterator", "false"}, {"routeEmptyResultSet", "true"}});
  EXPECT_TRUE(poll_one().message.body.as_list()->empty());
}

TEST_P(SqlComponent, APollThatFindsNothingSaysSoAndStopEndsTheNextOne) {
  open("select id from items where id > 100", {{"repeatCount", "1"}});
  const Result<Batch> nothing = harness.run(consumer->poll(1));
  ASSERT_TRUE(nothing.ok());
  EXPECT_TRUE(nothing->empty());
  bool done = false;
  harness.spawn([](Consumer& c, bool& flag) -> async<> {
    Result<Batch> batch = co_await c.poll(1);
    flag = batch.ok() && batch->empty();
  }(*consumer, done));
  let_pass(milliseconds(50));
  EXPECT_FALSE(done);
  consumer->stop();
  EXPECT_TRUE(until([&] { return done; }));
}

TEST_P(SqlComponent, WrongOptionsAreConfigErrors) {
  for (const Options& options :
       {Options{{"query", "select $1"}}, Options{{"query", "file:/nowhere.sql"}},
        Options{{"query", "select 1"}, {"onConsume", "select :#${"}},
        Options{{"query", "select 1"}, {"dataSource", "#other"}}}) {
    const Result<std::unique_ptr<Endpoint>> made = testing::try_endpoint(harness, "sql", options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().kind, ErrorKind::config);
  }
}

TEST_P(SqlComponent, TheStatementMayStandInAFile) {
  const std::string path = (folder / "query.sql").string();
  std::ofstream(path) << "-- how many?\nselect count(*) from items\nwhere id > :#${body}\n";
  const Exchange out = send("file:" + path, {{"outputType", "SelectOne"}}, with_body(1));
  ASSERT_FALSE(out.failed()) << out.error->message();
  EXPECT_EQ(out.message.body, Value(2));
}

INSTANTIATE_TEST_SUITE_P(Dialects, SqlComponent, ::testing::ValuesIn(testing::all_dialects()),
                         testing::dialect_name);

}  // namespace
}  // namespace drom
