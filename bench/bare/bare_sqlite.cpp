#include <sqlite3.h>

#include <map>

#include "bare/bare_database.hpp"

namespace drom::bench {
namespace {

class BareSqlite final : public BareDatabase {
 public:
  explicit BareSqlite(const std::string& file) {
    check(sqlite3_open(file.c_str(), &db_) == SQLITE_OK, "open", file);
    sqlite3_busy_timeout(db_, 10'000);
    script("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  }
  ~BareSqlite() override {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
    sqlite3_close(db_);
  }

  sql::Dialect dialect() const override { return sql::Dialect::sqlite; }

  void script(const std::string& text) override {
    const int code = sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr);
    check(code == SQLITE_OK, text, sqlite3_errmsg(db_));
  }

  std::vector<int64_t> run(const std::vector<Command>& commands, bool together) override {
    std::vector<int64_t> out;
    if (together) script("BEGIN IMMEDIATE");
    for (const Command& command : commands) {
      sqlite3_stmt* const statement = prepared(command.sql);
      for (size_t i = 0; i < command.params.size(); ++i)
        bind(statement, static_cast<int>(i + 1), command.params[i]);
      out.clear();
      int code = 0;
      while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        out.push_back(sqlite3_column_int64(statement, 0));
        for (int c = 1; c < sqlite3_column_count(statement); ++c)
          bytes_ += static_cast<size_t>(sqlite3_column_bytes(statement, c));
      }
      check(code == SQLITE_DONE, command.sql, sqlite3_errmsg(db_));
      sqlite3_reset(statement);
    }
    if (together) script("COMMIT");
    return out;
  }

 private:
  sqlite3_stmt* prepared(const std::string& sql) {
    sqlite3_stmt*& statement = statements_[sql];
    if (!statement)
      check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK, sql,
            sqlite3_errmsg(db_));
    return statement;
  }
  static void bind(sqlite3_stmt* statement, int at, const Param& param) {
    if (const auto* number = std::get_if<int64_t>(&param)) {
      sqlite3_bind_int64(statement, at, *number);
      return;
    }
    const auto& text = std::get<std::string>(param);
    sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  }

  sqlite3* db_ = nullptr;
  std::map<std::string, sqlite3_stmt*> statements_;
  size_t bytes_ = 0;  // all columns are looked at
};

}  // namespace

std::unique_ptr<BareDatabase> open_bare_sqlite(const std::string& file) {
  return std::make_unique<BareSqlite>(file);
}

}  // namespace drom::bench
