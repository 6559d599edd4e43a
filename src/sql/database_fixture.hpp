// The suite that every dialect must pass is in database_conformance_test.cpp; a dialect joins it
// with a Backend. Test support, one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "drom/sql/database.hpp"
#include "support/harness.hpp"

namespace drom::sql {

// One database for one test, empty at first.
class TestDatabase {
 public:
  virtual ~TestDatabase() = default;
  // A data source over it; several see the same data. `places`: transactions that may be open at
  // once where the dialect lets one choose; who finds none waits at most `patience`.
  virtual std::shared_ptr<Database> connect(testing::Harness& harness, size_t places,
                                            milliseconds patience) = 0;
};

struct Backend {
  std::string name;
  std::string bytes_type;
  std::string decimal_type;
  std::string time_type;
  std::string text_type = "TEXT";  // for ten megabytes
  std::string text_cast = "TEXT";
  bool fixed_scale = false;  // a decimal comes back with all zeros of its column
  bool deferred_constraints = true;
  bool transactional_ddl = true;
  // Null: not available here; the tests are skipped, or fail when DROM_CI is set.
  std::function<std::unique_ptr<TestDatabase>()> make;
  std::string missing;  // why make may give null
};

Backend sqlite_backend();
#ifdef DROM_POSTGRES
Backend postgres_backend();
#endif
#ifdef DROM_MYSQL
Backend mysql_backend();
#endif

class DatabaseConformance : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    place_ = GetParam().make();
    if (!place_) {
      if (std::getenv("DROM_CI")) FAIL() << GetParam().missing;
      GTEST_SKIP() << GetParam().missing;
    }
    database = connect();
    ASSERT_TRUE(database);
  }
  void TearDown() override {
    if (database) harness.run(database->close());
  }

  std::shared_ptr<Database> connect(size_t places = 4,
                                    milliseconds patience = std::chrono::seconds(10)) {
    std::shared_ptr<Database> made = place_->connect(harness, places, patience);
    const Result<void> opened = harness.run(made->open());
    if (opened) return made;
    ADD_FAILURE() << opened.error().message();
    return nullptr;
  }
  // Runs one statement that must work.
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
  int64_t count(const std::string& table) {
    const Rows rows = run("SELECT count(*) FROM " + table);
    return rows.rows.empty() ? -1 : rows.rows[0][0].to_int().value_or(-1);
  }
  std::unique_ptr<Transaction> begin() {
    auto begun = harness.run(database->begin());
    return begun ? std::move(*begun) : nullptr;
  }
  Result<Rows> in(Transaction& transaction, std::string sql, List params = {}) {
    return harness.run(transaction.execute(std::move(sql), std::move(params)));
  }

  testing::Harness harness;
  std::unique_ptr<TestDatabase> place_;
  std::shared_ptr<Database> database;
};

inline const char* const kItems = "CREATE TABLE items (id BIGINT PRIMARY KEY, name TEXT NOT NULL)";

inline List values(Value a, Value b) {
  List out;
  out.push_back(std::move(a));
  out.push_back(std::move(b));
  return out;
}
inline List values(Value a) {
  List out;
  out.push_back(std::move(a));
  return out;
}

inline Command insert(int64_t id, std::string name) {
  return Command{"INSERT INTO items (id, name) VALUES ($1, $2)", values(id, std::move(name))};
}

}  // namespace drom::sql
