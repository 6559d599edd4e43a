#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "sql/database_fixture.hpp"
#include "sql/sqlite/sqlite_database.hpp"
#include "sql/sqlite/sqlite_error.hpp"

namespace drom::sql {
namespace {

namespace fs = std::filesystem;

// A folder of its own for one test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "drom-sqlite-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

SqliteOptions options_for(std::string file) {
  SqliteOptions options;
  options.name = "test";
  options.file = std::move(file);
  options.statements_max = 50;
  return options;
}

class SqliteFile final : public TestDatabase {
 public:
  std::shared_ptr<Database> connect(testing::Harness& harness, size_t,
                                    milliseconds patience) override {
    SqliteOptions options = options_for(folder_.file("test.db"));
    options.acquire_timeout = patience;
    return make_sqlite(std::move(options), harness.io(), harness.clock(), harness.log());
  }

 private:
  Folder folder_;
};

class SqliteTest : public ::testing::Test {
 protected:
  std::shared_ptr<Database> open(SqliteOptions options) {
    auto database = make_sqlite(std::move(options), harness.io(), harness.clock(), harness.log());
    const Result<void> opened = harness.run(database->open());
    EXPECT_TRUE(opened) << opened.error().message();
    return database;
  }
  Rows run(Database& database, std::string sql, List params = {}) {
    Result<Rows> rows = harness.run(database.execute(std::move(sql), std::move(params)));
    if (rows) return std::move(*rows);
    ADD_FAILURE() << rows.error().message();
    return {};
  }

  Folder folder;
  testing::Harness harness;
};

TEST_F(SqliteTest, CreatesTheFolderOfTheFile) {
  const std::string file = folder.file("a/b/c.db");
  const auto database = open(options_for(file));
  run(*database, "CREATE TABLE t (x)");
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(SqliteTest, UsesWalFullSyncAndForeignKeys) {
  const auto database = open(options_for(folder.file("t.db")));
  EXPECT_EQ(run(*database, "PRAGMA journal_mode").rows.at(0)[0], Value("wal"));
  EXPECT_EQ(run(*database, "PRAGMA synchronous").rows.at(0)[0], Value(2));
  EXPECT_EQ(run(*database, "PRAGMA foreign_keys").rows.at(0)[0], Value(1));
}

TEST_F(SqliteTest, SharesOneConnectionInMemory) {
  const auto database = open(options_for(":memory:"));
  run(*database, "CREATE TABLE t (x)");
  run(*database, "INSERT INTO t VALUES (1)");
  EXPECT_EQ(run(*database, "SELECT x FROM t").rows.size(), 1U);
}

TEST_F(SqliteTest, RunsTheInitScriptAtEveryOpen) {
  SqliteOptions options = options_for(folder.file("t.db"));
  options.init = "CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES (1)";
  for (int i = 1; i <= 2; ++i) {
    const auto database = open(options);
    EXPECT_EQ(run(*database, "SELECT x FROM t").rows.size(), static_cast<size_t>(i));
    harness.run(database->close());
  }
}

TEST_F(SqliteTest, SendsAWriteThatLooksLikeAQueryToTheWriter) {
  const auto database = open(options_for(folder.file("t.db")));
  run(*database, "CREATE TABLE t (x)");
  const Rows rows =
      run(*database, "WITH n AS (SELECT 7 AS x) INSERT INTO t SELECT x FROM n RETURNING x");
  EXPECT_EQ(rows.rows.at(0)[0], Value(7));
  EXPECT_EQ(run(*database, "SELECT x FROM t").rows.size(), 1U);
}

TEST_F(SqliteTest, ReadsBesideAnOpenTransaction) {
  SqliteOptions options = options_for(folder.file("t.db"));
  options.acquire_timeout = milliseconds(20);
  const auto database = open(options);
  run(*database, "CREATE TABLE t (x)");
  auto transaction = harness.run(database->begin());
  ASSERT_TRUE(harness.run((*transaction)->execute("INSERT INTO t VALUES (1)", {})));
  EXPECT_EQ(run(*database, "SELECT x FROM t").rows.size(), 0U);
  const Result<Rows> write = harness.run(database->execute("INSERT INTO t VALUES (2)", {}));
  ASSERT_FALSE(write);
  EXPECT_EQ(write.error().kind, ErrorKind::timeout);
  EXPECT_NE(write.error().hint.find("requiresNew"), std::string::npos);
}

TEST_F(SqliteTest, IsTransientWhileAnotherProcessWrites) {
  SqliteOptions options = options_for(folder.file("t.db"));
  options.busy_timeout = milliseconds(1);
  const auto database = open(options);
  run(*database, "CREATE TABLE t (x)");
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(options.file.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Result<Rows> busy = harness.run(database->execute("INSERT INTO t VALUES (1)", {}));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().kind, ErrorKind::transient);
  EXPECT_EQ(busy.error().type, "SQLITE_BUSY");
  sqlite3_close(other);
  run(*database, "INSERT INTO t VALUES (1)");
}

TEST_F(SqliteTest, NamesAFileThatIsNoDatabase) {
  const std::string file = folder.file("t.db");
  std::ofstream(file) << std::string(4096, 'x');
  const auto database =
      make_sqlite(options_for(file), harness.io(), harness.clock(), harness.log());
  const Result<void> opened = harness.run(database->open());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::rejected);
  EXPECT_EQ(opened.error().type, "SQLITE_NOTADB");
  EXPECT_NE(opened.error().what.find(file), std::string::npos);
}

TEST_F(SqliteTest, NamesAFolderThatCannotBeMade) {
  std::ofstream(folder.file("file")) << "x";
  const auto database = make_sqlite(options_for(folder.file("file/t.db")), harness.io(),
                                    harness.clock(), harness.log());
  const Result<void> opened = harness.run(database->open());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::not_connected);
}

TEST_F(SqliteTest, StopsAtAFullDiskAndGoesOnAfterwards) {
  const auto database = open(options_for(folder.file("t.db")));
  run(*database, "CREATE TABLE t (x)");
  run(*database, "PRAGMA max_page_count = 4");
  List big;
  big.push_back(Bytes(std::string(100'000, 'x')));
  const Result<Rows> full = harness.run(database->execute("INSERT INTO t VALUES ($1)", big));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::transient);
  EXPECT_EQ(full.error().type, "SQLITE_FULL");
  EXPECT_NE(full.error().hint, "");
  run(*database, "PRAGMA max_page_count = 100000");
  run(*database, "INSERT INTO t VALUES ($1)", big);
}

TEST_F(SqliteTest, KeepsTextWithNulAndRefusesNamedParameters) {
  const auto database = open(options_for(":memory:"));
  const std::string text("a\0b", 3);
  List params;
  params.push_back(text);
  EXPECT_EQ(run(*database, "SELECT $1", params).rows.at(0)[0], Value(text));
  const Result<Rows> named = harness.run(database->execute("SELECT ?", params));
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().hint.find("$1"), std::string::npos);
}

TEST_F(SqliteTest, GivesAListToJsonEach) {
  const auto database = open(options_for(":memory:"));
  List params;
  params.push_back(List{Value(1), Value(3)});
  const Rows rows = run(*database,
                        "WITH t(x) AS (VALUES (1), (2), (3)) "
                        "SELECT x FROM t WHERE x IN (SELECT value FROM json_each($1))",
                        params);
  EXPECT_EQ(rows.rows.size(), 2U);
}

TEST(SqliteError, NamesExtendedCodes) {
  EXPECT_EQ(sqlite_code_name(SQLITE_CONSTRAINT_UNIQUE), "SQLITE_CONSTRAINT_UNIQUE");
  EXPECT_EQ(sqlite_code_name(SQLITE_IOERR_SHORT_READ), "SQLITE_IOERR_522");
  EXPECT_EQ(sqlite_error(SQLITE_BUSY_SNAPSHOT, "x").kind, ErrorKind::transient);
  EXPECT_EQ(sqlite_error(SQLITE_CORRUPT, "x").kind, ErrorKind::rejected);
}

}  // namespace

Backend sqlite_backend() {
  Backend backend;
  backend.name = "Sqlite";
  backend.bytes_type = "BLOB";
  backend.decimal_type = "TEXT";
  backend.time_type = "TEXT";
  backend.make = [] { return std::make_unique<SqliteFile>(); };
  return backend;
}

}  // namespace drom::sql
