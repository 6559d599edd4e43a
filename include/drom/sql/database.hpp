// SQL data sources: one Database per named bean, over SQLite (blocking lanes), PostgreSQL (libpq,
// non-blocking, pipelined) or MariaDB and MySQL (blocking lanes). Statements carry `$1`, `$2` ...
// in every dialect and are prepared once per connection; values travel only as bound parameters.
// Shard thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/base/value.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/async.hpp"
#include "drom/rt/unit_of_work.hpp"

namespace drom::sql {

enum class Dialect : uint8_t { sqlite, postgres, mysql };
std::string_view to_string(Dialect dialect);

struct Rows {
  std::vector<std::string> columns;
  std::vector<List> rows;  // one List per row, in column order
  int64_t affected = 0;    // rows inserted, updated or deleted

  // Row `i` as an object column -> value.
  Object object(size_t i) const;
};

struct Command {
  std::string sql;
  List params;
};

// Errors of all calls: `rejected` = the statement or a constraint says no (type holds the SQLSTATE
// or the SQLite result name), `transient` = busy, deadlock, serialization, `not_connected` = no
// session, `timeout` = no free connection in time.

// An open transaction on one connection, one call at a time. After a failed statement it can only
// roll back, in every dialect. Destroyed unfinished: rolled back.
class Transaction : public TransactionResource {
 public:
  async<Result<Rows>> execute(std::string sql, List params);
  // All commands in order, in one trip where the dialect can; the first failure ends the call.
  virtual async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) = 0;
};

class ReplicationStream;

class Database {
 public:
  virtual ~Database() = default;
  virtual Dialect dialect() const = 0;
  virtual const std::string& name() const = 0;  // the bean's name
  // Connects once to see that it works; later connections open on use.
  virtual async<Result<void>> open() = 0;
  virtual async<> close() = 0;
  // One statement in its own transaction.
  virtual async<Result<Rows>> execute(std::string sql, List params) = 0;
  // All commands in one transaction of their own, in one trip where the dialect can.
  virtual async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) = 0;
  // A script without parameters and results (DDL); statements separated by semicolons. One
  // transaction, except that each DDL statement commits what came before it in MySQL.
  virtual async<Result<void>> script(std::string text) = 0;
  virtual async<Result<std::unique_ptr<Transaction>>> begin() = 0;

  // Wake-up hints between a writer and a poller of this database. Correct with every hint lost.
  // signal() wakes the waiters of `channel` in this process; wait() returns at a signal or after
  // `timeout`, also when cancel_waits() was called.
  virtual void signal(std::string_view channel) = 0;
  virtual async<> wait(std::string channel, milliseconds timeout) = 0;
  virtual void cancel_waits() = 0;

  // A stream of what is committed (PostgreSQL), on a session of its own; kind config elsewhere.
  virtual async<Result<std::unique_ptr<ReplicationStream>>> replicate();

  // Where transactions of this database keep their sends; null: they run after the commit.
  SendStore* sends() const { return sends_.get(); }
  void keep_sends(std::unique_ptr<SendStore> store) { sends_ = std::move(store); }

 private:
  std::unique_ptr<SendStore> sends_;
};

// The transaction of `database` in the exchange's unit of work, opened when none has joined yet.
// The exchange must be in a unit. Two data sources in one unit are an error of kind config.
async<Result<Transaction*>> join(UnitOfWork& unit, Database& database);

// In the exchange's unit of work when it has one, else in a transaction of its own. A failure in a
// unit marks the unit for rollback.
async<Result<Rows>> execute(Exchange& exchange, Database& database, std::string sql, List params);
async<Result<std::vector<Rows>>> execute_all(Exchange& exchange, Database& database,
                                             std::vector<Command> commands);

}  // namespace drom::sql
