// The statements for tables that are not ours, and for the archive. A foreign table says only
// whether a row is due; what went wrong with a row stands in drom_trouble, one row per row in
// trouble, joined by the read.
#include <algorithm>

#include "connectors/outbox/outbox_mysql.hpp"
#include "connectors/outbox/outbox_sql.hpp"

namespace drom::outbox {
namespace {

using sql::Dialect;

constexpr std::string_view kSqliteTrouble = R"(CREATE TABLE IF NOT EXISTS drom_trouble (
  resource TEXT NOT NULL,
  row_id INTEGER NOT NULL,
  key TEXT,
  status TEXT NOT NULL DEFAULT 'due' CHECK (status IN ('due', 'dead', 'parked')),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_at TEXT,
  last_error TEXT,
  PRIMARY KEY (resource, row_id)
);
CREATE INDEX IF NOT EXISTS drom_trouble_wait ON drom_trouble (resource, key, row_id)
  WHERE next_attempt_at IS NOT NULL;
)";

constexpr std::string_view kPostgresTrouble = R"(CREATE TABLE IF NOT EXISTS drom_trouble (
  resource text NOT NULL,
  row_id bigint NOT NULL,
  key text,
  status text NOT NULL DEFAULT 'due' CHECK (status IN ('due', 'dead', 'parked')),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  last_error text,
  PRIMARY KEY (resource, row_id)
);
CREATE INDEX IF NOT EXISTS drom_trouble_wait ON drom_trouble (resource, key, row_id)
  WHERE next_attempt_at IS NOT NULL;
)";

// The table name is checked: letters, digits, underscores and a dot.
std::string resource_literal(const TableShape& shape) { return "'" + shape.table + "'"; }

std::string payload_sql(Dialect dialect, const Column& column) {
  const std::string name = column_sql(dialect, column, "t");
  // SQLite tells texts from blobs row by row.
  if (column.kind == ColumnKind::bytes || dialect != Dialect::postgres) return name;
  return name + "::text";
}

std::string read_statement(Dialect dialect, const TableShape& shape, bool some) {
  const OneMoment now = one_moment(dialect);
  const std::string text =
      R"({with}SELECT {id}, {bucket}, {event_id}, {key}, {type}, {payload}, NULL, {headers},
  coalesce(x.attempts, 0), {created}, NULL{extras}
FROM {moment}{table} AS t LEFT JOIN drom_trouble AS x
  ON x.resource = {resource} AND x.row_id = {id}
WHERE {unsent}{buckets}
  AND (x.row_id IS NULL OR (x.status = 'due' AND (x.next_attempt_at IS NULL OR {next_past}))){available}
  AND NOT {busy_ids} AND coalesce({key}, '') NOT IN {busy_keys}
  AND NOT EXISTS (SELECT 1 FROM drom_trouble AS w
    WHERE w.resource = {resource} AND w.next_attempt_at IS NOT NULL AND {waits}
      AND w.row_id < {id} AND NOT {blocker_past}{fence})
ORDER BY {id} LIMIT $3{bigint})";
  std::string extras;
  for (const Column& column : shape.extras)
    extras += ", " + (column ? column_sql(dialect, column, "t") : std::string("NULL"));
  const std::string id = column_sql(dialect, shape.sequence, "t");
  return fill(
      text, {{"with", now.with},
             {"moment", now.from},
             {"waits", waits_for(shape.ordering, "w.key = {key} AND w.key <> ''")},
             {"bucket", bucket_sql(dialect, shape, "t")},
             {"event_id", text_sql(dialect, shape.event_id ? shape.event_id : shape.sequence, "t")},
             {"type", text_sql(dialect, shape.type, "t")},
             {"payload", payload_sql(dialect, shape.payload)},
             {"headers", text_sql(dialect, shape.headers, "t")},
             {"created", shape.created ? column_sql(dialect, shape.created, "t") : "NULL"},
             {"extras", extras},
             {"table", shape.sql_table},
             {"resource", resource_literal(shape)},
             {"unsent", unsent_sql(dialect, shape, "t")},
             {"buckets", some ? " AND " + in_ids(dialect, bucket_sql(dialect, shape, "t"), "$4")
                              : std::string()},
             {"next_past", now.past(dialect, "x.next_attempt_at")},
             {"available", shape.available
                               ? "\n  AND (" + column_sql(dialect, shape.available, "t") +
                                     " IS NULL OR " + past_sql(dialect, shape.available, "t") + ")"
                               : std::string()},
             {"blocker_past", now.past(dialect, "w.next_attempt_at")},
             {"busy_ids", in_ids(dialect, id, "$1")},
             {"busy_keys", in_texts(dialect, "$2")},
             {"fence", dialect == Dialect::postgres ? " OFFSET 0" : ""},  // one index probe per row
             {"key", text_sql(dialect, shape.key, "t")},
             {"id", id},
             {"bigint", dialect == Dialect::postgres ? "::bigint" : ""}});
}

// Which rows a mark may change: not sent yet, in a bucket that this relay holds under this token.
std::string mark_condition(Dialect dialect, const TableShape& shape) {
  const std::string id =
      shape.foreign() ? column_sql(dialect, shape.sequence, "") : std::string("id");
  return in_ids(dialect, id, "$1") + " AND " + unsent_sql(dialect, shape, "") + " AND " +
         is_leased(dialect, bucket_sql(dialect, shape, ""));
}

std::string mark_statement(Dialect dialect, const TableShape& shape) {
  return "UPDATE " + shape.sql_table + " SET " + sent_changes(dialect, shape, "") + " WHERE " +
         mark_condition(dialect, shape);
}

// Moves rows to the archive: one statement where the dialect can, else a copy and a delete in the
// transaction of the mark.
void add_archive(Dialect dialect, const TableShape& shape, Statements& out) {
  const auto [insert, values] = archive_insert(dialect, shape, "");
  const std::string condition = mark_condition(dialect, shape);
  if (dialect == Dialect::postgres) {
    out.mark_sent = "WITH moved AS (DELETE FROM " + shape.sql_table + " WHERE " + condition +
                    " RETURNING *)\n" + insert + " SELECT " + values + " FROM moved";
    return;
  }
  out.copy_sent = insert + " SELECT " + values + " FROM " + shape.sql_table + " WHERE " + condition;
  out.mark_sent = "DELETE FROM " + shape.sql_table + " WHERE " + condition;
}

std::string mark_failed_statement(Dialect dialect, const TableShape& shape) {
  return fill(
      R"(INSERT INTO drom_trouble AS x (resource, row_id, key, status, attempts, next_attempt_at, last_error)
SELECT {resource}, m.id, {key}, m.status, m.attempts,
  CASE m.status WHEN 'due' THEN {retry_at} WHEN 'parked' THEN {never} END, m.error
FROM {marks}, {table} AS t
WHERE {id} = m.id AND {unsent} AND EXISTS (SELECT 1 FROM drom_lease AS l
  WHERE l.resource = $2{text} AND l.bucket = {bucket} AND l.owner = $3{text} AND l.token = m.token)
ON CONFLICT (resource, row_id) DO UPDATE SET key = excluded.key, status = excluded.status,
  attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at,
  last_error = excluded.last_error WHERE x.status = 'due')",
      {{"resource", resource_literal(shape)},
       {"key", text_sql(dialect, shape.key, "t")},
       {"retry_at", time_after(dialect, "m.delay")},
       {"never", time_never(dialect)},
       {"marks", failed_marks_table(dialect)},
       {"table", shape.sql_table},
       {"id", column_sql(dialect, shape.sequence, "t")},
       {"unsent", unsent_sql(dialect, shape, "t")},
       {"bucket", bucket_sql(dialect, shape, "t")},
       {"text", dialect == Dialect::postgres ? "::text" : ""}});
}

std::string purge_statement(Dialect dialect, const TableShape& shape) {
  const Column& sent = shape.sent;
  if (!sent || sent.kind == ColumnKind::boolean) return {};
  const std::string id = column_sql(dialect, shape.sequence, "");
  const std::string at = column_sql(dialect, sent, "");
  std::string old;
  if (sent.kind == ColumnKind::integer) {
    old = "s.at < " + now_for(dialect, sent) + " - $2" +
          (dialect == Dialect::postgres ? "::float8" : "");
  } else if (dialect == Dialect::postgres) {
    old = "s.at < " + now_for(dialect, sent) + " - $2::float8 * interval '1 millisecond'";
  } else {
    old = "julianday(s.at) < julianday('now', (-$2 / 1000.0) || ' seconds')";
  }
  return fill(R"(DELETE FROM {table} WHERE {id} IN (SELECT s.id FROM
  (SELECT {id} AS id, {at} AS at FROM {table} WHERE NOT {unsent} AND {at} IS NOT NULL
   ORDER BY {id} LIMIT $1{bigint}) AS s WHERE {old}))",
              {{"table", shape.sql_table},
               {"id", id},
               {"at", at},
               {"unsent", unsent_sql(dialect, shape, "")},
               {"old", old},
               {"bigint", dialect == Dialect::postgres ? "::bigint" : ""}});
}

}  // namespace

std::string companion_ddl(Dialect dialect) {
  if (dialect == Dialect::mysql) return mysql_lease_ddl() + mysql_trouble_ddl();
  return lease_ddl(dialect) +
         std::string(dialect == Dialect::postgres ? kPostgresTrouble : kSqliteTrouble);
}

std::string archive_table(std::string_view sql_table) {
  std::string out(sql_table);
  const char quote = out.ends_with('"') || out.ends_with('`') ? out.back() : '\0';
  if (quote) out.pop_back();
  out += "_archive";
  if (quote) out += quote;
  return out;
}

Statements make_statements(Dialect dialect, const TableShape& shape, SentPolicy sent) {
  if (dialect == Dialect::mysql) return make_mysql_statements(shape, sent);
  // What does not touch the table is the same for all.
  Statements out = make_statements(dialect, shape.table, sent, shape.ordering);
  if (shape.foreign()) {
    out.insert.clear();
    out.read_all = read_statement(dialect, shape, false);
    out.read_some = read_statement(dialect, shape, true);
    if (sent == SentPolicy::mark) out.mark_sent = mark_statement(dialect, shape);
    if (sent == SentPolicy::remove)
      out.mark_sent = "DELETE FROM " + shape.sql_table + " WHERE " + mark_condition(dialect, shape);
    out.end_trouble = fill(
        R"(DELETE FROM drom_trouble WHERE resource = {resource} AND {ids} AND NOT EXISTS
  (SELECT 1 FROM {table} AS t WHERE {id} = drom_trouble.row_id AND {unsent}))",
        {{"resource", resource_literal(shape)},
         {"ids", in_ids(dialect, "row_id", "$1")},
         {"table", shape.sql_table},
         {"id", column_sql(dialect, shape.sequence, "t")},
         {"unsent", unsent_sql(dialect, shape, "t")}});
    out.mark_failed = mark_failed_statement(dialect, shape);
    out.purge = purge_statement(dialect, shape);
  }
  if (sent == SentPolicy::archive) add_archive(dialect, shape, out);
  return out;
}

}  // namespace drom::outbox
