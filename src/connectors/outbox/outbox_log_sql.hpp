// The SQL of an outbox in log mode (PostgreSQL only): its insert-only tables, the lease of the one
// relay that reads them, and the holds in the claim table. Table names are checked before they get
// into a text; values are always bound. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "connectors/outbox/outbox_sql.hpp"
#include "machines/log_relay.hpp"

namespace drom::outbox {

// The insert-only part of an outbox in log mode, beside what outbox_ddl() creates: {table}_log,
// partitioned into three tables that are filled in turn and truncated when all their rows are
// delivered. Producers insert into {table}_log; which of the three is filled is the value of the
// sequence {table}_log_slot, read by a column default.
std::string log_ddl(std::string_view table);
std::string log_table(std::string_view table);
inline constexpr int kLogSlots = 3;
// What the lease of the one reader is called.
std::string log_resource(std::string_view table);

// What rows of the log have after the common columns.
enum LogColumn : size_t {
  kColLater = kColExtras,  // a text: why the row cannot be read
  kColAvailableAt,         // this and the next one only of rows that come through the stream
  kColExpiresAt,
};

// Before every transaction: no row is visible in it.
inline constexpr const char* kNothing = "3:3:";

// A pg_snapshot and the parts of it that statements take.
struct Snapshot {
  explicit Snapshot(std::string snapshot);
  std::string text;
  std::string xmax;
  std::string xips;  // an array literal
};

struct LogStatements {
  // $1 resource, $2 owner.
  std::string lease_peek;    // a row when another owner has the lease
  std::string lease_before;  // $1; the owner so far, and waits for what its guard protects
  // $1, $2, $3 lease in ms, $4 1 for a new token. Renews or takes over; returns the token and the
  // identity of the server's history, or nothing when another owner has the lease.
  std::string lease;
  std::string release;  // $1, $2
  // $1, $2, $3 token, $4 identity. Fails with division_by_zero unless the lease is held on the same
  // history, and keeps it held until the end of the transaction.
  std::string guard;
  std::string read_committed;  // first in a transaction that locks and then looks
  std::string system;          // names the database cluster; not everybody may ask
  std::string held_keys;       // $1 limit
  std::string free_keys;       // $1 JSON list of keys: those without unsent rows

  std::string hold;  // $1 holds_json()
  // $1 serial, $2 s1, $3 s2 or null, $4 last id, $5 system, $6 lsn or null, $7 nth.
  std::string mark;
  std::string last_mark;
  // Rows not visible in $3 whose xid is at least $1 or one of $2, if there are at most $4. First a
  // row with a null id, the snapshot as event id and the count as attempts.
  std::string read_batch;
  // Rows above id $1, not visible in $2, visible in $3, at most $4.
  std::string read_page;
  std::string planner;    // in the transaction of a read, before it
  std::string regressed;  // $1 s1; true when transaction ids have gone back (a restored dump)
  std::string restamp;
  // Due rows that are not behind a checkpoint, and the age of the oldest: $1 xmax, $2 xips, $3 s1,
  // $4 last id, $5 s2 or null, $6 limit.
  std::string pending;

  std::string marks_count;
  std::string marks_lock;  // fails at once when somebody uses the table
  std::string marks_reset;
  std::string sizes;                     // the current slot, then the bytes of each table
  std::string set_slot;                  // $1
  std::string holds_pending[kLogSlots];  // $1 xmax, $2 xips, $3 s1: 1 when rows are not delivered
  std::string lock[kLogSlots];
  std::string truncate[kLogSlots];
};

// Writes an event to the write-ahead log alone: the parameters of Statements::insert.
std::string message_statement(std::string_view table);
// The prefix of such messages; their text is a JSON object of the columns.
std::string message_prefix(std::string_view table);

// The list that `hold` takes.
std::string holds_json(const std::vector<Hold>& holds);

LogStatements make_log_statements(const std::string& table);

}  // namespace drom::outbox
