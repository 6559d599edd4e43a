// Real databases for tests of what works on them: a fresh SQLite file, a fresh schema of the
// PostgreSQL server named by DROM_TEST_POSTGRES, and a fresh database of the MariaDB server named
// by DROM_TEST_MARIADB (skipped without it, failed when DROM_CI is set). The clock is real, because
// the databases are.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drom/rt/unit_of_work.hpp"
#include "drom/sql/database.hpp"
#include "rt/real_clock.hpp"
#include "sql/sqlite/sqlite_database.hpp"
#include "support/harness.hpp"
#if __has_include("sql/postgres/postgres_database.hpp")
#include "sql/postgres/postgres_database.hpp"
#endif
#ifdef DROM_MYSQL
#include "sql/mysql/mysql_database.hpp"
#endif

namespace drom::testing {

// The place of one test; tests whose parameter is the dialect alone use SqlTest.
class SqlFixture : public ::testing::Test {
 protected:
  explicit SqlFixture(sql::Dialect dialect)
      : clock(make_real_clock(harness.io())), dialect_(dialect) {}

  void SetUp() override {
    const char* server = postgres() ? "DROM_TEST_POSTGRES"
                         : mysql()  ? "DROM_TEST_MARIADB"
                                    : nullptr;
    if (server && !std::getenv(server)) {
      if (std::getenv("DROM_CI")) FAIL() << server << " is not set, but DROM_CI is";
      GTEST_SKIP() << server << " is not set";
    }
    folder = std::filesystem::temp_directory_path() / ("drom-test-" + Rng(entropy_seed()).uuid());
    std::filesystem::create_directories(folder);
    schema_ = "t" + std::to_string(entropy_seed());
    database = connect();
    ASSERT_TRUE(database);
  }

  void TearDown() override {
    if (database && postgres()) run("DROP SCHEMA " + schema_ + " CASCADE");
    if (database && mysql()) run("DROP DATABASE " + schema_);
    databases_.push_back(std::move(database));
    for (const auto& open : databases_)
      if (open) harness.run(open->close());
    databases_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  bool postgres() const { return dialect_ == sql::Dialect::postgres; }
  bool mysql() const { return dialect_ == sql::Dialect::mysql; }
  bool sqlite() const { return dialect_ == sql::Dialect::sqlite; }

  // Another data source over the same data, as another process would have it.
  std::shared_ptr<sql::Database> connect() {
    std::shared_ptr<sql::Database> made;
    if (postgres()) {
#if __has_include("sql/postgres/postgres_database.hpp")
      sql::PostgresOptions options;
      options.name = "db";
      options.url = std::getenv("DROM_TEST_POSTGRES");
      options.keywords.emplace_back("options", "-c search_path=" + schema_);
      options.init = "CREATE SCHEMA IF NOT EXISTS " + schema_;
      made = sql::make_postgres(std::move(options), harness.io(), *clock, harness.captured);
#endif
    } else if (mysql()) {
#ifdef DROM_MYSQL
      sql::MysqlOptions options;
      options.name = "db";
      EXPECT_TRUE(sql::read_mysql_url(std::getenv("DROM_TEST_MARIADB"), options).ok());
      sql::MysqlOptions admin = options;
      admin.init = "CREATE DATABASE IF NOT EXISTS " + schema_ + " CHARACTER SET utf8mb4";
      const auto server = sql::make_mysql(admin, harness.io(), *clock, harness.captured);
      EXPECT_TRUE(harness.run(server->open()).ok());
      harness.run(server->close());
      options.database = schema_;
      made = sql::make_mysql(std::move(options), harness.io(), *clock, harness.captured);
#endif
    } else {
      sql::SqliteOptions options;
      options.name = "db";
      options.file = (folder / "test.db").string();
      options.synchronous = "OFF";
      made = sql::make_sqlite(std::move(options), harness.io(), *clock, harness.captured);
    }
    const Result<void> opened = harness.run(made->open());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message());
    if (database) databases_.push_back(made);
    return made;
  }

  sql::Rows run(std::string text, List params = {}) {
    Result<sql::Rows> rows = harness.run(database->execute(text, std::move(params)));
    if (rows) return std::move(*rows);
    ADD_FAILURE() << text << ": " << rows.error().message();
    return {};
  }
  int64_t number(std::string text) {
    const sql::Rows rows = run(std::move(text));
    return rows.rows.empty() ? -1 : rows.rows[0][0].to_int().value_or(-1);
  }

  // Lets everything go on until `done`, at most ten seconds.
  bool until(const std::function<bool()>& done, milliseconds limit = std::chrono::seconds(10)) {
    const SteadyTime deadline = clock->steady() + limit;
    while (!done()) {
      if (clock->steady() >= deadline) return false;
      harness.run(clock->sleep(milliseconds(2)));
    }
    return true;
  }
  void let_pass(milliseconds duration) { harness.run(clock->sleep(duration)); }

  Harness harness;
  std::unique_ptr<Clock> clock;
  std::filesystem::path folder;
  std::shared_ptr<sql::Database> database;

  const std::string& schema() const { return schema_; }

 private:
  sql::Dialect dialect_;
  std::string schema_;
  std::vector<std::shared_ptr<sql::Database>> databases_;
};

class SqlTest : public SqlFixture, public ::testing::WithParamInterface<sql::Dialect> {
 protected:
  SqlTest() : SqlFixture(GetParam()) {}
};

// Those with a server, where several processes may be relays at once.
inline std::vector<sql::Dialect> server_dialects() {
  std::vector<sql::Dialect> out;
#ifdef DROM_POSTGRES
  out.push_back(sql::Dialect::postgres);
#endif
#ifdef DROM_MYSQL
  out.push_back(sql::Dialect::mysql);
#endif
  return out;
}

inline std::vector<sql::Dialect> all_dialects() {
  std::vector<sql::Dialect> out = server_dialects();
  out.insert(out.begin(), sql::Dialect::sqlite);
  return out;
}

inline std::string dialect_name(const ::testing::TestParamInfo<sql::Dialect>& info) {
  return std::string(sql::to_string(info.param));
}

}  // namespace drom::testing
