// The tables of log mode seen from outside of a relay: making them, and how far they are delivered.
// PostgreSQL. Shard thread.
#pragma once

#include <optional>
#include <string>

#include "drom/base/time.hpp"
#include "drom/rt/async.hpp"
#include "drom/sql/database.hpp"

namespace drom::outbox {

// Creates the log tables of `table` when they do not exist and `create` is set, and checks that
// they have the columns we need; the claim table is there already. Errors of kind config say what
// to do.
async<Result<void>> prepare_log_tables(sql::Database& database, std::string table, bool create);

struct LogStatus {
  int64_t due = 0;  // not behind the last checkpoint; at most `limit`
  std::optional<milliseconds> oldest;
  std::string relay;  // that reads; empty: none
  int64_t bytes = 0;  // of the tables, delivered rows included
};
// Nothing: the outbox has no log tables.
async<Result<std::optional<LogStatus>>> log_status(sql::Database& database, std::string table,
                                                   int64_t limit);

}  // namespace drom::outbox
