#include <gtest/gtest.h>

#include "sql/sql.hpp"
#include "support/harness.hpp"

#include "drom/sql/database.hpp"

namespace drom::sql {
namespace {

class SqlBeans : public ::testing::Test {
 protected:
  SqlBeans() { register_sql(harness.registry()); }

  Result<void> make(const std::string& type,
                    std::vector<std::pair<std::string, std::string>> properties) {
    const BeanInfo* info = harness.registry().bean_type(type);
    if (!info) return Error(ErrorKind::config, "no such bean type");
    std::vector<OptionText> options;
    for (auto& [name, text] : properties) {
      OptionText option;
      option.name = name;
      option.text = text;
      options.push_back(std::move(option));
    }
    const Config config = Config::validate(info->spec(), options, {}, harness, harness.problems);
    if (harness.problems.has_errors()) return Error(ErrorKind::config, harness.problems.render());
    return info->make("shop", config, harness);
  }

  testing::Harness harness;
};

TEST_F(SqlBeans, MakesAnSqliteDataSourceThatOpensAtTheStart) {
  ASSERT_TRUE(make(
      "drom.sqlite",
      {{"file", ":memory:"}, {"init", "CREATE TABLE t (x, y); INSERT INTO t VALUES (1, 2);"}}));
  Database* const database = harness.registry().find<Database>("shop");
  ASSERT_TRUE(database);
  EXPECT_EQ(database->name(), "shop");
  EXPECT_FALSE(harness.run(database->execute("SELECT 1", {})));
  ASSERT_TRUE(harness.start());
  const Result<Rows> rows = harness.run(database->execute("SELECT x, y FROM t", {}));
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->rows.at(0)[1], Value(2));
  harness.stop();
  EXPECT_FALSE(harness.run(database->execute("SELECT 1", {})));
}

TEST_F(SqlBeans, ReportsABrokenInitScriptAtTheStart) {
  ASSERT_TRUE(make("drom.sqlite", {{"file", ":memory:"}, {"init", "CREATE TABEL t (x)"}}));
  const Result<void> started = harness.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().what.find("init"), std::string::npos);
  EXPECT_NE(started.error().what.find("TABEL"), std::string::npos);
}

TEST_F(SqlBeans, PicksTheDialectByTheJdbcUrl) {
  ASSERT_TRUE(make("com.zaxxer.hikari.HikariDataSource", {{"jdbcUrl", "jdbc:sqlite::memory:"}}));
  EXPECT_EQ(harness.registry().find<Database>("shop")->dialect(), Dialect::sqlite);
#ifdef DROM_POSTGRES
  ASSERT_TRUE(make(
      "org.apache.commons.dbcp2.BasicDataSource",
      {{"url", "jdbc:postgresql://localhost:5432/shop"}, {"username", "u"}, {"password", "p"}}));
  EXPECT_EQ(harness.registry().find<Database>("shop")->dialect(), Dialect::postgres);
#endif
}

#ifdef DROM_MYSQL
TEST_F(SqlBeans, MakesMariadbAndMysqlDataSources) {
  for (const char* url : {"jdbc:mysql://localhost:3306/shop", "jdbc:mariadb://localhost/shop"}) {
    ASSERT_TRUE(make("drom.jdbc", {{"url", url}, {"username", "u"}}));
    EXPECT_EQ(harness.registry().find<Database>("shop")->dialect(), Dialect::mysql);
  }
  for (const char* type : {"drom.mysql", "drom.mariadb"}) {
    ASSERT_TRUE(make(type, {{"host", "db"}, {"port", "3307"}, {"sslmode", "verify-full"}}));
    EXPECT_EQ(harness.registry().find<Database>("shop")->dialect(), Dialect::mysql);
  }
  const Result<void> wrong = make("drom.mysql", {{"url", "mysql://u:hunter2@db:x/shop"}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message().find("hunter2"), std::string::npos);
}
#endif

TEST_F(SqlBeans, RefusesAnUnknownUrlWithoutRepeatingIt) {
  const Result<void> made = make("drom.jdbc", {{"url", "jdbc:oracle:thin:scott/tiger@db"}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::config);
  EXPECT_EQ(made.error().message().find("tiger"), std::string::npos);
}

TEST_F(SqlBeans, RefusesAnUnknownOption) {
  EXPECT_FALSE(make("drom.sqlite", {{"file", ":memory:"}, {"pooledConnections", "3"}}));
}

#ifdef DROM_POSTGRES
TEST_F(SqlBeans, RefusesAWrongPostgresUrlWithoutRepeatingThePassword) {
  const Result<void> made = make("drom.postgres", {{"url", "postgresql://u:hunter2@[::1/shop"}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::config);
  EXPECT_EQ(made.error().message().find("hunter2"), std::string::npos);
}
#endif

}  // namespace
}  // namespace drom::sql
