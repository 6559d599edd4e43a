#include "connectors/outbox/outbox_sql.hpp"

#include "connectors/outbox/outbox_mysql.hpp"
#include "machines/bucket_lease.hpp"

namespace drom::outbox {
namespace {

using sql::Dialect;

constexpr size_t kIdentifierMax = 50;  // PostgreSQL cuts names at 63; our indexes add to the name

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (text.empty() || text.size() > kIdentifierMax || !letter(text.front())) return false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!letter(c) && !digit) return false;
  }
  return true;
}

std::string index_name(std::string_view table) {
  return std::string(table.substr(table.rfind('.') + 1));
}

std::string text_cast(Dialect dialect) { return dialect == Dialect::postgres ? "::text" : ""; }

// Due rows whose time has come and whose key does not wait for an earlier row. Ordered by id, which
// is drawn while the writer holds what it protects; never "id > last", because ids become visible
// out of order. The blocker's index holds only rows in backoff and parked ones.
std::string read_statement(Dialect dialect, const std::string& table, bool some,
                           Ordering ordering) {
  const OneMoment now = one_moment(dialect);
  const std::string text =
      R"({with}SELECT t.id, t.bucket, t.event_id, t.key, t.type, t.payload, t.payload_bytes, t.headers,
  t.attempts, t.created_at, {expires_in}
FROM {moment}{table} AS t
WHERE t.status = 'due'{buckets}
  AND (t.next_attempt_at IS NULL OR {next_past})
  AND (t.available_at IS NULL OR {available_past})
  AND NOT {busy_ids} AND coalesce(t.key, '') NOT IN {busy_keys}
  AND NOT EXISTS (SELECT 1 FROM {table} AS w
    WHERE w.next_attempt_at IS NOT NULL AND {waits} AND w.id < t.id AND NOT {blocker_past}{fence})
ORDER BY t.id LIMIT $3{bigint})";
  return fill(
      text, {{"with", now.with},
             {"moment", now.from},
             {"table", table},
             {"waits", waits_for(ordering, "w.key = t.key AND w.key <> ''")},
             {"expires_in", ms_until(dialect, "t.expires_at")},
             {"buckets", some ? " AND " + in_ids(dialect, "t.bucket", "$4") : ""},
             {"next_past", now.past(dialect, "t.next_attempt_at")},
             {"available_past", now.past(dialect, "t.available_at")},
             {"blocker_past", now.past(dialect, "w.next_attempt_at")},
             {"busy_ids", in_ids(dialect, "t.id", "$1")},
             {"busy_keys", in_texts(dialect, "$2")},
             {"fence", dialect == Dialect::postgres ? " OFFSET 0" : ""},  // one index probe per row
             {"bigint", dialect == Dialect::postgres ? "::bigint" : ""}});
}

std::string mark_failed_statement(Dialect dialect, const std::string& table) {
  const std::string text = R"(UPDATE {table} AS t
SET status = m.status, attempts = m.attempts, last_error = m.error,
  next_attempt_at = CASE m.status WHEN 'due' THEN {retry_at} WHEN 'parked' THEN {never} END
FROM {marks}
WHERE t.id = m.id AND t.status = 'due' AND EXISTS (SELECT 1 FROM drom_lease AS l
  WHERE l.resource = $2{text} AND l.bucket = t.bucket AND l.owner = $3{text} AND l.token = m.token))";
  return fill(text, {{"table", table},
                     {"retry_at", time_after(dialect, "m.delay")},
                     {"never", time_never(dialect)},
                     {"marks", failed_marks_table(dialect)},
                     {"text", text_cast(dialect)}});
}

// Every change of hands raises the token of the bucket, so that a late owner can be told apart.
std::string claim_statement(Dialect dialect) {
  const bool postgres = dialect == Dialect::postgres;
  std::string buckets;
  for (int b = 0; b < kLeaseBuckets; ++b) buckets += (b ? "," : "") + std::to_string(b);
  const std::string text =
      R"(INSERT INTO drom_lease AS l (resource, bucket, owner, token, expires_at)
SELECT $1{text}, f.b, $2{text},
  (SELECT coalesce(max(x.token), 0) + 1 FROM drom_lease AS x WHERE x.resource = $1{text}), {expires}
FROM (SELECT b FROM {all} WHERE NOT EXISTS (SELECT 1 FROM drom_lease AS o
        WHERE o.resource = $1{text} AND o.bucket = b AND ((NOT {o_past} AND $5{int} = 0) OR o.owner = $2{text}))
      ORDER BY b LIMIT $4{bigint}) AS f
WHERE true
ON CONFLICT (resource, bucket) DO UPDATE SET owner = excluded.owner,
  token = {greatest}(l.token + 1, excluded.token), expires_at = excluded.expires_at
  WHERE {l_past} OR $5{int} = 1
RETURNING bucket, token)";
  return fill(
      text, {{"all", postgres ? "generate_series(0, " + std::to_string(kLeaseBuckets - 1) + ") AS b"
                              : "(SELECT value AS b FROM json_each('[" + buckets + "]'))"},
             {"expires", time_after(dialect, "$3")},
             {"o_past", is_past(dialect, "o.expires_at")},
             {"l_past", is_past(dialect, "l.expires_at")},
             {"greatest", postgres ? "greatest" : "max"},
             {"text", postgres ? "::text" : ""},
             {"int", postgres ? "::integer" : ""},
             {"bigint", postgres ? "::bigint" : ""}});
}

void add_lease_statements(Dialect dialect, Statements& out) {
  const std::string text = text_cast(dialect);
  const std::string mine = " WHERE resource = $1" + text + " AND owner = $2" + text;
  const std::string free =
      "UPDATE drom_lease SET owner = '', expires_at = " + time_now(dialect) + mine;
  out.heartbeat = fill(
      R"(INSERT INTO drom_lease (resource, bucket, owner, token, expires_at)
VALUES ($1{text} || '@' || $2{text}, -1, $2{text}, 0, {expires})
ON CONFLICT (resource, bucket) DO UPDATE SET expires_at = excluded.expires_at)",
      {{"text", text}, {"expires", time_after(dialect, "$3")}});
  out.renew = "UPDATE drom_lease SET expires_at = " + time_after(dialect, "$3") + mine +
              " RETURNING bucket, token";
  out.claim = claim_statement(dialect);
  out.count_relays =
      "SELECT count(*) FROM drom_lease WHERE bucket = -1 AND substr(resource, 1, length($1" + text +
      ") + 1) = $1" + text + " || '@' AND NOT " + is_past(dialect, "expires_at");
  out.forget_relays =
      "DELETE FROM drom_lease WHERE bucket = -1 AND " + is_past(dialect, "expires_at");
  out.give_back = free + " AND " + in_ids(dialect, "bucket", "$3");
  out.give_back_all = free;
  out.leave =
      "DELETE FROM drom_lease WHERE bucket = -1 AND resource = $1" + text + " || '@' || $2" + text;
  if (dialect == Dialect::postgres)
    out.lock_lease = "SELECT bucket FROM drom_lease" + mine + " ORDER BY bucket FOR SHARE";
}

constexpr std::string_view kSqliteLease = R"(CREATE TABLE IF NOT EXISTS drom_lease (
  resource TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  owner TEXT NOT NULL,
  token INTEGER NOT NULL,
  expires_at TEXT NOT NULL,
  PRIMARY KEY (resource, bucket)
);
)";

constexpr std::string_view kPostgresLease = R"(CREATE TABLE IF NOT EXISTS drom_lease (
  resource text NOT NULL,
  bucket integer NOT NULL,
  owner text NOT NULL,
  token bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (resource, bucket)
) WITH (fillfactor = 50);
)";

constexpr std::string_view kSqliteDdl = R"(CREATE TABLE IF NOT EXISTS {table} (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL DEFAULT ({uuid}),
  key TEXT,
  type TEXT,
  payload TEXT,
  payload_bytes BLOB,
  headers TEXT,
  created_at TEXT NOT NULL DEFAULT ({now}),
  available_at TEXT,
  expires_at TEXT,
  bucket INTEGER GENERATED ALWAYS AS (
    CASE WHEN coalesce(key, '') = '' THEN id & 63
    ELSE (unicode(key) * 31 + unicode(substr(key, -1)) * 7 + unicode(substr(key, -2)) * 131
          + length(key) * 17) & 63 END) VIRTUAL,
  status TEXT NOT NULL DEFAULT 'due' CHECK (status IN ('due', 'sent', 'dead', 'parked')),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_at TEXT,
  last_error TEXT,
  sent_at TEXT
);
CREATE INDEX IF NOT EXISTS {index}_due ON {table} (id) WHERE status = 'due';
CREATE INDEX IF NOT EXISTS {index}_wait ON {table} (key, id) WHERE next_attempt_at IS NOT NULL;
)";

constexpr std::string_view kPostgresDdl = R"(CREATE TABLE IF NOT EXISTS {table} (
  id bigserial PRIMARY KEY,
  event_id text NOT NULL DEFAULT {uuid},
  key text,
  type text,
  payload text,
  payload_bytes bytea,
  headers text,
  created_at timestamptz NOT NULL DEFAULT now(),
  available_at timestamptz,
  expires_at timestamptz,
  bucket integer GENERATED ALWAYS AS (
    CASE WHEN coalesce(key, '') = '' THEN (id & 63)::integer ELSE hashtext(key) & 63 END) STORED,
  status text NOT NULL DEFAULT 'due' CHECK (status IN ('due', 'sent', 'dead', 'parked')),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz,
  last_error text,
  sent_at timestamptz
);
CREATE INDEX IF NOT EXISTS {index}_due ON {table} (id) WHERE status = 'due';
CREATE INDEX IF NOT EXISTS {index}_wait ON {table} (key, id) WHERE next_attempt_at IS NOT NULL;
)";

std::string new_uuid(Dialect dialect) {
  if (dialect == Dialect::postgres) return "gen_random_uuid()::text";
  return "lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2))) || '-4' || "
         "substr(lower(hex(randomblob(2))), 2) || '-' || substr('89ab', (random() & 3) + 1, 1) || "
         "substr(lower(hex(randomblob(2))), 2) || '-' || lower(hex(randomblob(6)))";
}

}  // namespace

std::string fill(std::string text,
                 std::initializer_list<std::pair<std::string_view, std::string>> pairs) {
  for (const auto& [word, value] : pairs) {
    const std::string mark = "{" + std::string(word) + "}";
    for (size_t at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

Result<std::string> checked_table(std::string_view table) {
  const size_t dot = table.find('.');
  const bool good = dot == std::string_view::npos ? is_identifier(table)
                                                  : is_identifier(table.substr(0, dot)) &&
                                                        is_identifier(table.substr(dot + 1));
  if (good) return std::string(table);
  return Error(
      ErrorKind::config, "'" + std::string(table) + "' cannot be the name of an outbox table",
      "use letters, digits and underscores, at most 50, like outbox_orders or sales.outbox_orders");
}

Result<std::string> default_table(std::string_view name) {
  return checked_table("outbox_" + std::string(name));
}

std::string outbox_ddl(Dialect dialect, std::string_view table) {
  if (dialect == Dialect::mysql) return mysql_outbox_ddl(table);
  return fill(std::string(dialect == Dialect::postgres ? kPostgresDdl : kSqliteDdl),
              {{"table", std::string(table)},
               {"index", index_name(table)},
               {"uuid", new_uuid(dialect)},
               {"now", time_now(dialect)}}) +
         lease_ddl(dialect);
}

std::string lease_ddl(Dialect dialect) {
  if (dialect == Dialect::mysql) return mysql_lease_ddl();
  return std::string(dialect == Dialect::postgres ? kPostgresLease : kSqliteLease);
}

std::string wake_channel(std::string_view table) { return "outbox:" + std::string(table); }

std::string id_list(Dialect dialect, const std::vector<int64_t>& ids) {
  const bool postgres = dialect == Dialect::postgres;
  std::string out(1, postgres ? '{' : '[');
  for (const int64_t id : ids) {
    if (out.size() > 1) out += ',';
    out += std::to_string(id);
  }
  out += postgres ? '}' : ']';
  return out;
}

std::string in_ids(Dialect dialect, std::string_view column, std::string_view parameter) {
  const std::string c(column), p(parameter);
  if (dialect == Dialect::postgres) return "(" + c + " = ANY(" + p + "::text::bigint[]))";
  if (dialect == Dialect::mysql)
    return "(" + c + " IN (SELECT j.x FROM JSON_TABLE(" + p +
           ", '$[*]' COLUMNS (x bigint PATH '$')) AS j))";
  return "(" + c + " IN (SELECT value FROM json_each(" + p + ")))";
}

std::string in_texts(Dialect dialect, std::string_view parameter) {
  if (dialect == Dialect::mysql)
    return "(SELECT j.x COLLATE utf8mb4_bin FROM JSON_TABLE(" + std::string(parameter) +
           ", '$[*]' COLUMNS (x varchar(512) CHARACTER SET utf8mb4 PATH '$')) AS j)";
  return dialect == Dialect::postgres
             ? "(SELECT x FROM jsonb_array_elements_text(" + std::string(parameter) +
                   "::text::jsonb) AS x)"
             : "(SELECT value FROM json_each(" + std::string(parameter) + "))";
}

// PostgreSQL: as a join it would go through all ids once for each bucket.
std::string is_leased(Dialect dialect, std::string_view bucket) {
  const bool postgres = dialect == Dialect::postgres;
  return fill(
      R"({bucket} {begin}SELECT l.bucket FROM drom_lease AS l
  WHERE l.resource = $2{text} AND l.owner = $3{text} AND l.token = $4{bigint}{end})",
      {{"bucket", std::string(bucket)},
       {"begin", postgres ? "= ANY (ARRAY(" : "IN ("},
       {"end", postgres ? "))" : ")"},
       {"text", text_cast(dialect)},
       {"bigint", postgres ? "::bigint" : ""}});
}

std::string delete_by_ids(Dialect dialect, const std::string& table, std::string_view id,
                          const std::string& condition) {
  if (dialect == Dialect::mysql)
    return "DELETE " + table + " FROM " + mysql_listed(table, id) + " WHERE " + condition;
  return "DELETE FROM " + table + " WHERE " + in_ids(dialect, id, "$1") + " AND " + condition;
}

std::string update_by_ids(Dialect dialect, const std::string& table, std::string_view id,
                          const std::string& changes, const std::string& condition) {
  if (dialect == Dialect::mysql)
    return "UPDATE " + mysql_listed(table, id) + " SET " + changes + " WHERE " + condition;
  return "UPDATE " + table + " SET " + changes + " WHERE " + in_ids(dialect, id, "$1") + " AND " +
         condition;
}

std::string time_after(Dialect dialect, std::string_view parameter) {
  if (dialect == Dialect::mysql)
    return "(utc_timestamp(3) + INTERVAL (" + std::string(parameter) + " * 1000) MICROSECOND)";
  if (dialect == Dialect::postgres)
    return "(now() + " + std::string(parameter) + "::float8 * interval '1 millisecond')";
  return "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (" + std::string(parameter) +
         " / 1000.0) || ' seconds')";
}

std::string time_never(Dialect dialect) {
  if (dialect == Dialect::mysql) return "'9999-12-31 23:59:59.999'";
  return dialect == Dialect::postgres ? "'infinity'::timestamptz" : "'9999-12-31T23:59:59.999Z'";
}

std::string waits_for(Ordering ordering, std::string_view keyed) {
  switch (ordering) {
    case Ordering::none: return "1 = 0";
    case Ordering::key: return std::string(keyed);
    case Ordering::total: return "1 = 1";
  }
  return std::string(keyed);
}

std::string ms_until(Dialect dialect, std::string_view column) {
  const std::string c(column);
  if (dialect == Dialect::mysql)
    return "(timestampdiff(MICROSECOND, utc_timestamp(3), " + c + ") DIV 1000)";
  if (dialect == Dialect::postgres)
    return "ceil(extract(epoch FROM " + c + " - now()) * 1000)::bigint";
  return "CAST(round((julianday(" + c + ") - julianday('now')) * 86400000) AS INTEGER)";
}

std::string failed_marks_table(Dialect dialect) {
  if (dialect == Dialect::postgres)
    return "jsonb_to_recordset($1::text::jsonb) AS m(id bigint, token bigint, status text, "
           "attempts integer, delay float8, error text)";
  return "(SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.token') AS token, "
         "json_extract(value, '$.status') AS status, "
         "json_extract(value, '$.attempts') AS attempts, "
         "json_extract(value, '$.delay') AS delay, json_extract(value, '$.error') AS error "
         "FROM json_each($1)) AS m";
}

std::string time_now(Dialect dialect) {
  if (dialect == Dialect::mysql) return "utc_timestamp(3)";
  return dialect == Dialect::postgres ? "now()" : "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
}

// SQLite: other programs write their times in other forms, so compare values, not texts.
std::string is_past(Dialect dialect, std::string_view column) {
  const std::string c(column);
  if (dialect == Dialect::postgres) return "(" + c + " <= now())";
  if (dialect == Dialect::mysql) return "(" + c + " <= utc_timestamp(3))";
  return "(julianday(" + c + ") <= julianday('now'))";
}

OneMoment one_moment(Dialect dialect) {
  if (dialect != Dialect::sqlite) return {};
  return {"WITH moment(now) AS MATERIALIZED (SELECT julianday('now'))\n", "moment CROSS JOIN "};
}

std::string OneMoment::past(Dialect dialect, std::string_view column) const {
  if (with.empty()) return is_past(dialect, column);
  return "(julianday(" + std::string(column) + ") <= moment.now)";
}

Statements make_statements(Dialect dialect, const std::string& table, SentPolicy sent,
                           Ordering ordering) {
  if (dialect == Dialect::mysql) return make_mysql_statements(own_shape(table), sent);
  const bool postgres = dialect == Dialect::postgres;
  const std::string text = text_cast(dialect);
  Statements out;
  out.exists =
      postgres ? "SELECT 1 WHERE to_regclass($1::text) IS NOT NULL"
               : "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1 COLLATE NOCASE";
  out.insert = fill(
      R"(INSERT INTO {table} (event_id, key, type, payload, payload_bytes, headers, available_at,
  expires_at)
VALUES (coalesce($1{text}, {uuid}), $2{text}, $3{text}, $4{text}, $5{bytes}, $6{text}, {available},
  {expires}))",
      {{"table", table},
       {"text", text},
       {"bytes", postgres ? "::bytea" : ""},
       {"uuid", new_uuid(dialect)},
       {"available", time_after(dialect, "$7")},
       {"expires", time_after(dialect, "$8")}});
  // Without fresh statistics PostgreSQL would collect and sort the whole backlog for every read.
  if (postgres)
    out.before_read =
        "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', "
        "true), "
        "set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)";
  out.read_all = read_statement(dialect, table, false, ordering);
  out.read_some = read_statement(dialect, table, true, ordering);
  out.mark_sent = fill(R"({verb} WHERE {ids} AND status = 'due' AND {leased})",
                       {{"verb", sent == SentPolicy::remove
                                     ? "DELETE FROM " + table
                                     : "UPDATE " + table + " SET status = 'sent', sent_at = " +
                                           time_now(dialect) + ", next_attempt_at = NULL"},
                        {"ids", in_ids(dialect, "id", "$1")},
                        {"leased", is_leased(dialect, "bucket")}});
  out.mark_failed = mark_failed_statement(dialect, table);
  // The oldest rows come first, so a bounded look at the front finds what is too old.
  out.purge = fill(postgres ? R"(DELETE FROM {table} WHERE id IN (SELECT s.id FROM
  (SELECT id, sent_at FROM {table} WHERE status = 'sent' ORDER BY id LIMIT $1::bigint) AS s
  WHERE s.sent_at < now() - $2::float8 * interval '1 millisecond'))"
                            : R"(DELETE FROM {table} WHERE id IN (SELECT s.id FROM
  (SELECT id, sent_at FROM {table} WHERE status = 'sent' ORDER BY id LIMIT $1) AS s
  WHERE julianday(s.sent_at) < julianday('now', (-$2 / 1000.0) || ' seconds')))",
                   {{"table", table}});
  add_lease_statements(dialect, out);
  return out;
}

}  // namespace drom::outbox
