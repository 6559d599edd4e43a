#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <cmath>
#include <cstdlib>

#include "drom/base/json.hpp"
#include "sql/database_fixture.hpp"
#include "sql/postgres/pg_error.hpp"
#include "sql/postgres/pg_values.hpp"
#include "sql/postgres/postgres_database.hpp"

namespace drom::sql {
namespace {

namespace asio = boost::asio;

const char* const kMissing =
    "DROM_TEST_POSTGRES (a libpq conninfo) is not set: PostgreSQL is not tested";

// A schema of its own for one test, made and dropped by plain libpq.
class PostgresSchema final : public TestDatabase {
 public:
  explicit PostgresSchema(std::string conninfo) : conninfo_(std::move(conninfo)) {
    static int number = 0;
    schema_ = "drom_t" + std::to_string(::getpid()) + "_" + std::to_string(++number);
    admin("CREATE SCHEMA " + schema_);
  }
  ~PostgresSchema() override { admin("DROP SCHEMA " + schema_ + " CASCADE"); }

  PostgresOptions options() const {
    PostgresOptions options;
    options.name = "test";
    options.url = conninfo_;
    options.keywords.emplace_back("options", "-c search_path=" + schema_);
    options.pool_size = 4;
    options.statements_max = 50;
    options.instance = schema_;
    EXPECT_TRUE(check_options(options));
    return options;
  }
  std::shared_ptr<Database> connect(testing::Harness& harness, size_t places,
                                    milliseconds patience) override {
    PostgresOptions o = options();
    o.pool_size = places;
    o.acquire_timeout = patience;
    return make_postgres(std::move(o), harness.io(), harness.clock(), harness.log());
  }
  void admin(const std::string& sql) const {
    PGconn* connection = PQconnectdb(conninfo_.c_str());
    EXPECT_EQ(PQstatus(connection), CONNECTION_OK) << PQerrorMessage(connection);
    PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
    PGresult* result = PQexec(connection, sql.c_str());
    EXPECT_TRUE(PQresultStatus(result) == PGRES_COMMAND_OK ||
                PQresultStatus(result) == PGRES_TUPLES_OK)
        << PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
  }

 private:
  std::string conninfo_;
  std::string schema_;
};

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* conninfo = std::getenv("DROM_TEST_POSTGRES");
    if (!conninfo && std::getenv("DROM_CI")) FAIL() << kMissing;
    if (!conninfo) GTEST_SKIP() << kMissing;
    schema = std::make_unique<PostgresSchema>(conninfo);
    database = open(schema->options());
  }
  void TearDown() override {
    if (database) harness.run(database->close());
  }
  std::shared_ptr<Database> open(PostgresOptions options) {
    auto made = make_postgres(std::move(options), harness.io(), harness.clock(), harness.log());
    const Result<void> opened = harness.run(made->open());
    EXPECT_TRUE(opened) << opened.error().message();
    return made;
  }
  Rows run(std::string sql, List params = {}) {
    Result<Rows> rows = harness.run(database->execute(std::move(sql), std::move(params)));
    if (rows) return std::move(*rows);
    ADD_FAILURE() << rows.error().message();
    return {};
  }
  Value one(std::string sql, List params = {}) {
    const Rows rows = run(std::move(sql), std::move(params));
    return rows.rows.empty() ? Value() : rows.rows[0][0];
  }

  testing::Harness harness;
  std::unique_ptr<PostgresSchema> schema;
  std::shared_ptr<Database> database;
};

TEST_F(PostgresTest, ReadsItsTypes) {
  EXPECT_EQ(one("SELECT 7::int2"), Value(7));
  EXPECT_EQ(one("SELECT true"), Value(true));
  EXPECT_EQ(one("SELECT 1.5::float4"), Value(1.5));
  EXPECT_TRUE(std::isnan(*one("SELECT 'NaN'::float8").as_real()));
  EXPECT_EQ(*one("SELECT 1.10::numeric").as_decimal(), Decimal{"1.10"});
  EXPECT_EQ(one("SELECT 'NaN'::numeric"), Value("NaN"));
  EXPECT_EQ(to_json(one(R"(SELECT '{"b": [1, 2.50], "a": null}'::json)")),
            R"({"b":[1,2.50],"a":null})");
  EXPECT_TRUE(one(R"(SELECT '{"a": 1, "a": 2}'::json)").is_text());
  EXPECT_EQ(to_iso8601(*one("SELECT timestamptz '2026-11-30 13:00:00.5+01'").as_time()),
            "2026-11-30T12:00:00.500Z");
  EXPECT_EQ(one("SELECT 'infinity'::timestamptz"), Value("infinity"));
  EXPECT_EQ(one("SELECT date '2026-11-30'"), Value("2026-11-30"));
}

TEST_F(PostgresTest, WritesArraysForAny) {
  run("CREATE TABLE t (id BIGINT, name TEXT)");
  run("INSERT INTO t SELECT i, 'n' || i FROM generate_series(1, 10) i");
  List ids{Value(List{Value(1), Value(3), Value(nullptr)})};
  EXPECT_EQ(run("DELETE FROM t WHERE id = ANY($1)", ids).affected, 2);
  List names{Value(List{Value("n5"), Value("a \"b\" \\ , {c}")})};
  EXPECT_EQ(run("DELETE FROM t WHERE name = ANY($1)", names).affected, 1);
  EXPECT_EQ(one("SELECT ($1::text[])[2]", names), Value("a \"b\" \\ , {c}"));
  List none{Value(List{})};
  EXPECT_EQ(run("DELETE FROM t WHERE id = ANY($1)", none).affected, 0);
}

TEST_F(PostgresTest, TakesBytesAndTextForDocumentsAndBytes) {
  run("CREATE TABLE t (j JSON, jb JSONB, b BYTEA)");
  const List row{Value(Bytes(R"({"a":1})")), Value(Bytes(R"({"b":2})")), Value("\\x00 as text")};
  run("INSERT INTO t (j, jb, b) VALUES ($1, $2, $3)", row);
  EXPECT_EQ(to_json(one("SELECT jb FROM t")), R"({"b":2})");
  EXPECT_EQ(one("SELECT b FROM t"), Value(Bytes("\\x00 as text")));
}

TEST_F(PostgresTest, RefusesTextWithNul) {
  List params{Value(std::string("a\0b", 3))};
  const Result<Rows> refused = harness.run(database->execute("SELECT $1::text", params));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::rejected);
  EXPECT_EQ(refused.error().type, "22021");
  EXPECT_EQ(one("SELECT 1"), Value(1));
}

TEST_F(PostgresTest, ComesBackAfterItsSessionsWereKilledAtRest) {
  for (int i = 0; i < 3; ++i) {
    const int64_t pid = *one("SELECT pg_backend_pid()").as_int();
    // The function returns before the backend is gone; the second call waits for it.
    schema->admin("SELECT pg_terminate_backend(" + std::to_string(pid) + ", 5000)");
    EXPECT_NE(one("SELECT pg_backend_pid()"), Value(pid));
  }
}

TEST_F(PostgresTest, ReportsASessionThatIsKilledInATransaction) {
  run("CREATE TABLE t (id BIGINT)");
  auto transaction = harness.run(database->begin());
  const Result<Rows> pid = harness.run((*transaction)->execute("SELECT pg_backend_pid()", {}));
  ASSERT_TRUE(pid);
  schema->admin("SELECT pg_terminate_backend(" + pid->rows.at(0)[0].to_text() + ", 5000)");
  const Result<Rows> lost = harness.run((*transaction)->execute("INSERT INTO t VALUES (1)", {}));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::not_connected) << lost.error().what;
  const Result<void> committed = harness.run((*transaction)->commit());
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, ErrorKind::not_connected);
  transaction->reset();
  EXPECT_EQ(one("SELECT count(*) FROM t"), Value(0));
}

async<> run_into(Database& database, std::string sql, std::optional<Result<Rows>>& out) {
  List none;
  Result<Rows> rows = co_await database.execute(std::move(sql), none);
  out.emplace(std::move(rows));
}

TEST_F(PostgresTest, ReportsASessionThatIsKilledInAStatement) {
  std::optional<Result<Rows>> out;
  harness.spawn(run_into(*database, "SELECT pg_sleep(600) AS killed_in_a_statement", out));
  while (one("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT "
             "pg_sleep(600) AS "
             "killed_in_a%'") != Value(1)) {
  }
  schema->admin(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'SELECT "
      "pg_sleep(600) "
      "AS killed_in_a%' AND pid <> pg_backend_pid()");
  while (!out) one("SELECT 1");
  ASSERT_FALSE(*out);
  EXPECT_EQ(out->error().kind, ErrorKind::not_connected);
  EXPECT_EQ(out->error().type, "57P01");
  EXPECT_EQ(one("SELECT 1"), Value(1));
}

// The backend dies inside COMMIT: a deferred trigger kills its own session.
TEST_F(PostgresTest, CannotTellTheOutcomeWhenTheSessionDiesAtTheCommit) {
  run("CREATE TABLE t (id BIGINT)");
  run("CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(600); RETURN "
      "NULL; END $$");
  run("CREATE CONSTRAINT TRIGGER die AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
      "EXECUTE FUNCTION die()");
  auto transaction = harness.run(database->begin());
  ASSERT_TRUE(harness.run((*transaction)->execute("INSERT INTO t VALUES (1)", {})));
  const Result<void> committed = harness.run((*transaction)->commit());
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, ErrorKind::not_connected);
  EXPECT_NE(committed.error().what.find("unknown"), std::string::npos) << committed.error().what;
  EXPECT_EQ(one("SELECT count(*) FROM t"), Value(0));
}

TEST_F(PostgresTest, IsTransientWhenTheServerBreaksADeadlock) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, n INT)");
  run("INSERT INTO t VALUES (1, 0), (2, 0)");
  auto a = harness.run(database->begin());
  auto b = harness.run(database->begin());
  ASSERT_TRUE(harness.run((*a)->execute("UPDATE t SET n = 1 WHERE id = 1", {})));
  ASSERT_TRUE(harness.run((*a)->execute("SET LOCAL deadlock_timeout = '1h'", {})));
  ASSERT_TRUE(harness.run((*b)->execute("SET LOCAL deadlock_timeout = '10ms'", {})));
  ASSERT_TRUE(harness.run((*b)->execute("UPDATE t SET n = 2 WHERE id = 2", {})));
  bool a_done = false;
  struct Work {
    static async<> update(Transaction& t, bool& done) {
      const List none;
      const Result<Rows> rows = co_await t.execute("UPDATE t SET n = 1 WHERE id = 2", none);
      done = rows.ok();
    }
  };
  // The other looks only once whether there is a circle: it must find one.
  const Value pid = (*harness.run((*a)->execute("SELECT pg_backend_pid()", {}))).rows.at(0).at(0);
  harness.spawn(Work::update(**a, a_done));
  const std::string waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = ";
  while (one(waits + pid.to_text()) != Value(1)) continue;
  const Result<Rows> deadlock = harness.run((*b)->execute("UPDATE t SET n = 2 WHERE id = 1", {}));
  ASSERT_FALSE(deadlock);
  EXPECT_EQ(deadlock.error().kind, ErrorKind::transient);
  EXPECT_EQ(deadlock.error().type, "40P01");
  while (!a_done) one("SELECT 1");
  EXPECT_TRUE(harness.run((*a)->commit()));
}

TEST_F(PostgresTest, GivesUpAStatementThatTakesTooLong) {
  PostgresOptions options = schema->options();
  options.statement_timeout = milliseconds(20);
  const auto hasty = open(options);
  const Result<Rows> slow = harness.run(hasty->execute("SELECT pg_sleep(600)", {}));
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().kind, ErrorKind::transient);
  EXPECT_EQ(slow.error().type, "57014");
  harness.run(hasty->close());
}

TEST_F(PostgresTest, CannotConnectWhereNobodyListensAndKeepsThePasswordToItself) {
  PostgresOptions options;
  options.name = "test";
  options.url = "postgresql://u:hunter2@127.0.0.1:1/hunter2";
  ASSERT_TRUE(check_options(options));
  EXPECT_EQ(options.password, "hunter2");
  const auto nowhere = make_postgres(options, harness.io(), harness.clock(), harness.log());
  const Result<void> opened = harness.run(nowhere->open());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::not_connected);
  EXPECT_EQ(opened.error().message().find("hunter2"), std::string::npos)
      << opened.error().message();
  harness.run(nowhere->close());
}

TEST_F(PostgresTest, LogsNoticesOfTheServer) {
  run("DO $$ BEGIN RAISE NOTICE 'look here'; END $$");
  EXPECT_TRUE(harness.captured.contains("look here"));
}

TEST_F(PostgresTest, NeverReusesASessionWhoseStatementWasCancelled) {
  PostgresOptions options = schema->options();
  options.pool_size = 1;
  const auto single = open(options);
  const Result<Rows> before = harness.run(single->execute("SELECT pg_backend_pid()", {}));
  asio::cancellation_signal cancel;
  bool ended = false;
  std::optional<Result<Rows>> out;
  asio::co_spawn(
      harness.io(), run_into(*single, "SELECT pg_sleep(600) AS cancelled_statement", out),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; }));
  while (one("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT "
             "pg_sleep(600) AS "
             "cancelled_st%'") != Value(1)) {
  }
  cancel.emit(asio::cancellation_type::terminal);
  harness.settle();
  EXPECT_TRUE(ended);
  const Result<Rows> after = harness.run(single->execute("SELECT pg_backend_pid()", {}));
  ASSERT_TRUE(after);
  EXPECT_NE(before->rows.at(0)[0], after->rows.at(0)[0]);
  harness.run(single->close());
  schema->admin(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT "
      "pg_sleep(600) AS "
      "cancelled_st%' AND pid <> pg_backend_pid()");
}

async<> wait_for(Database& database, std::string channel, bool& woken) {
  co_await database.wait(std::move(channel), milliseconds::max());
  woken = true;
}

TEST_F(PostgresTest, WakesAWaiterInAnotherProcess) {
  PostgresOptions options = schema->options();
  options.instance = "another process";
  const auto other = open(options);
  const std::string channel =
      options.keywords.back().second;  // differs per test, has odd characters
  bool woken = false;
  harness.spawn(wait_for(*database, channel, woken));
  // The first wake-up tells that it listens now; look, then wait again.
  while (!woken) one("SELECT 1");
  woken = false;
  harness.spawn(wait_for(*database, channel, woken));
  harness.settle();
  EXPECT_FALSE(woken);
  other->signal(channel);
  while (!woken) one("SELECT 1");
  harness.run(other->close());
}

TEST_F(PostgresTest, ListensAgainAfterItsSessionWasKilled) {
  const std::string channel = schema->options().instance;
  bool woken = false;
  harness.spawn(wait_for(*database, channel, woken));
  while (!woken) one("SELECT 1");
  const std::string listener = "FROM pg_stat_activity WHERE query LIKE 'LISTEN \"drom_" + channel +
                               "\"' AND pid <> pg_backend_pid()";
  EXPECT_EQ(one("SELECT count(*) " + listener), Value(1));
  woken = false;
  harness.spawn(wait_for(*database, channel, woken));
  schema->admin("SELECT pg_terminate_backend(pid, 5000) " + listener);
  while (!woken) one("SELECT 1");  // woken once by the new session, in case something was missed
}

TEST_F(PostgresTest, DoesNotWakeItselfTwice) {
  const std::string channel = schema->options().instance;
  bool woken = false;
  harness.spawn(wait_for(*database, channel, woken));
  while (!woken) one("SELECT 1");
  database->signal(channel);  // kept for the next wait
  bool again = false;
  harness.run(wait_for(*database, channel, again));
  // Our own notification comes back by the server; it must not count.
  bool third = false;
  harness.spawn(wait_for(*database, channel, third));
  for (int i = 0; i < 200; ++i) one("SELECT 1");
  EXPECT_FALSE(third);
  database->cancel_waits();
  harness.settle();
  EXPECT_TRUE(third);
}

TEST(PgError, MapsTheClassesOfSqlstate) {
  EXPECT_EQ(pg_error("23505", "duplicate key", "").kind, ErrorKind::rejected);
  EXPECT_EQ(pg_error("42601", "syntax error", "").kind, ErrorKind::rejected);
  EXPECT_EQ(pg_error("40001", "could not serialize", "").kind, ErrorKind::transient);
  EXPECT_EQ(pg_error("40P01", "deadlock", "").kind, ErrorKind::transient);
  EXPECT_EQ(pg_error("55P03", "lock not available", "").kind, ErrorKind::transient);
  EXPECT_EQ(pg_error("57014", "cancelled", "").kind, ErrorKind::transient);
  EXPECT_EQ(pg_error("57P01", "terminating", "").kind, ErrorKind::not_connected);
  EXPECT_EQ(pg_error("08006", "connection failure", "").kind, ErrorKind::not_connected);
  EXPECT_EQ(pg_error("08P01", "protocol violation", "").kind, ErrorKind::rejected);
  EXPECT_EQ(pg_error("53100", "disk full", "").kind, ErrorKind::transient);
  EXPECT_EQ(pg_error("0A000", "cached plan must not change result type", "").kind,
            ErrorKind::transient);
  EXPECT_EQ(pg_error("0A000", "not supported", "").kind, ErrorKind::rejected);
}

TEST(PgError, MasksThePasswordInEveryPlace) {
  const Error error = pg_not_connected("cannot connect", "auth of pw, pw\nfailed\n", "pw");
  EXPECT_EQ(error.what, "cannot connect: auth of ***, *** failed");
}

TEST(PgOptions, RefuseAUrlWithoutRepeatingIt) {
  PostgresOptions options;
  options.url = "host=x passw0rd=hunter2";
  const Result<void> unknown = check_options(options);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what.find("hunter2"), std::string::npos);
  EXPECT_NE(unknown.error().what.find("passw0rd"), std::string::npos);
}

}  // namespace

Backend postgres_backend() {
  Backend backend;
  backend.name = "Postgres";
  backend.bytes_type = "BYTEA";
  backend.decimal_type = "NUMERIC";
  backend.time_type = "TIMESTAMPTZ";
  backend.missing = kMissing;
  backend.make = []() -> std::unique_ptr<TestDatabase> {
    const char* conninfo = std::getenv("DROM_TEST_POSTGRES");
    if (!conninfo) return nullptr;
    return std::make_unique<PostgresSchema>(conninfo);
  };
  return backend;
}

}  // namespace drom::sql
