// What an operator does with an outbox: look, try again, throw away. Used by `drom outbox`; every
// call is one statement or one transaction and safe while relays run. Shard thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drom/sql/database.hpp"

namespace drom::outbox {

struct Status {
  int64_t due = 0;      // ready now
  int64_t waiting = 0;  // after a failure, or delayed
  int64_t sent = 0;
  int64_t dead = 0;
  int64_t parked = 0;
  std::optional<milliseconds> oldest_due;  // age of the oldest row that is ready
  struct Relay {
    std::string owner;
    int64_t buckets = 0;
  };
  std::vector<Relay> relays;  // that hold a lease now
};

struct ListFilter {
  std::string state;  // due, sent, dead, parked; empty = all except sent
  int64_t limit = 50;
};

// `table` must have passed checked_table(). Rows come as objects column -> value.
async<Result<Status>> status(sql::Database& database, std::string table);
async<Result<std::vector<Object>>> list(sql::Database& database, std::string table,
                                        ListFilter filter);
// With payload and headers; an error of kind rejected when there is no such row.
async<Result<Object>> show(sql::Database& database, std::string table, int64_t id);

// Makes dead and parked rows due again, with all their attempts; also wakes rows in backoff that
// are named. Returns how many.
async<Result<int64_t>> retry(sql::Database& database, std::string table, std::vector<int64_t> ids);
async<Result<int64_t>> retry_all_dead(sql::Database& database, std::string table);
// Deletes rows that are not sent. Returns how many.
async<Result<int64_t>> discard(sql::Database& database, std::string table,
                               std::vector<int64_t> ids);

// Creates the tables; `outbox_ddl` gives the text without a database.
async<Result<void>> init(sql::Database& database, std::string table);

}  // namespace drom::outbox
