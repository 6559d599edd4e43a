// What a SQLite data source and its transactions share: the lanes with their connections and the
// turn to write. Kept alive by every call that waits, so the data source may go away before them.
// Shard thread only, except what the functions below do on a lane.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "rt/lane.hpp"
#include "rt/real_clock.hpp"
#include "sql/sqlite/sqlite_connection.hpp"
#include "sql/turnstile.hpp"
#include "sql/wait_hub.hpp"

namespace drom::sql {

// A connection and the lane that it lives on.
struct SqliteWorker {
  std::unique_ptr<SqliteConnection> connection;  // touched on the lane only; null when closed
  Lane lane;                                     // joins before the connection goes
  size_t pending = 0;                            // calls under way; shard

  SqliteWorker(boost::asio::io_context& io, std::string name) : lane(io, std::move(name)) {}
};

struct SqliteCore {
  SqliteCore(SqliteOptions o, boost::asio::io_context& context, Clock& c, Log& l)
      : options(std::move(o)),
        io(context),
        clock(c),
        log(l),
        real_clock(make_real_clock(context)) {}

  SqliteOptions options;
  boost::asio::io_context& io;
  Clock& clock;
  Log& log;
  std::unique_ptr<Clock> real_clock;
  Turnstile turn{1};
  WaitHub hints;
  std::unique_ptr<SqliteWorker> writer;                // null before open()
  std::vector<std::unique_ptr<SqliteWorker>> readers;  // none for :memory:
  bool opened = false;
};

// What one trip to the writer's lane does. A failure rolls back at once, so that nobody waits for a
// transaction that cannot succeed any more.
struct SqliteTrip {
  std::vector<Command> commands;
  bool begin = false;
  bool commit = false;

  SqliteTrip(std::vector<Command> c, bool b, bool e)
      : commands(std::move(c)), begin(b), commit(e) {}
};
Result<std::vector<Rows>> run_trip(SqliteWorker& worker, const SqliteTrip& trip);
// One statement outside any transaction.
Result<Rows> run_alone(SqliteWorker& worker, const Command& command);

Error sqlite_closed(const SqliteOptions& options);
Error no_turn(const SqliteOptions& options);

std::unique_ptr<Transaction> make_sqlite_transaction(std::shared_ptr<SqliteCore> core);

}  // namespace drom::sql
