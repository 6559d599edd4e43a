// A data source over one SQLite file: one connection writes, on its own lane, a few others read
// beside it (WAL). Writers of this process queue for their turn, first come first served, with a
// deadline; a transaction holds the turn from its first statement to its end. Shard thread only.
#pragma once

#include <memory>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "sql/sqlite/sqlite_connection.hpp"

namespace boost::asio {
class io_context;
}

namespace drom::sql {

// `clock` steers only the waits for hints; waits for the file and for the turn use real time,
// because they wait for real work. All arguments outlive the database.
std::shared_ptr<Database> make_sqlite(SqliteOptions options, boost::asio::io_context& io,
                                      Clock& clock, Log& log);

}  // namespace drom::sql
