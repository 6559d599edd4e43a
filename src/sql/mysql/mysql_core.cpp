#include "sql/mysql/mysql_core.hpp"

namespace drom::sql {
namespace {

Error transaction_control(const char* what, const char* state) {
  Error error(ErrorKind::rejected, what,
              "leave BEGIN, COMMIT and ROLLBACK to the transacted block; in MySQL CREATE, ALTER "
              "and the like commit as well");
  error.type = state;
  return error;
}

Error ended() { return transaction_control("a statement has ended the transaction", "25000"); }

void unknown_outcome(Error& error) {
  if (error.kind == ErrorKind::not_connected)
    error.what += "; whether the work was committed is unknown";
}

Result<std::vector<Rows>> attempt(MysqlConnection& connection, const MysqlTrip& trip) {
  if (trip.begin) {
    if (Result<void> begun = connection.begin(); !begun) return begun.error();
  } else if (!trip.alone && !connection.in_transaction()) {
    return ended();
  }
  std::vector<Rows> out;
  out.reserve(trip.commands.size());
  for (const Command& command : trip.commands) {
    Result<Rows> rows = connection.execute(command);
    if (!rows) {
      if (trip.alone) unknown_outcome(rows.error());
      if (trip.commands.size() > 1)
        rows.error().what += " (statement " + std::to_string(out.size() + 1) + " of " +
                             std::to_string(trip.commands.size()) + ")";
      return rows.error();
    }
    if (!trip.alone && !connection.in_transaction()) return ended();
    out.push_back(std::move(*rows));
  }
  if (trip.alone && connection.in_transaction())
    return transaction_control("a statement has opened a transaction", "25001");
  if (trip.commit) {
    if (Result<void> committed = connection.commit(); !committed) {
      unknown_outcome(committed.error());
      return committed.error();
    }
  }
  return out;
}

// Leaves the session at rest, or none.
void clean(MysqlWorker& worker) {
  if (!worker.connection) return;
  worker.connection->roll_back();
  if (!worker.connection->usable()) worker.connection.reset();
}

}  // namespace

Error mysql_closed(const MysqlOptions& options) {
  return Error(ErrorKind::not_connected, "data source '" + options.name + "' is not open");
}

MysqlLease& MysqlLease::operator=(MysqlLease&& other) noexcept {
  if (this != &other) {
    give_back();
    core_ = std::move(other.core_);
    place_ = std::move(other.place_);
    worker_ = std::move(other.worker_);
  }
  return *this;
}

void MysqlLease::give_back() {
  if (worker_ && core_->opened) core_->idle.push_back(std::move(worker_));
  worker_.reset();
  place_.release();  // after the worker is there to be taken
  core_.reset();
}

void MysqlLease::abandon() {
  // Closing is quicker than asking, when nobody wants the session any more.
  if (worker_ && core_->opened) worker_->lane.push([worker = worker_.get()] { clean(*worker); });
  give_back();
}

async<Result<MysqlLease>> acquire(std::shared_ptr<MysqlCore> core) {
  if (!core->opened) co_return mysql_closed(core->options);
  std::optional<Turnstile::Permit> place =
      co_await core->places.enter(*core->real_clock, core->options.acquire_timeout);
  if (!place) {
    co_return Error(
        ErrorKind::timeout,
        "no free connection of data source '" + core->options.name + "' within " +
            drom::to_string(core->options.acquire_timeout) + "; all " +
            std::to_string(core->options.pool_size) + " are in use",
        "raise poolSize or acquireTimeout, or shorten the transactions; a transaction inside a "
        "transaction takes a second connection");
  }
  if (!core->opened) co_return mysql_closed(core->options);
  std::unique_ptr<MysqlWorker> worker;
  if (core->idle.empty()) {
    worker = std::make_unique<MysqlWorker>(core->io, "my-" + core->options.name);
  } else {
    worker = std::move(core->idle.back());
    core->idle.pop_back();
  }
  co_return MysqlLease(std::move(core), std::move(*place), std::move(worker));
}

Result<void> make_ready(MysqlWorker& worker, const MysqlOptions& options) {
  // Sessions that ended while they rested (a restart of the server) are found before anything is
  // sent.
  if (worker.connection && !worker.connection->still_there()) worker.connection.reset();
  if (worker.connection) return {};
  Result<std::unique_ptr<MysqlConnection>> fresh = MysqlConnection::connect(options);
  if (!fresh) return fresh.error();
  worker.connection = std::move(*fresh);
  return {};
}

Result<std::vector<Rows>> run_trip(MysqlWorker& worker, const MysqlOptions& options,
                                   const MysqlTrip& trip) {
  if (trip.begin || trip.alone) {
    if (Result<void> ready = make_ready(worker, options); !ready) return ready.error();
  }
  if (!worker.connection)
    return Error(ErrorKind::not_connected, "the session of the transaction has ended");
  Result<std::vector<Rows>> out = attempt(*worker.connection, trip);
  if (!out || trip.alone || trip.commit) clean(worker);
  return out;
}

Result<void> run_script(MysqlWorker& worker, const MysqlOptions& options, const std::string& text) {
  if (Result<void> ready = make_ready(worker, options); !ready) return ready;
  Result<void> done = worker.connection->script(text);
  clean(worker);
  return done;
}

}  // namespace drom::sql
