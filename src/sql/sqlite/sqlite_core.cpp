#include "sql/sqlite/sqlite_core.hpp"

#include "rt/failpoint.hpp"

namespace drom::sql {
namespace {

// Ends BEGIN, COMMIT and the like inside a statement that should have been an ordinary one.
Error transaction_control(const char* what) {
  Error error(ErrorKind::rejected, what,
              "leave BEGIN, COMMIT and ROLLBACK to the transacted block");
  error.type = "SQLITE_ERROR";
  return error;
}

Result<void> run_text(SqliteConnection& connection, const char* sql) {
  const Result<Rows> done = connection.execute(Command{sql, {}});
  if (!done) return done.error();
  return {};
}

Result<std::vector<Rows>> attempt(SqliteConnection& connection, const SqliteTrip& trip) {
  if (trip.begin) {
    if (Result<void> begun = run_text(connection, "BEGIN IMMEDIATE"); !begun) return begun.error();
  }
  std::vector<Rows> out;
  out.reserve(trip.commands.size());
  for (const Command& command : trip.commands) {
    Result<Rows> rows = connection.execute(command);
    if (!rows) {
      if (trip.commands.size() > 1)
        rows.error().what += " (statement " + std::to_string(out.size() + 1) + " of " +
                             std::to_string(trip.commands.size()) + ")";
      return rows.error();
    }
    if (!connection.in_transaction())
      return transaction_control("a statement has ended the transaction");
    out.push_back(std::move(*rows));
  }
  if (trip.commit) {
    if (failpoint("commit.before")) return failpoint_error("commit.before");
    if (Result<void> committed = run_text(connection, "COMMIT"); !committed)
      return committed.error();
    if (failpoint("commit.done"))
      return Error(ErrorKind::not_connected, "whether the work was committed is unknown");
  }
  return out;
}

}  // namespace

Error sqlite_closed(const SqliteOptions& options) {
  return Error(ErrorKind::not_connected, "data source '" + options.name + "' is not open");
}

Error no_turn(const SqliteOptions& options) {
  return Error(
      ErrorKind::timeout,
      "no turn to write to data source '" + options.name + "' within " +
          drom::to_string(options.acquire_timeout),
      "SQLite has one writer: a transaction that is open elsewhere holds it. A requiresNew block "
      "inside a transacted block of the same data source waits for itself and cannot succeed; "
      "else shorten the transactions or raise acquireTimeout");
}

Result<std::vector<Rows>> run_trip(SqliteWorker& worker, const SqliteTrip& trip) {
  if (!worker.connection) return Error(ErrorKind::not_connected, "the data source is closed");
  Result<std::vector<Rows>> out = attempt(*worker.connection, trip);
  if (!out) worker.connection->roll_back();
  return out;
}

Result<Rows> run_alone(SqliteWorker& worker, const Command& command) {
  if (!worker.connection) return Error(ErrorKind::not_connected, "the data source is closed");
  Result<Rows> out = worker.connection->execute(command);
  if (!worker.connection->in_transaction()) return out;
  worker.connection->roll_back();
  return transaction_control("a statement has opened a transaction");
}

}  // namespace drom::sql
