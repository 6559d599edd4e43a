// The SQL of the two log modes of an outbox (PostgreSQL only): the insert-only tables of log mode,
// and what both modes share: the lease of the one reader, the holds in the claim table. Table names
// are checked before they get into a text; values are always bound. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace drom::outbox {

// The insert-only part of an outbox in log mode, beside what outbox_ddl() creates: {table}_log,
// partitioned into three tables that are filled in turn and truncated when all their rows are
// delivered. Producers insert into {table}_log; which of the three is filled is the value of the
// sequence {table}_log_slot, read by a column default.
std::string log_ddl(std::string_view table);
// The checkpoints of cdc mode.
std::string cdc_ddl(std::string_view table);
// A row of these tables exists; what a producer in log mode fills.
std::string log_table(std::string_view table);
inline constexpr int kLogSlots = 3;

struct LogStatements {
  // $1 resource, $2 owner, $3 lease in ms. Renews or takes over; returns the token, or nothing when
  // another owner has the lease.
  std::string lease;
  std::string release;  // $1, $2
  // $1, $2, $3 token. Fails with division_by_zero unless the lease is held, and keeps it held until
  // the end of the transaction.
  std::string guard;
  // Rows from before this mode belong to the claim table from now on, in front of all later ones.
  std::string adopt;      // $1 limit
  std::string held_keys;  // $1 limit
  std::string free_keys;  // $1 JSON list of keys: those without unsent rows

  // Log mode.
  std::string hold;  // $1 JSON list of {n, id, status, attempts, delay, error}
  std::string mark;  // $1 serial, $2 s1, $3 s2 or null, $4 last id
  std::string marks_count;
  std::string marks_lock;  // fails at once when somebody uses the table
  std::string marks_reset;
  std::string last_mark;
  // Rows not visible in $3 whose xid is at least $1 or one of $2, if there are at most $4. First a
  // row with a null id, the snapshot as event id and the count as attempts.
  std::string read_batch;
  // Rows above id $1, not visible in $2, visible in $3, at most $4.
  std::string read_page;
  std::string planner;    // in the transaction of a read, before it
  std::string regressed;  // $1 s1; true when transaction ids have gone back (a restored dump)
  std::string restamp;
  std::string sizes;               // the current slot, then the bytes of each table
  std::string set_slot;            // $1
  std::string pending[kLogSlots];  // $1 xmax, $2 xips, $3 s1: 1 when rows are not delivered
  std::string lock[kLogSlots];
  std::string truncate[kLogSlots];

  // CDC mode.
  std::string hold_rows;      // as `hold`, of rows that are in the table
  std::string hold_messages;  // $1 as `hold` with event_id, key, type, payload, headers
  std::string cdc_mark;       // $1 serial, $2 lsn, $3 major, $4 minor
  std::string cdc_marks_reset;
  std::string cdc_last_mark;
  std::string done_rows;  // $1 ids
};

LogStatements make_log_statements(const std::string& table, bool remove_sent);

}  // namespace drom::outbox
