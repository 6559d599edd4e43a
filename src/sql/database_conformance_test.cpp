#include "sql/database_conformance.hpp"

#include <cstdlib>
#include <limits>

#include "drom/base/json.hpp"

namespace drom::sql {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;
using std::chrono::seconds;

const char* const kItems = "CREATE TABLE items (id BIGINT PRIMARY KEY, name TEXT NOT NULL)";

List values(Value a, Value b) {
  List out;
  out.push_back(std::move(a));
  out.push_back(std::move(b));
  return out;
}
List values(Value a) {
  List out;
  out.push_back(std::move(a));
  return out;
}

Command insert(int64_t id, std::string name) {
  return Command{"INSERT INTO items (id, name) VALUES ($1, $2)", values(id, std::move(name))};
}

// --- statements -------------------------------------------------------------------------------

TEST_P(DatabaseConformance, RunsAStatementAndTellsWhatItDid) {
  run(kItems);
  const Rows inserted = run("INSERT INTO items (id, name) VALUES ($1, $2), (2, 'two')", values(1, "one"));
  EXPECT_EQ(inserted.affected, 2);
  const Rows rows = run("SELECT id, name FROM items ORDER BY id");
  EXPECT_EQ(rows.columns, (std::vector<std::string>{"id", "name"}));
  ASSERT_EQ(rows.rows.size(), 2U);
  EXPECT_EQ(to_json(rows.object(1)), R"({"id":2,"name":"two"})");
  EXPECT_EQ(rows.affected, 0);
  EXPECT_EQ(run("UPDATE items SET name = 'x'").affected, 2);
  EXPECT_EQ(run("DELETE FROM items WHERE id = 7").affected, 0);
}

TEST_P(DatabaseConformance, ReturnsRowsOfAWrite) {
  run(kItems);
  const Rows rows = run("INSERT INTO items (id, name) VALUES (5, 'five') RETURNING id");
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_EQ(rows.rows[0][0], Value(5));
  EXPECT_EQ(rows.affected, 1);
}

TEST_P(DatabaseConformance, UsesAParameterTwiceAndInAnyOrder) {
  const Rows rows = run("SELECT CAST($2 AS TEXT), CAST($1 AS TEXT), CAST($2 AS TEXT)", values("a", "b"));
  EXPECT_EQ(rows.rows[0], (List{Value("b"), Value("a"), Value("b")}));
}

TEST_P(DatabaseConformance, RefusesTheWrongNumberOfParameters) {
  run(kItems);
  EXPECT_EQ(fail("SELECT id FROM items WHERE id = $1").kind, ErrorKind::rejected);
  EXPECT_EQ(fail("SELECT id FROM items WHERE id = $1", values(1, 2)).kind, ErrorKind::rejected);
  EXPECT_EQ(run("SELECT id FROM items WHERE id = $1", values(1)).rows.size(), 0U);
}

TEST_P(DatabaseConformance, RefusesSeveralStatementsInOneCall) {
  run(kItems);
  const Error error = fail("DELETE FROM items; DROP TABLE items");
  EXPECT_EQ(error.kind, ErrorKind::rejected);
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, TellsWrongSqlFromABrokenConstraint) {
  EXPECT_EQ(fail("SELEKT 1").kind, ErrorKind::rejected);
  EXPECT_EQ(fail("SELECT * FROM nowhere").kind, ErrorKind::rejected);
  run(kItems);
  run("CREATE TABLE parts (item BIGINT REFERENCES items (id), n INT CHECK (n > 0))");
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
  const bool sqlite = database->dialect() == Dialect::sqlite;
  const auto expect = [&](const std::string& sql, const char* in_sqlite, const char* in_postgres) {
    const Error error = fail(sql);
    EXPECT_EQ(error.kind, ErrorKind::rejected) << sql;
    EXPECT_EQ(error.type, sqlite ? in_sqlite : in_postgres) << error.what;
  };
  expect("INSERT INTO items (id, name) VALUES (1, 'again')", "SQLITE_CONSTRAINT_PRIMARYKEY", "23505");
  expect("INSERT INTO items (id, name) VALUES (2, NULL)", "SQLITE_CONSTRAINT_NOTNULL", "23502");
  expect("INSERT INTO parts (item, n) VALUES (9, 1)", "SQLITE_CONSTRAINT_FOREIGNKEY", "23503");
  expect("INSERT INTO parts (item, n) VALUES (1, 0)", "SQLITE_CONSTRAINT_CHECK", "23514");
  EXPECT_EQ(count("items"), 1);
}

TEST_P(DatabaseConformance, ReportsAConstraintThatIsCheckedAtTheCommit) {
  run(kItems);
  run("CREATE TABLE parts (item BIGINT REFERENCES items (id) DEFERRABLE INITIALLY DEFERRED)");
  EXPECT_EQ(fail("INSERT INTO parts (item) VALUES (9)").kind, ErrorKind::rejected);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO parts (item) VALUES (9)"));
  const Result<void> committed = harness.run(transaction->commit());
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, ErrorKind::rejected);
  EXPECT_EQ(count("parts"), 0);
}

TEST_P(DatabaseConformance, SurvivesMoreStatementsThanItKeepsPrepared) {
  run(kItems);
  for (int i = 0; i < 1000; ++i) {
    const Rows rows = run("SELECT " + std::to_string(i) + " AS n");
    ASSERT_EQ(rows.rows.at(0)[0], Value(i));
  }
  // All of them in one trip, more than the cache holds.
  std::vector<Command> commands;
  for (int i = 0; i < 600; ++i)
    commands.push_back(Command{"INSERT INTO items (id, name) VALUES (" + std::to_string(i) + ", $1)", values("n")});
  const auto done = harness.run(database->execute_all(std::move(commands)));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(count("items"), 600);
}

TEST_P(DatabaseConformance, SeesASchemaThatHasChanged) {
  run(kItems);
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
  EXPECT_EQ(run("SELECT * FROM items").columns.size(), 2U);
  run("ALTER TABLE items ADD COLUMN extra TEXT");
  // A plan made for the old shape may cost one retry, no more.
  const Result<Rows> first = harness.run(database->execute("SELECT * FROM items", {}));
  if (!first) {
    EXPECT_EQ(first.error().kind, ErrorKind::transient);
  }
  const Rows rows = run("SELECT * FROM items");
  EXPECT_EQ(rows.columns, (std::vector<std::string>{"id", "name", "extra"}));
}

// --- values -----------------------------------------------------------------------------------

TEST_P(DatabaseConformance, KeepsEveryKindOfValue) {
  const Backend& b = GetParam();
  run("CREATE TABLE v (i BIGINT, r DOUBLE PRECISION, d " + b.decimal_type + ", t TEXT, b " + b.bytes_type + ")");
  const std::string odd = "quote ' \" \\ newline \n tab \t \xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\xAA $1 ; --";
  const std::string binary("\x00\x01\xff\x00", 4);
  const auto round_trip = [&](Value i, Value r, Value d, Value t, Value bytes) {
    run("DELETE FROM v");
    const List row{std::move(i), std::move(r), std::move(d), std::move(t), std::move(bytes)};
    run("INSERT INTO v (i, r, d, t, b) VALUES ($1, $2, $3, $4, $5)", row);
    return run("SELECT i, r, d, t, b FROM v").rows.at(0);
  };
  List row = round_trip(std::numeric_limits<int64_t>::max(), 0.1, Decimal{"12345678901234567890.0001"}, odd,
                        Bytes(binary));
  EXPECT_EQ(row[0], Value(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(row[1], Value(0.1));
  EXPECT_EQ(row[2].to_text(), "12345678901234567890.0001");
  EXPECT_EQ(row[3], Value(odd));
  EXPECT_EQ(row[4], Value(Bytes(binary)));

  row = round_trip(std::numeric_limits<int64_t>::min(), 1e300, Decimal{"-0.000000000000000001"}, "", Bytes(""));
  EXPECT_EQ(row[0], Value(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(row[1], Value(1e300));
  EXPECT_EQ(row[2].to_text(), "-0.000000000000000001");
  EXPECT_EQ(row[3], Value(""));
  EXPECT_EQ(row[4], Value(Bytes("")));

  row = round_trip(nullptr, nullptr, nullptr, nullptr, nullptr);
  for (const Value& value : row) EXPECT_TRUE(value.is_null());
}

TEST_P(DatabaseConformance, KeepsTimesBooleansAndDocuments) {
  run("CREATE TABLE v (t " + GetParam().time_type + ", f BOOLEAN, j TEXT)");
  const WallTime time(microseconds(1'795'000'000'123'456));
  Object document;
  document.set("a", List{Value(1), Value(nullptr), Value("x\"y")});
  run("INSERT INTO v (t, f, j) VALUES ($1, $2, $3)", List{Value(time), Value(true), Value(document)});
  const List row = run("SELECT t, f, j FROM v").rows.at(0);
  const Result<WallTime> back = row[0].as_time() ? Result<WallTime>(*row[0].as_time())
                                                 : parse_iso8601(row[0].to_text());
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, time);
  EXPECT_TRUE(row[1] == Value(true) || row[1] == Value(1));
  EXPECT_EQ(row[2].to_text(), R"({"a":[1,null,"x\"y"]})");
  EXPECT_EQ(run("SELECT t FROM v WHERE t = $1", values(time)).rows.size(), 1U);
}

TEST_P(DatabaseConformance, CarriesTenMegabytes) {
  run("CREATE TABLE v (t TEXT, b " + GetParam().bytes_type + ")");
  std::string big(10'000'000, '\0');
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 31 + i / 251);
  const std::string text(10'000'000, 'x');
  run("INSERT INTO v (t, b) VALUES ($1, $2)", values(text, Bytes(big)));
  const List row = run("SELECT t, b FROM v").rows.at(0);
  EXPECT_TRUE(row[0] == Value(text));
  EXPECT_TRUE(row[1] == Value(Bytes(big)));
}

TEST_P(DatabaseConformance, TakesBytesWhereTextIsWanted) {
  run("CREATE TABLE v (t TEXT)");
  run("INSERT INTO v (t) VALUES ($1)", values(Bytes("{\"a\": 1}")));
  EXPECT_EQ(run("SELECT t FROM v").rows.at(0)[0].raw(), "{\"a\": 1}");
}

// --- transactions -----------------------------------------------------------------------------

TEST_P(DatabaseConformance, ShowsATransactionOnlyAfterItsCommit) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  EXPECT_EQ(in(*transaction, "SELECT id FROM items")->rows.size(), 1U);
  EXPECT_EQ(count("items"), 0);
  ASSERT_TRUE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 1);
}

TEST_P(DatabaseConformance, ForgetsATransactionThatRollsBack) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  harness.run(transaction->rollback());
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, RollsBackATransactionThatIsDestroyed) {
  run(kItems);
  {
    const auto transaction = begin();
    ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  }
  EXPECT_EQ(count("items"), 0);
  run("INSERT INTO items (id, name) VALUES (1, 'one')");  // nobody holds a lock any more
}

TEST_P(DatabaseConformance, CommitsNothingAfterAFailedStatement) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  const Result<Rows> broken = in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'again')");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::rejected);
  const Result<Rows> after = in(*transaction, "INSERT INTO items (id, name) VALUES (2, 'two')");
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::rejected);
  EXPECT_FALSE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, CommitsATransactionThatDidNothing) {
  const auto transaction = begin();
  EXPECT_TRUE(harness.run(transaction->commit()));
}

TEST_P(DatabaseConformance, DoesNotLetAStatementEndOrOpenATransaction) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  const Result<Rows> ended = in(*transaction, "ROLLBACK");
  EXPECT_FALSE(ended);
  EXPECT_FALSE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 0);
  EXPECT_EQ(fail("BEGIN").kind, ErrorKind::rejected);
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
  EXPECT_EQ(count("items"), 1);
}

async<> add_some(Database& database, int64_t from, int& committed) {
  Result<std::unique_ptr<Transaction>> begun = co_await database.begin();
  Transaction& transaction = **begun;
  for (int64_t i = from; i < from + 10; ++i) {
    const Command command = insert(i, "n");
    const Result<Rows> done = co_await transaction.execute(command.sql, command.params);
    if (!done) co_return;
  }
  const Result<void> done = co_await transaction.commit();
  if (done) ++committed;
}

TEST_P(DatabaseConformance, RunsManyTransactionsSideBySide) {
  run(kItems);
  int committed = 0;
  for (int i = 0; i < 20; ++i) harness.spawn(add_some(*database, i * 10, committed));
  int last = 0;
  harness.run(add_some(*database, 1000, last));
  while (committed < 20) harness.run(add_some(*database, 2000 + 10 * last, last));
  EXPECT_EQ(count("items"), 10 * (20 + last));
}

TEST_P(DatabaseConformance, RunsABatchInOneTransaction) {
  run(kItems);
  std::vector<Command> commands;
  commands.push_back(insert(1, "one"));
  commands.push_back(insert(2, "two"));
  commands.push_back(Command{"SELECT count(*) FROM items", {}});
  commands.push_back(Command{"DELETE FROM items WHERE id = $1", values(2)});
  const auto done = harness.run(database->execute_all(std::move(commands)));
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_EQ(done->size(), 4U);
  EXPECT_EQ((*done)[0].affected, 1);
  EXPECT_EQ((*done)[2].rows.at(0)[0], Value(2));
  EXPECT_EQ((*done)[3].affected, 1);
  EXPECT_EQ(count("items"), 1);
  EXPECT_TRUE(harness.run(database->execute_all({})));
}

TEST_P(DatabaseConformance, RunsNothingOfABatchThatFails) {
  run(kItems);
  std::vector<Command> commands;
  for (int i = 0; i < 300; ++i) commands.push_back(insert(i == 200 ? 7 : i, std::string(200, 'x')));
  const auto done = harness.run(database->execute_all(std::move(commands)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::rejected);
  EXPECT_NE(done.error().what.find("statement 201 of 300"), std::string::npos) << done.error().what;
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, RunsABatchInsideATransaction) {
  run(kItems);
  const auto transaction = begin();
  std::vector<Command> commands;
  commands.push_back(insert(1, "one"));
  commands.push_back(insert(2, "two"));
  ASSERT_TRUE(harness.run(transaction->execute_all(std::move(commands))));
  EXPECT_EQ(count("items"), 0);
  ASSERT_TRUE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 2);
}

TEST_P(DatabaseConformance, GivesUpWaitingForAPlaceWithAHint) {
  run(kItems);
  const auto impatient = connect(1, milliseconds(20));
  // It has one place, so a transaction that is opened inside another waits for itself.
  auto outer = harness.run(impatient->begin());
  ASSERT_TRUE(harness.run((*outer)->execute("INSERT INTO items (id, name) VALUES (1, 'one')", {})));
  auto inner = harness.run(impatient->begin());
  const Result<Rows> stuck = harness.run((*inner)->execute("INSERT INTO items (id, name) VALUES (2, 'two')", {}));
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().kind, ErrorKind::timeout);
  EXPECT_NE(stuck.error().hint, "");
  EXPECT_TRUE(harness.run((*outer)->commit()));
  auto later = harness.run(impatient->begin());
  EXPECT_TRUE(harness.run((*later)->execute("INSERT INTO items (id, name) VALUES (2, 'two')", {})));
  EXPECT_TRUE(harness.run((*later)->commit()));
  harness.run(impatient->close());
  EXPECT_EQ(count("items"), 2);
}

async<> two_branches(Transaction& transaction, int64_t id, std::vector<int64_t>& done) {
  const Command command = insert(id, "n");
  const Result<Rows> rows = co_await transaction.execute(command.sql, command.params);
  if (rows) done.push_back(id);
}

TEST_P(DatabaseConformance, LetsParallelBranchesTakeTurnsInATransaction) {
  run(kItems);
  const auto transaction = begin();
  std::vector<int64_t> done;
  for (int64_t i = 1; i <= 5; ++i) harness.spawn(two_branches(*transaction, i, done));
  harness.run(two_branches(*transaction, 6, done));
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 6);
}

// --- scripts, opening, closing ----------------------------------------------------------------

TEST_P(DatabaseConformance, RunsAScriptAsAWhole) {
  const Result<void> done = harness.run(database->script(
      "CREATE TABLE a (x INT); -- a comment; with a semicolon\nCREATE TABLE b (y TEXT DEFAULT ';');\n"
      "INSERT INTO a (x) VALUES (1);"));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(count("a"), 1);
  EXPECT_FALSE(harness.run(database->script("CREATE TABLE c (x INT); CREATE TABLE a (x INT);")));
  EXPECT_EQ(fail("SELECT * FROM c").kind, ErrorKind::rejected);
}

TEST_P(DatabaseConformance, OpensTwiceClosesTwiceAndOpensAgain) {
  run(kItems);
  EXPECT_TRUE(harness.run(database->open()));
  harness.run(database->close());
  harness.run(database->close());
  const Error closed = fail("SELECT 1");
  EXPECT_EQ(closed.kind, ErrorKind::not_connected);
  EXPECT_FALSE(harness.run(database->begin()));
  EXPECT_TRUE(harness.run(database->open()));
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, OutlivesItsDataSourceInATransaction) {
  run(kItems);
  auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  const auto other = connect();
  database.reset();
  transaction.reset();
  database = other;
  EXPECT_EQ(count("items"), 0);
}

// --- hints ------------------------------------------------------------------------------------

async<> wait_on(Database& database, std::string channel, milliseconds timeout, Clock& clock,
                std::optional<milliseconds>& waited) {
  const SteadyTime start = clock.steady();
  co_await database.wait(std::move(channel), timeout);
  waited = std::chrono::duration_cast<milliseconds>(clock.steady() - start);
}

TEST_P(DatabaseConformance, WakesWaitersByASignal) {
  std::optional<milliseconds> first;
  std::optional<milliseconds> second;
  std::optional<milliseconds> other;
  harness.spawn(wait_on(*database, "orders", hours(1), harness.clock(), first));
  harness.spawn(wait_on(*database, "orders", hours(1), harness.clock(), second));
  harness.spawn(wait_on(*database, "other", hours(1), harness.clock(), other));
  harness.settle();
  database->signal("orders");
  harness.settle();
  EXPECT_EQ(first, milliseconds(0));
  EXPECT_EQ(second, milliseconds(0));
  EXPECT_FALSE(other);
  database->cancel_waits();
  harness.settle();
  EXPECT_EQ(other, milliseconds(0));
}

TEST_P(DatabaseConformance, KeepsASignalThatCameTooEarly) {
  database->signal("orders");
  std::optional<milliseconds> waited;
  harness.run(wait_on(*database, "orders", hours(1), harness.clock(), waited));
  EXPECT_EQ(waited, milliseconds(0));
  harness.spawn(wait_on(*database, "orders", hours(1), harness.clock(), waited = std::nullopt));
  harness.settle();
  EXPECT_FALSE(waited);
  harness.advance(hours(1));
  EXPECT_EQ(waited, milliseconds(hours(1)));
}

// --- the unit of work -------------------------------------------------------------------------

TEST_P(DatabaseConformance, JoinsTheUnitOfWorkOfTheExchange) {
  run(kItems);
  UnitOfWork unit;
  Exchange exchange;
  exchange.unit = &unit;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  std::vector<Command> more;
  more.push_back(insert(2, "two"));
  ASSERT_TRUE(harness.run(execute_all(exchange, *database, std::move(more))));
  EXPECT_EQ(count("items"), 0);
  ASSERT_TRUE(harness.run(unit.commit()));
  EXPECT_EQ(count("items"), 2);
}

TEST_P(DatabaseConformance, WorksWithoutAUnitOfWork) {
  run(kItems);
  Exchange exchange;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  EXPECT_EQ(count("items"), 1);
}

TEST_P(DatabaseConformance, MarksTheUnitForRollbackWhenAStatementFails) {
  run(kItems);
  UnitOfWork unit;
  Exchange exchange;
  exchange.unit = &unit;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  EXPECT_FALSE(unit.rollback_only());
  EXPECT_FALSE(harness.run(execute(exchange, *database, one.sql, one.params)));
  EXPECT_TRUE(unit.rollback_only());
  harness.run(unit.rollback());
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, RefusesTwoDataSourcesInOneUnit) {
  run(kItems);
  const auto other = connect();
  UnitOfWork unit;
  Exchange exchange;
  exchange.unit = &unit;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  const Result<Rows> refused = harness.run(execute(exchange, *other, one.sql, one.params));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::config);
  EXPECT_TRUE(unit.rollback_only());
  harness.run(unit.rollback());
  harness.run(other->close());
}

// --- cancellation -----------------------------------------------------------------------------

async<> hold_and_wait(Database& database, Clock& clock, bool& holds) {
  Result<std::unique_ptr<Transaction>> begun = co_await database.begin();
  const Command command = insert(1, "one");
  const Result<Rows> done = co_await (*begun)->execute(command.sql, command.params);
  holds = done.ok();
  const std::unique_ptr<Alarm> never = clock.make_alarm();
  co_await never->wait(milliseconds::max());
}

TEST_P(DatabaseConformance, RollsBackWhenTheHolderOfATransactionIsCancelled) {
  run(kItems);
  asio::cancellation_signal cancel;
  bool holds = false;
  bool ended = false;
  asio::co_spawn(harness.io(), hold_and_wait(*database, harness.clock(), holds),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  while (!holds) count("items");
  cancel.emit(asio::cancellation_type::terminal);
  harness.settle();
  EXPECT_TRUE(ended);
  EXPECT_EQ(count("items"), 0);
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
}

TEST_P(DatabaseConformance, LeavesTheQueueWhenAWaiterIsCancelled) {
  run(kItems);
  const auto impatient = connect(1);
  auto outer = harness.run(impatient->begin());
  ASSERT_TRUE(harness.run((*outer)->execute("INSERT INTO items (id, name) VALUES (5, 'five')", {})));
  asio::cancellation_signal cancel;
  bool holds = false;
  bool ended = false;
  asio::co_spawn(harness.io(), hold_and_wait(*impatient, harness.clock(), holds),
                 asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  harness.settle();
  cancel.emit(asio::cancellation_type::terminal);
  harness.settle();
  EXPECT_TRUE(ended);
  ASSERT_TRUE(harness.run((*outer)->commit()));
  outer->reset();
  harness.run(impatient->close());
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
  EXPECT_EQ(count("items"), 2);
}

std::vector<Backend> backends() {
  std::vector<Backend> out;
  out.push_back(sqlite_backend());
#ifdef DROM_POSTGRES
  out.push_back(postgres_backend());
#endif
  return out;
}

INSTANTIATE_TEST_SUITE_P(Dialects, DatabaseConformance, ::testing::ValuesIn(backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drom::sql
