#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "drom/base/json.hpp"
#include "sql/database_fixture.hpp"
#include "sql/mysql/mysql_database.hpp"
#include "sql/mysql/mysql_error.hpp"
#include "sql/mysql/mysql_text.hpp"

namespace drom::sql {
namespace {

namespace asio = boost::asio;

const char* const kMissing = "DROM_TEST_MARIADB (a mysql:// url) is not set: MariaDB is not tested";

// A database of its own for one test, made and dropped by plain libmariadb.
class MysqlSchema final : public TestDatabase {
 public:
  explicit MysqlSchema(const std::string& url) {
    server_.name = "test";
    EXPECT_TRUE(read_mysql_url(url, server_));
    static int number = 0;
    server_.database = "drom_t" + std::to_string(::getpid()) + "_" + std::to_string(++number);
    admin("CREATE DATABASE " + server_.database + " CHARACTER SET utf8mb4");
  }
  ~MysqlSchema() override { admin("DROP DATABASE " + server_.database); }

  MysqlOptions options() const {
    MysqlOptions options = server_;
    options.pool_size = 4;
    options.statements_max = 50;
    return options;
  }
  std::shared_ptr<Database> connect(testing::Harness& harness, size_t places,
                                    milliseconds patience) override {
    MysqlOptions o = options();
    o.pool_size = places;
    o.acquire_timeout = patience;
    return make_mysql(std::move(o), harness.io(), harness.clock(), harness.log());
  }
  void admin(const std::string& sql) const {
    MYSQL* const mysql = mysql_init(nullptr);
    const unsigned tcp = MYSQL_PROTOCOL_TCP;
    mysql_options(mysql, MYSQL_OPT_PROTOCOL, &tcp);
    EXPECT_TRUE(mysql_real_connect(mysql, server_.host.c_str(), server_.user.c_str(), nullptr,
                                   nullptr, server_.port, nullptr, 0))
        << ::mysql_error(mysql);
    EXPECT_EQ(mysql_query(mysql, sql.c_str()), 0) << ::mysql_error(mysql);
    mysql_free_result(mysql_store_result(mysql));
    mysql_close(mysql);
  }

 private:
  MysqlOptions server_;
};

class MysqlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* url = std::getenv("DROM_TEST_MARIADB");
    if (!url && std::getenv("DROM_CI")) FAIL() << kMissing;
    if (!url) GTEST_SKIP() << kMissing;
    schema = std::make_unique<MysqlSchema>(url);
    database = open(schema->options());
  }
  void TearDown() override {
    if (database) harness.run(database->close());
  }
  std::shared_ptr<Database> open(MysqlOptions options) {
    auto made = make_mysql(std::move(options), harness.io(), harness.clock(), harness.log());
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
  Error fail(std::string sql, List params = {}) {
    const Result<Rows> rows = harness.run(database->execute(sql, std::move(params)));
    if (!rows) return rows.error();
    ADD_FAILURE() << "must fail: " << sql;
    return {};
  }
  Value one(std::string sql, List params = {}) {
    const Rows rows = run(std::move(sql), std::move(params));
    return rows.rows.empty() ? Value() : rows.rows[0][0];
  }

  testing::Harness harness;
  std::unique_ptr<MysqlSchema> schema;
  std::shared_ptr<Database> database;
};

TEST_F(MysqlTest, ReadsItsTypes) {
  run("CREATE TABLE t (a TINYINT, f TINYINT(1), u BIGINT UNSIGNED, s SMALLINT UNSIGNED, r FLOAT, "
      "d DECIMAL(10,2), da DATE, ti TIME(1), dt DATETIME(3), ts TIMESTAMP(6) NULL, y YEAR, "
      "b1 BIT(1), b9 BIT(9), e ENUM('x','y'), j JSON, vb VARBINARY(5), c CHAR(3))");
  run("INSERT INTO t VALUES (-7, 1, 18446744073709551615, 65535, 0.1, 1.10, '2026-11-30', "
      "'-101:02:03.5', '2026-11-30 12:00:00.5', '2026-11-30 12:00:00.000001', 2026, b'1', "
      "b'100000001', 'y', '{\"b\": [1, 2.50], \"a\": null}', x'00ff', 'abc')");
  const List row = run("SELECT * FROM t").rows.at(0);
  EXPECT_EQ(row[0], Value(-7));
  EXPECT_EQ(row[1], Value(true));
  EXPECT_EQ(*row[2].as_decimal(), Decimal{"18446744073709551615"});
  EXPECT_EQ(row[3], Value(65535));
  EXPECT_EQ(row[4], Value(0.1));
  EXPECT_EQ(*row[5].as_decimal(), Decimal{"1.10"});
  EXPECT_EQ(row[6], Value("2026-11-30"));
  EXPECT_EQ(row[7], Value("-101:02:03.5"));
  EXPECT_EQ(to_iso8601(*row[8].as_time()), "2026-11-30T12:00:00.500Z");
  EXPECT_EQ(to_iso8601(*row[9].as_time()), "2026-11-30T12:00:00.000001Z");
  EXPECT_EQ(row[10], Value(2026));
  EXPECT_EQ(row[11], Value(true));
  EXPECT_EQ(row[12], Value(257));
  EXPECT_EQ(row[13], Value("y"));
  EXPECT_EQ(to_json(row[14]), R"({"b":[1,2.50],"a":null})");
  EXPECT_EQ(row[15], Value(Bytes(std::string("\0\xff", 2))));
  EXPECT_EQ(row[16], Value("abc"));
  EXPECT_TRUE(one("SELECT uuid()").is_text());
  EXPECT_EQ(one("SELECT CAST('2001:db8::1' AS INET6)"), Value("2001:db8::1"));
  EXPECT_EQ(one("SELECT concat(1, 'a')"), Value("1a"));
  run("UPDATE t SET f = 2, a = 1");
  EXPECT_EQ(one("SELECT f FROM t"), Value(2)) << "TINYINT(1) may hold more than a bool";
}

TEST_F(MysqlTest, KeepsUnsignedAndDecimalsExactly) {
  run("CREATE TABLE t (u BIGINT UNSIGNED, d DECIMAL(65,30))");
  const List row{
      Value(Decimal{"18446744073709551614"}),
      Value(Decimal{"12345678901234567890123456789012345.123456789012345678901234567890"})};
  run("INSERT INTO t VALUES ($1, $2)", row);
  EXPECT_EQ(run("SELECT u, d FROM t WHERE u = $1 AND d = $2", row).rows.at(0), row);
}

TEST_F(MysqlTest, KeepsTextWithNulAndRefusesWhatIsNoNumber) {
  run("CREATE TABLE t (a TEXT, n INT)");
  const std::string odd("a\0b", 3);
  run("INSERT INTO t (a) VALUES ($1)", values(Value(odd)));
  EXPECT_EQ(one("SELECT a FROM t"), Value(odd));
  EXPECT_EQ(fail("SELECT $1", values(std::nan(""))).kind, ErrorKind::rejected);
  const Error error = fail("INSERT INTO t (n) VALUES ($1)", values("hunter2"));
  EXPECT_EQ(error.kind, ErrorKind::rejected) << "strict";
  EXPECT_EQ(error.what.find("hunter2"), std::string::npos) << error.what;
}

TEST_F(MysqlTest, SessionsAreStrictInUtcAndReadCommitted) {
  const MysqlOptions options = schema->options();
  schema->admin("SET GLOBAL time_zone = '+05:00'");
  const auto other = open(options);
  schema->admin("SET GLOBAL time_zone = SYSTEM");
  const auto ask = [&](std::string sql) {
    return harness.run(other->execute(std::move(sql), {}))->rows.at(0).at(0);
  };
  EXPECT_EQ(ask("SELECT @@time_zone"), Value("+00:00"));
  EXPECT_EQ(ask("SELECT @@tx_isolation"), Value("READ-COMMITTED"));
  EXPECT_EQ(ask("SELECT @@character_set_client"), Value("utf8mb4"));
  EXPECT_NE(ask("SELECT @@sql_mode").to_text().find("STRICT_ALL_TABLES"), std::string::npos);
  harness.run(other->close());
}

TEST_F(MysqlTest, HidesTheValueOfADuplicate) {
  run("CREATE TABLE t (name VARCHAR(100) PRIMARY KEY)");
  run("INSERT INTO t VALUES ($1)", values("it's hunter2' for key"));
  const Error error = fail("INSERT INTO t VALUES ($1)", values("it's hunter2' for key"));
  EXPECT_EQ(error.type, "23000");
  EXPECT_EQ(error.what.find("hunter2"), std::string::npos) << error.what;
  EXPECT_NE(error.what.find("PRIMARY"), std::string::npos) << error.what;
}

TEST_F(MysqlTest, RefusesMoreThanAPacketHolds) {
  run("CREATE TABLE t (a LONGTEXT)");
  const Value session = one("SELECT connection_id()");
  const Error error = fail("INSERT INTO t VALUES ($1)", values(std::string(70 * 1024 * 1024, 'x')));
  EXPECT_EQ(error.kind, ErrorKind::data) << error.what;
  EXPECT_NE(error.hint.find("max_allowed_packet"), std::string::npos);
  EXPECT_EQ(one("SELECT connection_id()"), session) << "the session stays";
}

TEST_F(MysqlTest, ADdlStatementInATransactionIsAnError) {
  auto transaction = harness.run(database->begin());
  const Result<Rows> done = harness.run((*transaction)->execute("CREATE TABLE t (id INT)", {}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::rejected);
  EXPECT_NE(done.error().hint.find("CREATE"), std::string::npos);
}

TEST_F(MysqlTest, GivesTheFirstResultOfAProcedure) {
  run("CREATE PROCEDURE p() BEGIN SELECT 1 AS a; SELECT 2 AS b; END");
  EXPECT_EQ(one("CALL p()"), Value(1));
  EXPECT_EQ(one("CALL p()"), Value(1));
  EXPECT_EQ(one("SELECT 5"), Value(5));
}

TEST_F(MysqlTest, ComesBackAfterItsSessionsWereKilledAtRest) {
  for (int i = 0; i < 3; ++i) {
    const int64_t id = *one("SELECT connection_id()").as_int();
    schema->admin("KILL " + std::to_string(id));
    // KILL returns before the session is gone: wait until the server has hung up.
    const std::string left =
        "SELECT count(*) FROM information_schema.processlist WHERE id = " + std::to_string(id);
    auto watcher = open(schema->options());
    while (harness.run(watcher->execute(left, {}))->rows.at(0)[0] != Value(0)) {
    }
    harness.run(watcher->close());
    EXPECT_NE(one("SELECT connection_id()"), Value(id));
  }
}

TEST_F(MysqlTest, ReportsASessionThatIsKilledInATransaction) {
  run("CREATE TABLE t (id BIGINT)");
  auto transaction = harness.run(database->begin());
  const Result<Rows> id = harness.run((*transaction)->execute("SELECT connection_id()", {}));
  ASSERT_TRUE(id);
  ASSERT_TRUE(harness.run((*transaction)->execute("INSERT INTO t VALUES (1)", {})));
  schema->admin("KILL " + id->rows.at(0)[0].to_text());
  const Result<Rows> lost = harness.run((*transaction)->execute("INSERT INTO t VALUES (2)", {}));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::not_connected) << lost.error().what;
  const Result<void> committed = harness.run((*transaction)->commit());
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, ErrorKind::not_connected);
  transaction->reset();
  EXPECT_EQ(one("SELECT count(*) FROM t"), Value(0));
}

TEST_F(MysqlTest, CannotTellTheOutcomeWhenTheSessionIsKilledBeforeItsCommit) {
  run("CREATE TABLE t (id BIGINT)");
  auto transaction = harness.run(database->begin());
  const Result<Rows> id = harness.run((*transaction)->execute("SELECT connection_id()", {}));
  ASSERT_TRUE(harness.run((*transaction)->execute("INSERT INTO t VALUES (1)", {})));
  schema->admin("KILL " + id->rows.at(0)[0].to_text());
  const Result<void> committed = harness.run((*transaction)->commit());
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().kind, ErrorKind::not_connected);
  EXPECT_NE(committed.error().what.find("unknown"), std::string::npos) << committed.error().what;
  EXPECT_EQ(one("SELECT count(*) FROM t"), Value(0));
}

async<> run_into(Database& database, std::string sql, std::optional<Result<Rows>>& out) {
  List none;
  Result<Rows> rows = co_await database.execute(std::move(sql), none);
  out.emplace(std::move(rows));
}

const char* const kSleeper =
    "SELECT max(id) FROM information_schema.processlist WHERE info LIKE 'SELECT sleep(500)%'";

TEST_F(MysqlTest, ReportsASessionThatIsKilledInAStatement) {
  std::optional<Result<Rows>> out;
  harness.spawn(run_into(*database, "SELECT sleep(500)", out));
  Value id;
  while (id.is_null()) id = one(kSleeper);
  schema->admin("KILL " + id.to_text());
  while (!out) one("SELECT 1");
  ASSERT_FALSE(*out);
  EXPECT_EQ(out->error().kind, ErrorKind::not_connected) << out->error().what;
  EXPECT_EQ(one("SELECT 1"), Value(1));
}

TEST_F(MysqlTest, IsTransientWhenTheServerBreaksADeadlock) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY, n INT)");
  run("INSERT INTO t VALUES (1, 0), (2, 0)");
  auto a = harness.run(database->begin());
  auto b = harness.run(database->begin());
  ASSERT_TRUE(harness.run((*a)->execute("UPDATE t SET n = 1 WHERE id = 1", {})));
  ASSERT_TRUE(harness.run((*b)->execute("UPDATE t SET n = 2 WHERE id = 2", {})));
  struct Work {
    static async<> update(Transaction& t, std::optional<Result<Rows>>& out) {
      const List none;
      Result<Rows> rows = co_await t.execute("UPDATE t SET n = 1 WHERE id = 2", none);
      out.emplace(std::move(rows));
    }
  };
  std::optional<Result<Rows>> first;
  harness.spawn(Work::update(**a, first));
  const Result<Rows> second = harness.run((*b)->execute("UPDATE t SET n = 2 WHERE id = 1", {}));
  while (!first) one("SELECT 1");
  ASSERT_NE(first->ok(), second.ok()) << "one of them is the victim";
  const Error error = second ? first->error() : second.error();
  EXPECT_EQ(error.kind, ErrorKind::transient);
  EXPECT_EQ(error.type, "40001");
  EXPECT_TRUE(harness.run((first->ok() ? *a : *b)->commit()));
}

TEST_F(MysqlTest, GivesUpAStatementAndALockThatTakeTooLong) {
  run("CREATE TABLE t (id BIGINT PRIMARY KEY)");
  run("INSERT INTO t VALUES (1)");
  MysqlOptions options = schema->options();
  options.statement_timeout = milliseconds(20);
  const auto hasty = open(options);
  const Result<Rows> slow = harness.run(hasty->execute("SELECT sleep(500)", {}));
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().kind, ErrorKind::transient) << slow.error().what;
  auto holder = harness.run(database->begin());
  ASSERT_TRUE(harness.run((*holder)->execute("SELECT id FROM t FOR UPDATE", {})));
  const Result<Rows> locked = harness.run(hasty->execute("DELETE FROM t", {}));
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().kind, ErrorKind::transient) << locked.error().what;
  harness.run(hasty->close());
}

TEST_F(MysqlTest, CannotConnectWhereNobodyListensAndKeepsThePasswordToItself) {
  MysqlOptions options;
  options.name = "test";
  ASSERT_TRUE(read_mysql_url("mysql://u:hunter2@127.0.0.1:1/shop", options));
  EXPECT_EQ(options.password, "hunter2");
  const auto nowhere = make_mysql(options, harness.io(), harness.clock(), harness.log());
  const Result<void> opened = harness.run(nowhere->open());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::not_connected);
  EXPECT_EQ(opened.error().message().find("hunter2"), std::string::npos);
  harness.run(nowhere->close());
}

TEST_F(MysqlTest, RefusesAWrongPassword) {
  MysqlOptions options = schema->options();
  options.password = "hunter2";
  const auto stranger = make_mysql(options, harness.io(), harness.clock(), harness.log());
  const Result<void> opened = harness.run(stranger->open());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::rejected) << opened.error().what;
  EXPECT_EQ(opened.error().message().find("hunter2"), std::string::npos);
}

TEST_F(MysqlTest, ConnectsByTheSocket) {
  const char* path = std::getenv("DROM_TEST_MARIADB_SOCKET");
  if (!path && std::getenv("DROM_CI")) FAIL() << "DROM_TEST_MARIADB_SOCKET is not set";
  if (!path) GTEST_SKIP() << "DROM_TEST_MARIADB_SOCKET is not set";
  MysqlOptions options = schema->options();
  options.socket = path;
  const auto local = open(options);
  EXPECT_TRUE(harness.run(local->execute("SELECT 1", {})));
  harness.run(local->close());
}

TEST_F(MysqlTest, ChecksTheCertificateOfTheServer) {
  const char* authority = std::getenv("DROM_TEST_MARIADB_CA");
  if (!authority && std::getenv("DROM_CI")) FAIL() << "DROM_TEST_MARIADB_CA is not set";
  if (!authority) GTEST_SKIP() << "DROM_TEST_MARIADB_CA is not set";
  MysqlOptions options = schema->options();
  options.tls = MysqlOptions::Tls::verify_full;
  options.host = "localhost";
  const auto connect = [&] {
    const auto made = make_mysql(options, harness.io(), harness.clock(), harness.log());
    const Result<void> opened = harness.run(made->open());
    const Value cipher =
        opened ? harness.run(made->execute("SHOW STATUS LIKE 'Ssl_cipher'", {}))->rows.at(0).at(1)
               : Value();
    harness.run(made->close());
    return opened ? Result<Value>(cipher) : Result<Value>(opened.error());
  };
  const Result<Value> unknown_authority = connect();
  ASSERT_FALSE(unknown_authority);
  EXPECT_EQ(unknown_authority.error().kind, ErrorKind::not_connected);
  EXPECT_NE(unknown_authority.error().hint.find("sslrootcert"), std::string::npos);
  options.ca_file = authority;
  const Result<Value> known = connect();
  ASSERT_TRUE(known) << known.error().message();
  EXPECT_NE(*known, Value(""));
  options.host = "127.0.0.1";  // the certificate names localhost
  EXPECT_FALSE(connect());
  options.tls = MysqlOptions::Tls::require;
  EXPECT_NE(*connect(), Value(""));
  options.tls = MysqlOptions::Tls::disable;
  EXPECT_EQ(*connect(), Value(""));
}

TEST_F(MysqlTest, NeverReusesASessionWhoseStatementLeftATransactionOpen) {
  MysqlOptions options = schema->options();
  options.pool_size = 1;
  const auto single = open(options);
  EXPECT_FALSE(harness.run(single->execute("START TRANSACTION", {})));
  EXPECT_TRUE(harness.run(single->execute("SET autocommit = 0", {})));
  EXPECT_EQ(harness.run(single->execute("SELECT @@autocommit", {}))->rows.at(0)[0], Value(1));
  harness.run(single->close());
}

TEST(MysqlText, TranslatesParametersOutsideOfTextsAndNames) {
  const Result<MysqlText> text = translate_parameters(
      "SELECT $2, '$1 \\' $1', \"$1\", `$1`, a$1, $1 -- $1\n, $2 # $1\n /* $1 */ + $10 /*!1 $1 */");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->sql,
            "SELECT ?, '$1 \\' $1', \"$1\", `$1`, a$1, ? -- $1\n, ? # $1\n /* $1 */ + ? /*!1 ? */");
  EXPECT_EQ(text->parameters, (std::vector<size_t>{1, 0, 1, 9, 0}));
  EXPECT_EQ(text->parameter_count, 10U);
  EXPECT_EQ(translate_parameters("SELECT 1--$1")->parameters.size(), 1U) << "minus minus";
  EXPECT_FALSE(translate_parameters("SELECT ?"));
  EXPECT_FALSE(translate_parameters("SELECT $0"));
  EXPECT_TRUE(translate_parameters("SELECT '?', 'open"));
  EXPECT_TRUE(translate_parameters("/* open"));
}

TEST(MysqlUrl, ReadsAllItsParts) {
  MysqlOptions o;
  ASSERT_TRUE(read_mysql_url(
      "mariadb://me%40x:p%3aw@[::1]:3307/shop?sslmode=require&sslrootcert=/ca.pem", o));
  EXPECT_EQ(o.user, "me@x");
  EXPECT_EQ(o.password, "p:w");
  EXPECT_EQ(o.host, "::1");
  EXPECT_EQ(o.port, 3307U);
  EXPECT_EQ(o.database, "shop");
  EXPECT_EQ(o.tls, MysqlOptions::Tls::require);
  EXPECT_EQ(o.ca_file, "/ca.pem");
  EXPECT_TRUE(o.on_this_machine());

  MysqlOptions plain;
  ASSERT_TRUE(read_mysql_url("mysql://db.example.com", plain));
  EXPECT_EQ(plain.host, "db.example.com");
  EXPECT_EQ(plain.port, 3306U);
  EXPECT_FALSE(plain.on_this_machine());

  MysqlOptions java;
  ASSERT_TRUE(read_mysql_url(
      "jdbc:mysql://db:3306/shop?user=u&password=p&serverTimezone=UTC&sslMode=VERIFY_IDENTITY",
      java));
  EXPECT_EQ(java.user, "u");
  EXPECT_EQ(java.password, "p");
  EXPECT_EQ(java.tls, MysqlOptions::Tls::verify_full);
}

TEST(MysqlUrl, RefusesAWrongOneWithoutRepeatingIt) {
  for (const char* url :
       {"http://u:hunter2@h/", "mysql://u:hunter2@h:x/", "mysql://u:hunter2@h/?hunter2=1",
        "mysql://u:hunter2%@h/", "mysql://u:hunter2@a,b/", "mysql://u:hunter2@h/?sslmode=hunter2",
        "jdbc:mysql://u:hunter2@h/?sslMode=hunter2", "mysql://u:hunter2@[::1/"}) {
    MysqlOptions options;
    const Result<void> read = read_mysql_url(url, options);
    ASSERT_FALSE(read) << url;
    EXPECT_EQ(read.error().kind, ErrorKind::config);
    EXPECT_EQ(read.error().message().find("hunter2"), std::string::npos) << read.error().message();
  }
}

TEST(MysqlError, MapsItsNumbers) {
  EXPECT_EQ(mysql_error(1062, "23000", "x").kind, ErrorKind::rejected);
  EXPECT_EQ(mysql_error(1064, "42000", "x").kind, ErrorKind::rejected);
  EXPECT_EQ(mysql_error(1213, "40001", "x").kind, ErrorKind::transient);
  EXPECT_EQ(mysql_error(1205, "HY000", "x").kind, ErrorKind::transient);
  EXPECT_EQ(mysql_error(1290, "HY000", "x").kind, ErrorKind::transient);
  EXPECT_EQ(mysql_error(1969, "70100", "x").kind, ErrorKind::transient);
  EXPECT_EQ(mysql_error(2006, "HY000", "x").kind, ErrorKind::not_connected);
  EXPECT_EQ(mysql_error(2013, "HY000", "x").kind, ErrorKind::not_connected);
  EXPECT_EQ(mysql_error(1040, "08004", "x").kind, ErrorKind::not_connected);
  EXPECT_EQ(mysql_error(1153, "08S01", "x").kind, ErrorKind::data);
  EXPECT_EQ(mysql_error(1062, "23000", "Duplicate entry 'a' for key 'b' for key 'PRIMARY'").what,
            "MariaDB: Duplicate entry '...' for key 'PRIMARY'");
}

}  // namespace

Backend mysql_backend() {
  Backend backend;
  backend.name = "Mysql";
  backend.bytes_type = "LONGBLOB";
  backend.decimal_type = "DECIMAL(60,25)";
  backend.time_type = "DATETIME(6)";
  backend.text_type = "LONGTEXT";
  backend.text_cast = "CHAR";
  backend.fixed_scale = true;
  backend.deferred_constraints = false;
  backend.transactional_ddl = false;
  backend.missing = kMissing;
  backend.make = []() -> std::unique_ptr<TestDatabase> {
    const char* url = std::getenv("DROM_TEST_MARIADB");
    if (!url) return nullptr;
    return std::make_unique<MysqlSchema>(url);
  };
  return backend;
}

}  // namespace drom::sql
