// One session with a MariaDB or MySQL server over libmariadb: settings, prepared statements,
// values. Every call blocks; it lives on a lane (one thread at a time) and is owned by the pool.
#pragma once

#include <mariadb/mysql.h>

#include <memory>
#include <string>
#include <vector>

#include "drom/base/time.hpp"
#include "drom/sql/database.hpp"
#include "sql/mysql/mysql_text.hpp"
#include "sql/statement_cache.hpp"

namespace drom::sql {

struct MysqlOptions {
  // `automatic`: verified, but on the own machine only encrypted where the server can.
  enum class Tls : uint8_t { automatic, disable, prefer, require, verify_full };

  std::string name;  // the bean's
  std::string host = "localhost";
  unsigned port = 3306;
  std::string socket;  // a path; wins over host and port
  std::string database;
  std::string user;
  std::string password;
  Tls tls = Tls::automatic;
  std::string ca_file;  // empty: the system's
  size_t pool_size = 10;
  milliseconds acquire_timeout{10000};
  milliseconds connect_timeout{10000};
  milliseconds statement_timeout{60000};
  size_t statements_max = 256;
  std::string init;  // a script run at open; may be empty

  bool on_this_machine() const;
};

class MysqlConnection {
 public:
  static Result<std::unique_ptr<MysqlConnection>> connect(const MysqlOptions& options);
  ~MysqlConnection() = default;
  MysqlConnection(const MysqlConnection&) = delete;
  MysqlConnection& operator=(const MysqlConnection&) = delete;

  // An error of kind not_connected leaves open what the server has done. After any error look at
  // usable().
  Result<Rows> execute(const Command& command);
  Result<void> script(const std::string& text);
  // BEGIN and COMMIT.
  Result<void> begin() { return run_text("START TRANSACTION"); }
  Result<void> commit();

  // As the server said last.
  bool in_transaction() const;
  // Leaves no transaction open, or leaves the session unusable.
  void roll_back();
  // The session is alive as far as we know, and has the settings that we gave it.
  bool usable() const;
  // Asks the socket, without waiting, whether the server has hung up. For a session at rest.
  bool still_there() const;

 private:
  struct Closer {
    void operator()(MYSQL* handle) const { mysql_close(handle); }
  };
  struct StatementCloser {
    void operator()(MYSQL_STMT* statement) const { mysql_stmt_close(statement); }
  };
  struct Statement {
    std::unique_ptr<MYSQL_STMT, StatementCloser> handle;
    MysqlText text;
    bool changes = false;  // its rows, if it gives any, are those that it has changed
  };

  explicit MysqlConnection(const MysqlOptions& options);
  Result<void> dial();
  Result<void> set_up();
  Result<void> run_text(const std::string& sql);
  Result<Rows> run_unprepared(const Command& command);
  // Null: the server can only run it as text.
  Result<Statement*> prepare(const std::string& sql);
  Result<Rows> run(Statement& statement, const List& params);
  Result<Rows> read(Statement& statement);
  unsigned status() const;
  Error failure();
  Error failure(MYSQL_STMT* statement);
  Error failure(unsigned code, const char* state, const char* message);

  const MysqlOptions& options_;  // the pool's
  // Freed after the session has gone: closing it then costs one message, not one per statement.
  StatementCache<Statement> statements_;
  std::unique_ptr<MYSQL, Closer> handle_;
  bool mariadb_ = true;
  size_t packet_bytes_max_ = 0;
  bool broken_ = false;
  bool stale_ = false;  // the statement under way must be prepared again
};

}  // namespace drom::sql
