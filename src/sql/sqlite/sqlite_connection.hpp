// One SQLite connection: pragmas, prepared statements, values. Every call blocks; it lives on a
// lane (one thread at a time) and is owned by the data source.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drom/base/time.hpp"
#include "drom/sql/database.hpp"
#include "sql/statement_cache.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace drom::sql {

struct SqliteOptions {
  std::string name;  // the bean's
  std::string file;  // a path, or ":memory:"
  std::string synchronous = "FULL";
  milliseconds busy_timeout{5000};      // for locks of other processes
  milliseconds acquire_timeout{10000};  // for the turn to write, within this process
  size_t readers = 2;
  size_t statements_max = 256;  // prepared statements kept per connection
  std::string init;             // a script run at open; may be empty

  bool in_memory() const;
};

class SqliteConnection {
 public:
  enum class Role : uint8_t { writer, reader };

  // Opens or creates the file and its folder.
  static Result<std::unique_ptr<SqliteConnection>> open(const SqliteOptions& options, Role role);
  ~SqliteConnection();
  SqliteConnection(const SqliteConnection&) = delete;
  SqliteConnection& operator=(const SqliteConnection&) = delete;

  Result<Rows> execute(const Command& command);
  // The rows when the statement only reads; nullopt, and nothing done, when it would write.
  Result<std::optional<Rows>> query(const Command& command);
  Result<void> script(const std::string& text);

  bool in_transaction() const;
  // Leaves no transaction open, whatever its state.
  void roll_back();

 private:
  struct Closer {
    void operator()(sqlite3* db) const;
  };
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  struct Statement {
    std::unique_ptr<sqlite3_stmt, Finalizer> handle;
    std::vector<size_t> parameters;  // of each bound position: which of params, from 0
    size_t parameter_count = 0;
    std::vector<std::string> columns;
  };

  explicit SqliteConnection(size_t statements_max) : statements_(statements_max) {}

  int busy_ms_ = 0;  // how long to wait for another process's lock
  Result<Statement*> prepare(const std::string& sql);
  Result<void> bind(const Statement& statement, const List& params);
  Result<Rows> run(Statement& statement, const List& params);
  Result<void> run_text(const char* sql);

  std::unique_ptr<sqlite3, Closer> db_;
  StatementCache<Statement> statements_;  // finalized before db_ closes
};

}  // namespace drom::sql
