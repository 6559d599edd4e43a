#include "drom/sql/database.hpp"

#include "sql/replication.hpp"

namespace drom::sql {

std::string_view to_string(Dialect dialect) {
  switch (dialect) {
    case Dialect::sqlite: return "sqlite";
    case Dialect::postgres: return "postgres";
    case Dialect::mysql: return "mysql";
  }
  return "";
}

Object Rows::object(size_t i) const {
  const List& row = rows.at(i);
  Object out;
  out.reserve(columns.size());
  // A later column of the same name wins, as it does for a Java map.
  for (size_t c = 0; c < columns.size(); ++c) out.set(columns[c], row[c]);
  return out;
}

async<Result<Rows>> Transaction::execute(std::string sql, List params) {
  std::vector<Command> commands;
  commands.push_back(Command{std::move(sql), std::move(params)});
  Result<std::vector<Rows>> rows = co_await execute_all(std::move(commands));
  if (!rows) co_return std::move(rows.error());
  co_return std::move(rows->front());
}

async<Result<std::unique_ptr<ReplicationStream>>> Database::replicate() {
  co_return Error(ErrorKind::config,
                  "data source '" + name() + "' is " + std::string(to_string(dialect())) +
                      ", which has no stream of changes",
                  "PostgreSQL has one");
}

async<Result<Transaction*>> join(UnitOfWork& unit, Database& database) {
  const Result<TransactionResource*> joined = unit.joined(&database, database.name());
  if (!joined) co_return joined.error();
  // Only this file enlists under the address of a Database.
  if (*joined) co_return static_cast<Transaction*>(*joined);
  // begin() does not suspend (it connects at the first statement), so parallel branches of one
  // exchange cannot both come here.
  Result<std::unique_ptr<Transaction>> begun = co_await database.begin();
  if (!begun) co_return begun.error();
  Transaction* const transaction = begun->get();
  unit.enlist(&database, database.name(), std::move(*begun), database.sends());
  co_return transaction;
}

async<Result<Rows>> execute(Exchange& exchange, Database& database, std::string sql, List params) {
  if (!exchange.unit) {
    Result<Rows> alone = co_await database.execute(std::move(sql), std::move(params));
    co_return alone;
  }
  UnitOfWork& unit = *exchange.unit;
  const Result<Transaction*> transaction = co_await join(unit, database);
  if (!transaction) {
    unit.mark_rollback_only();
    co_return transaction.error();
  }
  Result<Rows> rows = co_await (*transaction)->execute(std::move(sql), std::move(params));
  if (!rows) unit.mark_rollback_only();
  co_return rows;
}

async<Result<std::vector<Rows>>> execute_all(Exchange& exchange, Database& database,
                                             std::vector<Command> commands) {
  if (!exchange.unit) {
    Result<std::vector<Rows>> alone = co_await database.execute_all(std::move(commands));
    co_return alone;
  }
  UnitOfWork& unit = *exchange.unit;
  const Result<Transaction*> transaction = co_await join(unit, database);
  if (!transaction) {
    unit.mark_rollback_only();
    co_return transaction.error();
  }
  Result<std::vector<Rows>> rows = co_await (*transaction)->execute_all(std::move(commands));
  if (!rows) unit.mark_rollback_only();
  co_return rows;
}

}  // namespace drom::sql
