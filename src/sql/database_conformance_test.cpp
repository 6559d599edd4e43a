// One suite, every dialect: the other parts are in transactions_conformance_test.cpp and
// hints_conformance_test.cpp.
#include <limits>

#include "drom/base/json.hpp"
#include "sql/database_fixture.hpp"

namespace drom::sql {
namespace {

TEST_P(DatabaseConformance, RunsAStatementAndTellsWhatItDid) {
  run(kItems);
  const Rows inserted =
      run("INSERT INTO items (id, name) VALUES ($1, $2), (2, 'two')", values(1, "one"));
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
  const std::string as = " AS " + GetParam().text_cast + ")";
  const Rows rows =
      run("SELECT CAST($2" + as + ", CAST($1" + as + ", CAST($2" + as, values("a", "b"));
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
  const auto expect = [&](const std::string& sql, const char* in_sqlite, const char* in_postgres) {
    const Error error = fail(sql);
    EXPECT_EQ(error.kind, ErrorKind::rejected) << sql;
    switch (database->dialect()) {
      case Dialect::sqlite: EXPECT_EQ(error.type, in_sqlite) << error.what; break;
      case Dialect::postgres: EXPECT_EQ(error.type, in_postgres) << error.what; break;
      case Dialect::mysql: EXPECT_EQ(error.type, "23000") << error.what; break;
    }
  };
  expect("INSERT INTO items (id, name) VALUES (1, 'again')", "SQLITE_CONSTRAINT_PRIMARYKEY",
         "23505");
  expect("INSERT INTO items (id, name) VALUES (2, NULL)", "SQLITE_CONSTRAINT_NOTNULL", "23502");
  expect("INSERT INTO parts (item, n) VALUES (9, 1)", "SQLITE_CONSTRAINT_FOREIGNKEY", "23503");
  expect("INSERT INTO parts (item, n) VALUES (1, 0)", "SQLITE_CONSTRAINT_CHECK", "23514");
  EXPECT_EQ(count("items"), 1);
}

TEST_P(DatabaseConformance, ReportsAConstraintThatIsCheckedAtTheCommit) {
  if (!GetParam().deferred_constraints) GTEST_SKIP() << "it checks all constraints at once";
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
    commands.push_back(Command{
        "INSERT INTO items (id, name) VALUES (" + std::to_string(i) + ", $1)", values("n")});
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

// The digits of a decimal without what the scale of its column has added.
std::string digits(const Value& value, const Backend& backend) {
  std::string text = value.to_text();
  if (backend.fixed_scale) text.erase(text.find_last_not_of('0') + 1);
  return text;
}

TEST_P(DatabaseConformance, KeepsEveryKindOfValue) {
  const Backend& b = GetParam();
  run("CREATE TABLE v (i BIGINT, r DOUBLE PRECISION, d " + b.decimal_type + ", t TEXT, b " +
      b.bytes_type + ")");
  const std::string odd =
      "quote ' \" \\ newline \n tab \t \xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\xAA $1 ; --";
  const std::string binary("\x00\x01\xff\x00", 4);
  const auto round_trip = [&](Value i, Value r, Value d, Value t, Value bytes) {
    run("DELETE FROM v");
    const List row{std::move(i), std::move(r), std::move(d), std::move(t), std::move(bytes)};
    run("INSERT INTO v (i, r, d, t, b) VALUES ($1, $2, $3, $4, $5)", row);
    return run("SELECT i, r, d, t, b FROM v").rows.at(0);
  };
  List row = round_trip(std::numeric_limits<int64_t>::max(), 0.1,
                        Decimal{"12345678901234567890.0001"}, odd, Bytes(binary));
  EXPECT_EQ(row[0], Value(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(row[1], Value(0.1));
  EXPECT_EQ(digits(row[2], b), "12345678901234567890.0001");
  EXPECT_EQ(row[3], Value(odd));
  EXPECT_EQ(row[4], Value(Bytes(binary)));

  row = round_trip(std::numeric_limits<int64_t>::min(), 1e300, Decimal{"-0.000000000000000001"}, "",
                   Bytes(""));
  EXPECT_EQ(row[0], Value(std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(row[1], Value(1e300));
  EXPECT_EQ(digits(row[2], b), "-0.000000000000000001");
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
  run("INSERT INTO v (t, f, j) VALUES ($1, $2, $3)",
      List{Value(time), Value(true), Value(document)});
  const List row = run("SELECT t, f, j FROM v").rows.at(0);
  const Result<WallTime> back =
      row[0].as_time() ? Result<WallTime>(*row[0].as_time()) : parse_iso8601(row[0].to_text());
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, time);
  EXPECT_TRUE(row[1] == Value(true) || row[1] == Value(1));
  EXPECT_EQ(row[2].to_text(), R"({"a":[1,null,"x\"y"]})");
  EXPECT_EQ(run("SELECT t FROM v WHERE t = $1", values(time)).rows.size(), 1U);
}

TEST_P(DatabaseConformance, CarriesTenMegabytes) {
  run("CREATE TABLE v (t " + GetParam().text_type + ", b " + GetParam().bytes_type + ")");
  std::string big;
  big.resize(10'000'000);
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 31 + i / 251);
  std::string text;
  text.resize(big.size(), 'x');
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

TEST_P(DatabaseConformance, RunsAScriptAsAWhole) {
  const Result<void> done =
      harness.run(database->script("CREATE TABLE a (x INT); -- a comment; with a semicolon\nCREATE "
                                   "TABLE b (y TEXT DEFAULT ';');\n"
                                   "INSERT INTO a (x) VALUES (1);"));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(count("a"), 1);
  if (!GetParam().transactional_ddl) {
    EXPECT_FALSE(harness.run(
        database->script("INSERT INTO a (x) VALUES (2); INSERT INTO nowhere (x) VALUES (3)")));
    EXPECT_EQ(count("a"), 1);
    return;
  }
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

std::vector<Backend> backends() {
  std::vector<Backend> out;
  out.push_back(sqlite_backend());
#ifdef DROM_POSTGRES
  out.push_back(postgres_backend());
#endif
#ifdef DROM_MYSQL
  out.push_back(mysql_backend());
#endif
  return out;
}

INSTANTIATE_TEST_SUITE_P(Dialects, DatabaseConformance, ::testing::ValuesIn(backends()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace drom::sql
