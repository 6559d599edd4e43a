// What an operator does with an outbox: look, try again, hold back, throw away. Used by `drom
// outbox`; safe while relays run. Shapes are resolved ones (table_check). Shard thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "connectors/outbox/log_admin.hpp"
#include "connectors/outbox/table_shape.hpp"
#include "drom/rt/clock.hpp"
#include "drom/sql/database.hpp"

namespace drom::outbox {

inline constexpr int kLagRows = 10'000;

// The due end of a table, cheaply: only its oldest kLagRows rows are looked at.
struct Backlog {
  int64_t due = 0;
  std::optional<milliseconds> oldest;
  struct Lag {
    int bucket = 0;
    int64_t due = 0;
    int64_t oldest_id = 0;
    std::optional<milliseconds> oldest;
  };
  std::vector<Lag> lags;  // of the buckets with due rows
  // The oldest open transaction of the database (PostgreSQL): rows that are deleted or changed
  // cannot be cleaned away before it ends.
  struct Holder {
    int64_t pid = 0;
    milliseconds age{0};
    std::string state;
    std::string query;  // its beginning
  };
  std::optional<Holder> holder;
};

struct Status {
  std::map<std::string, int64_t> counts;  // by state; states without rows may be missing
  int64_t count(const std::string& state) const {
    const auto at = counts.find(state);
    return at == counts.end() ? 0 : at->second;
  }
  std::optional<milliseconds> oldest_due;  // age of the oldest row that is ready
  struct Relay {
    std::string owner;
    int64_t buckets = 0;
  };
  std::vector<Relay> relays;  // that hold a lease now
  Backlog backlog;
  std::optional<LogStatus> log;  // log mode; the rest is about rows on hold then
};

struct Selection {
  std::vector<int64_t> ids;
  std::string key;
  std::string type;
  std::string state;
  std::optional<milliseconds> older_than;  // since the row was written
  bool empty() const {
    return ids.empty() && key.empty() && type.empty() && state.empty() && !older_than;
  }
};

// Every state that a row can be in, for checks of what people write.
const std::vector<std::string>& states();

// Counts all rows, which takes its time on a large table.
async<Result<Status>> status(sql::Database& database, TableShape shape);
async<Result<Backlog>> backlog(sql::Database& database, TableShape shape);
// Rows as objects column -> value; without a state all that are not sent.
async<Result<std::vector<Object>>> list(sql::Database& database, TableShape shape,
                                        Selection selection, int64_t limit);
// With payload and headers; an error of kind rejected when there is no such row.
async<Result<Object>> show(sql::Database& database, TableShape shape, int64_t id);

enum class Action : uint8_t {
  retry,    // dead, parked and waiting rows become due, with all their attempts
  discard,  // rows that are not sent are deleted
  park,     // due, waiting and dead rows wait for a person, and their key with them
  unpark,   // parked rows become due
};
std::string_view name_of(Action action);

struct Changed {
  int64_t rows = 0;
  std::vector<std::string> refused;  // of the ids given: why not, one sentence each
};

// In chunks, each a transaction of its own, with a pause between them. A selection without ids
// takes the rows whose state allows the action.
async<Result<Changed>> change(sql::Database& database, Clock& clock, TableShape shape,
                              Action action, Selection selection);
// Deletes sent rows (`older_than` counts from the sending) or dead ones (from the writing).
async<Result<int64_t>> purge(sql::Database& database, Clock& clock, TableShape shape,
                             std::string state, std::optional<milliseconds> older_than);

// Creates the tables of our own, or the companions of a foreign one; `init_ddl` gives the text.
std::string init_ddl(sql::Dialect dialect, const TableShape& shape);
async<Result<void>> init(sql::Database& database, TableShape shape);

}  // namespace drom::outbox
