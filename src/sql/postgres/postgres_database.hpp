// A data source over a PostgreSQL server: a pool of non-blocking sessions, statements prepared once
// per session, a batch in one network round trip. Shard thread only.
#pragma once

#include <memory>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "sql/postgres/pg_connection.hpp"

namespace drom::sql {

// `clock` steers only the waits for hints; waits for the server and for a connection use real time,
// because they wait for real work. All arguments outlive the database.
std::shared_ptr<Database> make_postgres(PostgresOptions options, boost::asio::io_context& io, Clock& clock,
                                        Log& log);

// Finds what libpq would not understand, and the password that is to be masked in texts.
Result<void> check_options(PostgresOptions& options);

}  // namespace drom::sql
