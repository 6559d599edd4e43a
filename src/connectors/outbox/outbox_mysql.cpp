#include "connectors/outbox/outbox_mysql.hpp"

#include "machines/bucket_lease.hpp"

namespace drom::outbox {
namespace {

constexpr auto kMysql = sql::Dialect::mysql;

// No partial indexes here: (status, id) gives the due rows in order, and `waiting_key` is null, and
// so costs nothing to look past, for all rows that hold up nobody. A generated column cannot refer
// to an AUTO_INCREMENT one, so rows without a key spread by their event id. created_at and
// available_at are TIMESTAMPs because other programs write them in the time zone of their session.
constexpr std::string_view kDdl = R"(CREATE TABLE IF NOT EXISTS {table} (
  id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  event_id varchar(255) NOT NULL DEFAULT (uuid()),
  `key` varchar(512),
  type varchar(255),
  payload longtext,
  payload_bytes longblob,
  headers longtext,
  created_at timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  available_at timestamp(3) NULL DEFAULT NULL,
  expires_at timestamp(3) NULL DEFAULT NULL,
  bucket int GENERATED ALWAYS AS (
    crc32(if(coalesce(length(`key`), 0) = 0, event_id, `key`)) & 63) VIRTUAL,
  status varchar(8) NOT NULL DEFAULT 'due' CHECK (status IN ('due', 'sent', 'dead', 'parked')),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at datetime(3),
  last_error text,
  sent_at datetime(3),
  waiting_key varchar(512) GENERATED ALWAYS AS (if(next_attempt_at IS NULL, NULL, `key`)) VIRTUAL,
  INDEX {index}_due (status, id),
  INDEX {index}_wait (waiting_key, id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
)";

constexpr std::string_view kLease = R"(CREATE TABLE IF NOT EXISTS drom_lease (
  resource varchar(250) NOT NULL,
  bucket int NOT NULL,
  owner varchar(100) NOT NULL,
  token bigint NOT NULL,
  expires_at datetime(3) NOT NULL,
  PRIMARY KEY (resource, bucket)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
)";

// The key is left to its own length: foreign tables have keys of any.
constexpr std::string_view kTrouble = R"(CREATE TABLE IF NOT EXISTS drom_trouble (
  resource varchar(250) NOT NULL,
  row_id bigint NOT NULL,
  `key` longtext,
  status varchar(8) NOT NULL DEFAULT 'due' CHECK (status IN ('due', 'dead', 'parked')),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at datetime(3),
  last_error text,
  PRIMARY KEY (resource, row_id),
  INDEX drom_trouble_wait (resource, `key`(250))
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
)";

// As a condition that is not turned into a join: the rows are to come in the order of their ids.
std::string filter(std::string_view column, std::string_view parameter) {
  return "(" + in_ids(kMysql, column, parameter) + " IS TRUE)";
}

std::string index_of(std::string_view table) {
  return std::string(table.substr(table.rfind('.') + 1));
}

// Left to itself, MariaDB takes the many rows that hold up nobody for rows of one key, and so goes
// through the whole table for each row that is due.
std::string read_statement(const TableShape& shape, bool some) {
  const bool total = shape.ordering == Ordering::total;
  return fill(
      R"(SELECT t.id, t.bucket, t.event_id, t.key, t.type, t.payload, t.payload_bytes,
  t.headers, t.attempts, t.created_at, {expires_in}
FROM {table} AS t
WHERE t.status = 'due'{buckets}
  AND (t.next_attempt_at IS NULL OR {next_past})
  AND (t.available_at IS NULL OR {available_past})
  AND NOT {busy_ids} AND coalesce(t.key, '') NOT IN {busy_keys}
  AND NOT EXISTS (SELECT 1 FROM {table} AS w FORCE INDEX ({blockers})
    WHERE w.next_attempt_at IS NOT NULL AND {waits} AND w.id < t.id AND NOT {blocker_past})
ORDER BY t.id LIMIT $3)",
      {{"table", shape.sql_table},
       {"blockers", index_of(shape.sql_table) + (total ? "_due" : "_wait")},
       {"waits",
        total ? "w.status IN ('due', 'parked')"
              : waits_for(shape.ordering, "w.waiting_key = t.key AND length(w.waiting_key) > 0")},
       {"expires_in", ms_until(kMysql, "t.expires_at")},
       {"buckets", some ? " AND " + filter("t.bucket", "$4") : ""},
       {"next_past", is_past(kMysql, "t.next_attempt_at")},
       {"available_past", is_past(kMysql, "t.available_at")},
       {"blocker_past", is_past(kMysql, "w.next_attempt_at")},
       {"busy_ids", in_ids(kMysql, "t.id", "$1")},
       {"busy_keys", in_texts(kMysql, "$2")}});
}

std::string foreign_read_statement(const TableShape& shape, bool some) {
  const std::string id = column_sql(kMysql, shape.sequence, "t");
  std::string extras;
  for (const Column& column : shape.extras)
    extras += ", " + (column ? column_sql(kMysql, column, "t") : std::string("NULL"));
  return fill(
      R"(SELECT {id}, {bucket}, {event_id}, {key}, {type}, {payload}, NULL, {headers},
  coalesce(x.attempts, 0), {created}, NULL{extras}
FROM {table} AS t LEFT JOIN drom_trouble AS x ON x.resource = '{resource}' AND x.row_id = {id}
WHERE {unsent}{buckets}
  AND (x.row_id IS NULL OR (x.status = 'due' AND (x.next_attempt_at IS NULL OR {next_past}))){available}
  AND NOT {busy_ids} AND coalesce({key}, '') NOT IN {busy_keys}
  AND NOT EXISTS (SELECT 1 FROM drom_trouble AS w
    WHERE w.resource = '{resource}' AND w.next_attempt_at IS NOT NULL AND {waits}
      AND w.row_id < {id} AND NOT {blocker_past})
ORDER BY {id} LIMIT $3)",
      {{"waits", waits_for(shape.ordering, "w.key = {key} AND length(w.key) > 0")},
       {"bucket", bucket_sql(kMysql, shape, "t")},
       {"event_id", text_sql(kMysql, shape.event_id ? shape.event_id : shape.sequence, "t")},
       {"type", text_sql(kMysql, shape.type, "t")},
       {"payload", shape.payload.kind == ColumnKind::bytes
                       ? column_sql(kMysql, shape.payload, "t")
                       : text_sql(kMysql, shape.payload, "t")},  // JSON as it is written
       {"headers", text_sql(kMysql, shape.headers, "t")},
       {"created", shape.created ? column_sql(kMysql, shape.created, "t") : "NULL"},
       {"extras", extras},
       {"table", shape.sql_table},
       {"resource", shape.table},
       {"unsent", unsent_sql(kMysql, shape, "t")},
       {"buckets", some ? " AND " + filter(bucket_sql(kMysql, shape, "t"), "$4") : std::string()},
       {"next_past", is_past(kMysql, "x.next_attempt_at")},
       {"available", shape.available
                         ? "\n  AND (" + column_sql(kMysql, shape.available, "t") + " IS NULL OR " +
                               past_sql(kMysql, shape.available, "t") + ")"
                         : std::string()},
       {"blocker_past", is_past(kMysql, "w.next_attempt_at")},
       {"busy_ids", in_ids(kMysql, id, "$1")},
       {"busy_keys", in_texts(kMysql, "$2")},
       {"key", text_sql(kMysql, shape.key, "t")},
       {"id", id}});
}

// The rows by their ids first, each with its lease, which is read with a lock. As a subquery the
// ids would cost a look at the whole table; so would a small table without the hint, and that look
// would wait for every transaction that has inserted a row and is still open.
std::string marks_with_leases(const TableShape& shape, std::string_view marks,
                              std::string_view token) {
  return fill(
      "{marks} STRAIGHT_JOIN {table} AS t{hint} ON {id} = m.id STRAIGHT_JOIN drom_lease AS l "
      "ON l.resource = $2 AND l.bucket = {bucket} AND l.owner = $3 AND l.token = {token}",
      {{"marks", std::string(marks)},
       {"table", shape.sql_table},
       {"hint", shape.foreign() ? "" : " FORCE INDEX (PRIMARY)"},
       {"id", shape.foreign() ? column_sql(kMysql, shape.sequence, "t") : "t.id"},
       {"bucket", bucket_sql(kMysql, shape, "t")},
       {"token", std::string(token)}});
}

constexpr std::string_view kSentMarks = "JSON_TABLE($1, '$[*]' COLUMNS (id bigint PATH '$')) AS m";
constexpr std::string_view kFailedMarks =
    "JSON_TABLE($1, '$[*]' COLUMNS (id bigint PATH '$.id', token bigint PATH '$.token', "
    "status varchar(8) CHARACTER SET utf8mb4 PATH '$.status', attempts int PATH '$.attempts', "
    "delay bigint PATH '$.delay', error text CHARACTER SET utf8mb4 PATH '$.error')) AS m";

void add_mark_sent(const TableShape& shape, SentPolicy sent, Statements& out) {
  const std::string rows = marks_with_leases(shape, kSentMarks, "$4");
  const std::string due = " WHERE " + unsent_sql(kMysql, shape, "t");
  if (sent == SentPolicy::mark) {
    out.mark_sent = "UPDATE " + rows + " SET " +
                    (shape.foreign() ? sent_changes(kMysql, shape, "t")
                                     : "t.status = 'sent', t.sent_at = " + time_now(kMysql) +
                                           ", t.next_attempt_at = NULL") +
                    due;
    return;
  }
  out.mark_sent = "DELETE t FROM " + rows + due;
  if (sent == SentPolicy::remove) return;
  // Locked until the rows are deleted, so that both statements mean the same ones.
  const auto [insert, values] = archive_insert(kMysql, shape, "t");
  out.copy_sent = insert + " SELECT " + values + " FROM " + rows + due + " FOR UPDATE";
}

std::string next_attempt() {
  return "CASE m.status WHEN 'due' THEN " + time_after(kMysql, "m.delay") + " WHEN 'parked' THEN " +
         time_never(kMysql) + " END";
}

std::string mark_failed_statement(const TableShape& shape) {
  const std::string rows = marks_with_leases(shape, kFailedMarks, "m.token");
  if (!shape.foreign())
    return "UPDATE " + rows +
           " SET t.status = m.status, t.attempts = m.attempts, t.last_error = m.error, "
           "t.next_attempt_at = " +
           next_attempt() + " WHERE t.status = 'due'";
  // The assignments see those before them, so the status that decides comes last.
  return fill(
      R"(INSERT INTO drom_trouble (resource, row_id, `key`, status, attempts, next_attempt_at, last_error)
SELECT '{resource}', m.id, {key}, m.status, m.attempts, {next}, m.error
FROM {rows} WHERE {unsent} LOCK IN SHARE MODE
ON DUPLICATE KEY UPDATE `key` = if(drom_trouble.status = 'due', VALUES(`key`), drom_trouble.`key`),
  attempts = if(drom_trouble.status = 'due', VALUES(attempts), drom_trouble.attempts),
  next_attempt_at = if(drom_trouble.status = 'due', VALUES(next_attempt_at), drom_trouble.next_attempt_at),
  last_error = if(drom_trouble.status = 'due', VALUES(last_error), drom_trouble.last_error),
  status = if(drom_trouble.status = 'due', VALUES(status), drom_trouble.status))",
      {{"resource", shape.table},
       {"key", text_sql(kMysql, shape.key, "t")},
       {"next", next_attempt()},
       {"rows", rows},
       {"unsent", unsent_sql(kMysql, shape, "t")}});
}

// The oldest rows come first, so a bounded look at the front finds what is too old.
std::string purge_statement(const TableShape& shape) {
  const bool foreign = shape.foreign();
  if (foreign && (!shape.sent || shape.sent.kind == ColumnKind::boolean)) return {};
  const bool counts = foreign && shape.sent.kind == ColumnKind::integer;
  return fill(
      R"(DELETE t FROM {table} AS t JOIN (SELECT s.id FROM (SELECT {id} AS id, {at} AS sent_at
  FROM {table} WHERE {sent} AND {at} IS NOT NULL ORDER BY {id} LIMIT $1) AS s
  WHERE s.sent_at < {limit}) AS o ON o.id = t.{id})",
      {{"table", shape.sql_table},
       {"id", foreign ? column_sql(kMysql, shape.sequence, "") : "id"},
       {"at", foreign ? column_sql(kMysql, shape.sent, "") : "sent_at"},
       {"sent", foreign ? "NOT " + unsent_sql(kMysql, shape, "") : "status = 'sent'"},
       {"limit", counts ? now_for(kMysql, shape.sent) + " - $2"
                        : "utc_timestamp(3) - INTERVAL ($2 * 1000) MICROSECOND"}});
}

std::string all_buckets() {
  std::string out;
  for (int b = 0; b < kLeaseBuckets; ++b) out += (b ? "," : "") + std::to_string(b);
  return "'[" + out + "]'";
}

void add_lease_statements(Statements& out) {
  const std::string mine = " WHERE resource = $1 AND owner = $2";
  const std::string expires = time_after(kMysql, "$3");
  const std::string now = time_now(kMysql);
  out.heartbeat =
      "INSERT INTO drom_lease (resource, bucket, owner, token, expires_at) VALUES (concat($1, '@', "
      "$2), -1, $2, 0, " +
      expires + ") ON DUPLICATE KEY UPDATE expires_at = " + expires;
  out.renew = "UPDATE drom_lease SET expires_at = " + expires + mine;
  out.seed =
      "INSERT IGNORE INTO drom_lease (resource, bucket, owner, token, expires_at) SELECT "
      "$1, j.b, '', 0, '2000-01-01' FROM JSON_TABLE(" +
      all_buckets() +
      ", '$[*]' COLUMNS (b int PATH '$')) AS j WHERE (SELECT count(*) FROM drom_lease AS x "
      "WHERE x.resource = $1 AND x.bucket >= 0) < " +
      std::to_string(kLeaseBuckets);
  // Who waited for another's claim looks at the row again and finds it taken.
  out.claim =
      "UPDATE drom_lease SET token = greatest(token + 1, (SELECT m.n FROM (SELECT "
      "coalesce(max(x.token), 0) + 1 AS n FROM drom_lease AS x WHERE x.resource = $1) AS m)), "
      "owner = $2, expires_at = " +
      expires + " WHERE resource = $1 AND bucket >= 0 AND owner <> $2 AND (" +
      is_past(kMysql, "expires_at") + " OR $5 = 1) ORDER BY bucket LIMIT $4";
  out.held = "SELECT bucket, token FROM drom_lease" + mine + " AND bucket >= 0 AND NOT " +
             is_past(kMysql, "expires_at");
  out.count_relays =
      "SELECT count(*) FROM drom_lease WHERE bucket = -1 AND left(resource, char_length($1) + 1) = "
      "concat($1, '@') AND NOT " +
      is_past(kMysql, "expires_at");
  out.forget_relays =
      "DELETE FROM drom_lease WHERE bucket = -1 AND " + is_past(kMysql, "expires_at");
  out.give_back_all = "UPDATE drom_lease SET owner = '', expires_at = " + now + mine;
  out.give_back = out.give_back_all + " AND " + in_ids(kMysql, "bucket", "$3");
  out.leave = "DELETE FROM drom_lease WHERE bucket = -1 AND resource = concat($1, '@', $2)";
}

}  // namespace

std::string mysql_outbox_ddl(std::string_view table) {
  return fill(std::string(kDdl), {{"table", std::string(table)}, {"index", index_of(table)}}) +
         mysql_lease_ddl();
}

std::string mysql_lease_ddl() { return std::string(kLease); }

std::string mysql_trouble_ddl() { return std::string(kTrouble); }

std::string mysql_bucket(const std::string& key, const std::string& id) {
  // By length: a key of spaces equals '' but is a key.
  return "(crc32(if(coalesce(length(" + key + "), 0) = 0, " + id + ", " + key + ")) & 63)";
}

std::string mysql_listed(const std::string& table, std::string_view id) {
  return "JSON_TABLE($1, '$[*]' COLUMNS (drom_id bigint PATH '$')) AS drom_ids STRAIGHT_JOIN " +
         table + " ON " + std::string(id) + " = drom_ids.drom_id";
}

Statements make_mysql_statements(const TableShape& shape, SentPolicy sent) {
  Statements out;
  out.exists =
      "SELECT 1 FROM information_schema.tables WHERE (table_schema = database() AND table_name = "
      "$1) OR concat(table_schema, '.', table_name) = $1";
  if (shape.foreign()) {
    out.read_all = foreign_read_statement(shape, false);
    out.read_some = foreign_read_statement(shape, true);
    out.end_trouble = delete_by_ids(
        kMysql, "drom_trouble", "drom_trouble.row_id",
        "drom_trouble.resource = '" + shape.table + "' AND NOT EXISTS (SELECT 1 FROM " +
            shape.sql_table + " AS t WHERE " + column_sql(kMysql, shape.sequence, "t") +
            " = drom_trouble.row_id AND " + unsent_sql(kMysql, shape, "t") + ")");
  } else {
    out.insert = "INSERT INTO " + shape.sql_table +
                 " (event_id, `key`, type, payload, payload_bytes, headers, available_at, "
                 "expires_at) VALUES "
                 "(coalesce($1, CAST(uuid() AS CHAR)), $2, $3, $4, $5, $6, " +
                 time_after(kMysql, "$7") + ", " + time_after(kMysql, "$8") + ")";
    out.read_all = read_statement(shape, false);
    out.read_some = read_statement(shape, true);
  }
  add_mark_sent(shape, sent, out);
  out.mark_failed = mark_failed_statement(shape);
  out.purge = purge_statement(shape);
  add_lease_statements(out);
  return out;
}

}  // namespace drom::outbox
