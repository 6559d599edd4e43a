// The SQL of an outbox in all dialects, in one place: the public table contract (DDL), and the
// statements of producer, relay and admin. Table names are checked before they get into a text;
// values are always bound. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "connectors/outbox/table_shape.hpp"
#include "drom/base/error.hpp"
#include "drom/sql/database.hpp"

namespace drom::outbox {

// `name` or `schema.name` of ASCII letters, digits and underscores, so that it may stand in SQL.
Result<std::string> checked_table(std::string_view table);
// outbox_<name>; what `outbox:name` uses without the option `table`.
Result<std::string> default_table(std::string_view name);

// Creates the outbox table, its indexes and drom_lease where they do not exist. The public
// contract: any program inserts with `INSERT INTO outbox_orders (key, type, payload) VALUES (...)`;
// every other column has a default.
std::string outbox_ddl(sql::Dialect dialect, std::string_view table);

// The channel of wake-up hints between writers and relays of one table.
std::string wake_channel(std::string_view table);

struct Statements {
  std::string exists;  // $1 table; a row when the table exists
  // $1 event id or null, $2 key, $3 type, $4 payload text, $5 payload bytes, $6 headers JSON,
  // $7 delay in ms or null, $8 time to live in ms or null.
  std::string insert;

  std::string before_read;  // in the same transaction; "" where not needed
  // $1 busy ids, $2 busy keys, $3 limit, [$4 buckets]. Columns: RowColumn below.
  std::string read_all;
  std::string read_some;
  std::string copy_sent;    // goes before mark_sent, same parameters; "" where not needed
  std::string mark_sent;    // $1 ids, $2 resource, $3 owner, $4 token
  std::string end_trouble;  // goes after mark_sent, $1 ids; "" where rows keep their own state
  std::string lock_lease;   // $1 resource, $2 owner; "" where writers exclude each other anyway
  std::string mark_failed;  // $1 JSON list of {id, token, status, attempts, delay, error}, $2, $3
  std::string purge;        // $1 limit, $2 age in ms; "" where rows do not tell when they were sent

  // $1 resource, $2 owner, $3 lease in ms.
  std::string heartbeat;
  std::string renew;  // returns bucket, token
  std::string claim;  // and $4 limit, $5 force (1: although not expired); returns bucket, token
  // Where statements that write return nothing: $1, $2; after the others, bucket, token of both.
  std::string held;
  std::string seed;          // $1; goes before claim; "" where claim makes the rows that it needs
  std::string count_relays;  // $1
  std::string forget_relays;
  std::string give_back;      // $1, $2, $3 buckets
  std::string give_back_all;  // $1, $2
  std::string leave;          // $1, $2
};

Statements make_statements(sql::Dialect dialect, const std::string& table, SentPolicy sent,
                           Ordering ordering = Ordering::key);
// For a shape that table_check has resolved.
Statements make_statements(sql::Dialect dialect, const TableShape& shape, SentPolicy sent);

// Creates drom_lease and drom_trouble, which stand beside a foreign table.
std::string companion_ddl(sql::Dialect dialect);
// TABLE_archive, as it stands in statements.
std::string archive_table(std::string_view sql_table);

// The columns of read_all and read_some, followed by the shape's extras.
enum RowColumn : size_t {
  kColId,
  kColBucket,
  kColEventId,
  kColKey,
  kColType,
  kColPayload,
  kColPayloadBytes,
  kColHeaders,
  kColAttempts,
  kColCreatedAt,
  kColExpiresIn,  // ms, null: never
  kColExtras,     // the first of them
};

// Lists as one bound parameter: an array literal for PostgreSQL, JSON for the others.
std::string id_list(sql::Dialect dialect, const std::vector<int64_t>& ids);
// Replaces every {word} that `pairs` names.
std::string fill(std::string text,
                 std::initializer_list<std::pair<std::string_view, std::string>> pairs);
// Pieces of SQL that differ; admin statements use them too.
std::string in_ids(sql::Dialect dialect, std::string_view column, std::string_view parameter);
std::string in_texts(sql::Dialect dialect, std::string_view parameter);
// Whether the owner $3 of the resource $2 holds the bucket with the token $4.
std::string is_leased(sql::Dialect dialect, std::string_view bucket);
// A DELETE or UPDATE of the rows whose `id` is in the list $1, found by their ids also where IN
// would walk over the whole table; `condition` names columns without an alias.
std::string delete_by_ids(sql::Dialect dialect, const std::string& table, std::string_view id,
                          const std::string& condition);
std::string update_by_ids(sql::Dialect dialect, const std::string& table, std::string_view id,
                          const std::string& changes, const std::string& condition);
std::string time_now(sql::Dialect dialect);
// `parameter` in milliseconds from now; null when it is null.
std::string time_after(sql::Dialect dialect, std::string_view parameter);
// Whether row `w` is one that row `t` has to wait for, given their keys; `keyed` compares these.
std::string waits_for(Ordering ordering, std::string_view keyed);
// Milliseconds from now until the time in the column; null when it is null.
std::string ms_until(sql::Dialect dialect, std::string_view column);
// The list of marks of mark_failed as a table `m`; and the time that never comes.
std::string failed_marks_table(sql::Dialect dialect);
std::string time_never(sql::Dialect dialect);
std::string lease_ddl(sql::Dialect dialect);
std::string is_past(sql::Dialect dialect, std::string_view column);
// For a statement that compares rows with each other by their times: one moment for all of them.
// The others take it from the beginning of the statement; SQLite looks at the clock anew for each
// row that it returns, so that a row could be too early for its turn and, a moment later, no
// longer hold back the next one of its key.
struct OneMoment {
  std::string with;  // before SELECT
  std::string from;  // after FROM, before the first table
  std::string past(sql::Dialect dialect, std::string_view column) const;
};
OneMoment one_moment(sql::Dialect dialect);

}  // namespace drom::outbox
