// A data source over a MariaDB or MySQL server: a pool of sessions, each on a lane of its own, with
// statements prepared once per session. Sessions are strict, in UTC and READ COMMITTED. The server
// has no notifications: hints reach this process only. Shard thread only.
#pragma once

#include <memory>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "sql/mysql/mysql_connection.hpp"

namespace boost::asio {
class io_context;
}

namespace drom::sql {

// `clock` steers only the waits for hints; waits for the server and for a session use real time,
// because they wait for real work. All arguments outlive the database.
std::shared_ptr<Database> make_mysql(MysqlOptions options, boost::asio::io_context& io,
                                     Clock& clock, Log& log);

// Reads mysql://user:password@host:port/database?socket=...&sslmode=...&sslrootcert=..., with the
// schemes mysql, mariadb, jdbc:mysql and jdbc:mariadb. What the url does not say stays as it is.
// Parameters of Java's drivers mean what they mean there, others of theirs are ignored. The error
// repeats nothing of the url.
Result<void> read_mysql_url(std::string_view url, MysqlOptions& options);
bool is_mysql_url(std::string_view url);
// "disable", "prefer", "require", "verify-full".
std::optional<MysqlOptions::Tls> tls_mode(std::string_view text);

}  // namespace drom::sql
