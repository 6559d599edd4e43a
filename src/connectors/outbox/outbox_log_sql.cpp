#include "connectors/outbox/outbox_log_sql.hpp"

#include "connectors/outbox/outbox_message.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/base/json.hpp"

namespace drom::outbox {
namespace {

// The default of `slot` reads the sequence without waiting and outside of any transaction, so that
// turning to the next table needs no lock on this one. `xid` is that of the whole transaction, also
// inside savepoints. Both indexes are small: the tables are. The index _held tells which keys have
// unsent rows in the claim table.
constexpr std::string_view kLogDdl =
    R"(CREATE SEQUENCE IF NOT EXISTS {table}_log_slot MINVALUE 0 MAXVALUE 2 START 0;
SELECT setval('{table}_log_slot', 0) WHERE NOT EXISTS (SELECT 1 FROM pg_class WHERE oid = to_regclass('{table}_log'));
CREATE TABLE IF NOT EXISTS {table}_log (
  id bigserial NOT NULL,
  slot smallint NOT NULL DEFAULT coalesce(pg_sequence_last_value('{table}_log_slot'::regclass), 0),
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  event_id text NOT NULL DEFAULT gen_random_uuid()::text,
  key text,
  type text,
  payload text,
  payload_bytes bytea,
  headers text,
  created_at timestamptz NOT NULL DEFAULT now(),
  available_at timestamptz,
  expires_at timestamptz
) PARTITION BY LIST (slot);
CREATE TABLE IF NOT EXISTS {table}_log_0 PARTITION OF {table}_log FOR VALUES IN (0);
CREATE TABLE IF NOT EXISTS {table}_log_1 PARTITION OF {table}_log FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS {table}_log_2 PARTITION OF {table}_log FOR VALUES IN (2);
CREATE INDEX IF NOT EXISTS {index}_log_by_id ON {table}_log (id);
CREATE INDEX IF NOT EXISTS {index}_log_by_xid ON {table}_log (xid);
CREATE TABLE IF NOT EXISTS {table}_log_mark (
  serial bigint PRIMARY KEY,
  s1 text NOT NULL,
  s2 text,
  last_id bigint NOT NULL,
  system text,
  lsn pg_lsn,
  nth bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS {index}_held ON {table} (key) WHERE status IN ('due', 'parked');
)";

std::string name_of(std::string_view table) {
  return std::string(table.substr(table.rfind('.') + 1));
}

constexpr std::string_view kHeldAt =
    "CASE h.status WHEN 'parked' THEN 'infinity'::timestamptz WHEN 'due' THEN CASE WHEN h.delay > "
    "0 "
    "THEN now() + h.delay * interval '1 millisecond' END END";

// Rows that hold back later ones of their key; delayed ones are outside of its order.
constexpr std::string_view kUnsent = "w.status IN ('due', 'parked') AND w.available_at IS NULL";

// Changes when transaction ids that were given out may have been lost: another server has been
// promoted, a backup restored in place, the server restarted.
constexpr std::string_view kIdentity =
    "(left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/' || extract(epoch FROM "
    "pg_postmaster_start_time())::text)";

// Expired rows count as later ones: the relay behind makes them dead.
constexpr std::string_view kRow =
    "id, 0 AS bucket, event_id, key, type, payload, payload_bytes, headers, 0::bigint AS attempts, "
    "created_at, ceil(extract(epoch FROM expires_at - now()) * 1000)::bigint AS expires_in, "
    "coalesce(available_at > now(), false) OR coalesce(expires_at <= now(), false) AS later";

void add_lease(LogStatements& out) {
  out.lease_peek =
      "SELECT owner FROM drom_lease WHERE resource = $1::text AND bucket = 0 AND owner <> $2::text "
      "AND expires_at > now()";
  out.lease_before =
      "SELECT owner FROM drom_lease WHERE resource = $1::text AND bucket = 0 FOR UPDATE";
  out.lease = fill(
      R"(INSERT INTO drom_lease AS l (resource, bucket, owner, token, expires_at)
VALUES ($1::text, 0, $2::text, 1, now() + $3::float8 * interval '1 millisecond')
ON CONFLICT (resource, bucket) DO UPDATE SET owner = excluded.owner,
  token = CASE WHEN l.owner = excluded.owner AND $4::integer = 0 THEN l.token ELSE l.token + 1 END,
  expires_at = excluded.expires_at
  WHERE l.owner = excluded.owner OR l.expires_at <= now()
RETURNING token, {identity})",
      {{"identity", std::string(kIdentity)}});
  out.release =
      "UPDATE drom_lease SET owner = '', expires_at = now() WHERE resource = $1::text AND bucket = "
      "0 AND owner = $2::text";
  out.guard = fill(
      "SELECT 1 / (SELECT count(*) FROM (SELECT 1 FROM drom_lease WHERE resource = $1::text AND "
      "bucket = 0 AND owner = $2::text AND token = $3::bigint AND {identity} = $4::text FOR SHARE) "
      "AS x)",
      {{"identity", std::string(kIdentity)}});
  out.read_committed = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
  out.system = "SELECT system_identifier::text FROM pg_control_system()";
}

void add_keys(const std::string& table, LogStatements& out) {
  out.held_keys = fill(
      "SELECT DISTINCT w.key FROM {table} AS w WHERE w.key <> '' AND {unsent} LIMIT $1::bigint",
      {{"table", table}, {"unsent", std::string(kUnsent)}});
  out.free_keys = fill(
      "SELECT k FROM jsonb_array_elements_text($1::text::jsonb) AS k WHERE NOT EXISTS (SELECT 1 "
      "FROM {table} AS w WHERE w.key = k AND {unsent} OFFSET 0)",
      {{"table", table}, {"unsent", std::string(kUnsent)}});
}

void add_log(const std::string& table, LogStatements& out) {
  // Rows of the log by their id; others come whole: the stream may tell of a row before a
  // statement can see it.
  out.hold = fill(
      R"(INSERT INTO {table} (event_id, key, type, payload, payload_bytes, headers, created_at,
  available_at, expires_at, status, attempts, next_attempt_at, last_error)
SELECT coalesce(l.event_id, h.event_id, gen_random_uuid()::text), coalesce(l.key, h.key),
  coalesce(l.type, h.type), coalesce(l.payload, h.payload),
  coalesce(l.payload_bytes, decode(h.payload_bytes, 'hex')), coalesce(l.headers, h.headers),
  coalesce(l.created_at, h.created_at, now()),
  CASE WHEN coalesce(l.available_at, h.available_at) > now()
    THEN coalesce(l.available_at, h.available_at) END, coalesce(l.expires_at, h.expires_at),
  h.status, h.attempts, {held_at}, h.error
FROM jsonb_to_recordset($1::text::jsonb) AS h(n bigint, id bigint, status text, attempts integer,
  delay float8, error text, event_id text, key text, type text, payload text, payload_bytes text,
  headers text, created_at timestamptz, available_at timestamptz, expires_at timestamptz)
LEFT JOIN {table}_log AS l ON l.id = h.id
WHERE h.id = 0 OR l.id IS NOT NULL ORDER BY h.n)",
      {{"table", table}, {"held_at", std::string(kHeldAt)}});
  out.mark = fill(
      "INSERT INTO {table}_log_mark (serial, s1, s2, last_id, system, lsn, nth) VALUES "
      "($1::bigint, "
      "$2::text, $3::text, $4::bigint, nullif($5::text, ''), $6::text::pg_lsn, $7::bigint)",
      {{"table", table}});
  out.last_mark = "SELECT serial, s1, s2, last_id, system, lsn, nth FROM " + table +
                  "_log_mark ORDER BY serial DESC LIMIT 1";
  // One statement, one snapshot: what it sees is what pg_current_snapshot() says.
  out.read_batch = fill(
      R"(WITH b AS MATERIALIZED (SELECT {row} FROM {table}_log
  WHERE (xid >= $1::text::xid8 OR xid = ANY($2::text::xid8[]))
    AND NOT pg_visible_in_snapshot(xid, $3::text::pg_snapshot) LIMIT $4::bigint + 1)
SELECT * FROM (
  SELECT NULL::bigint AS id, 0 AS bucket, pg_current_snapshot()::text AS event_id, NULL AS key,
    NULL AS type, NULL AS payload, NULL::bytea AS payload_bytes, NULL AS headers,
    count(*) AS attempts, now() AS created_at, NULL::bigint AS expires_in, false AS later FROM b
  UNION ALL
  SELECT * FROM b WHERE (SELECT count(*) FROM b) <= $4::bigint) AS x
ORDER BY id NULLS FIRST)",
      {{"table", table}, {"row", std::string(kRow)}});
  out.read_page = fill(
      R"(SELECT {row} FROM {table}_log WHERE id > $1::bigint
  AND NOT pg_visible_in_snapshot(xid, $2::text::pg_snapshot)
  AND pg_visible_in_snapshot(xid, $3::text::pg_snapshot)
ORDER BY id LIMIT $4::bigint)",
      {{"table", table}, {"row", std::string(kRow)}});
  // The tables are filled and emptied faster than statistics are gathered.
  out.planner = "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)";
  out.regressed = fill(
      "SELECT (pg_snapshot_xmax($1::text::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot())) "
      "OR EXISTS (SELECT 1 FROM {table}_log WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))",
      {{"table", table}});
  out.restamp = fill(
      "UPDATE {table}_log SET xid = pg_current_xact_id() WHERE xid >= "
      "pg_snapshot_xmax(pg_current_snapshot())",
      {{"table", table}});
  out.pending = fill(
      R"(SELECT count(*), (extract(epoch FROM now() - min(created_at)) * 1000)::bigint FROM (
  SELECT created_at FROM {table}_log WHERE (xid >= $1::text::xid8 OR xid = ANY($2::text::xid8[]))
    AND NOT pg_visible_in_snapshot(xid, $3::text::pg_snapshot)
    AND (id > $4::bigint OR $5::text IS NULL
      OR NOT pg_visible_in_snapshot(xid, $5::text::pg_snapshot))
    AND (available_at IS NULL OR available_at <= now())
  LIMIT $6::bigint) AS x)",
      {{"table", table}});
}

void add_rotation(const std::string& table, LogStatements& out) {
  out.marks_count = "SELECT count(*) FROM " + table + "_log_mark";
  out.marks_lock = "LOCK TABLE " + table + "_log_mark IN ACCESS EXCLUSIVE MODE NOWAIT";
  out.marks_reset = "TRUNCATE " + table + "_log_mark";
  out.sizes =
      fill("SELECT pg_sequence_last_value('{table}_log_slot'::regclass)", {{"table", table}});
  for (int i = 0; i < kLogSlots; ++i) {
    const std::string one = table + "_log_" + std::to_string(i);
    out.sizes += ", pg_relation_size('" + one + "')";
    out.lock[i] = "LOCK TABLE " + one + " IN ACCESS EXCLUSIVE MODE NOWAIT";
    out.truncate[i] = "TRUNCATE " + one;
    out.holds_pending[i] = "SELECT 1 FROM " + one +
                           " WHERE (xid >= $1::text::xid8 OR xid = ANY($2::text::xid8[])) AND NOT "
                           "pg_visible_in_snapshot(xid, $3::text::pg_snapshot) LIMIT 1";
  }
  out.set_slot = "SELECT setval('" + table + "_log_slot', $1::bigint)";
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string_view status_of(FailedMark::To to) {
  switch (to) {
    case FailedMark::To::retry: return "due";
    case FailedMark::To::dead: return "dead";
    case FailedMark::To::parked: return "parked";
  }
  return "due";
}

void append_columns(const List& columns, Object& entry) {
  entry.append("event_id", columns[kColEventId]);
  entry.append("key", columns[kColKey]);
  entry.append("type", columns[kColType]);
  entry.append("payload", columns[kColPayload]);
  if (!columns[kColPayloadBytes].is_null())
    entry.append("payload_bytes", to_hex(columns[kColPayloadBytes].raw()));
  entry.append("headers", columns[kColHeaders]);
  entry.append("created_at", columns[kColCreatedAt]);
  entry.append("available_at", columns[kColAvailableAt]);
  entry.append("expires_at", columns[kColExpiresAt]);
}

}  // namespace

std::string log_table(std::string_view table) { return std::string(table) + "_log"; }

std::string log_resource(std::string_view table) { return std::string(table) + ":log"; }

Snapshot::Snapshot(std::string snapshot) : text(std::move(snapshot)) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first + 1);
  xmax = text.substr(first + 1, second - first - 1);
  xips = "{" + text.substr(second + 1) + "}";
}

std::string log_ddl(std::string_view table) {
  return fill(std::string(kLogDdl), {{"table", std::string(table)}, {"index", name_of(table)}});
}

LogStatements make_log_statements(const std::string& table) {
  LogStatements out;
  add_lease(out);
  add_keys(table, out);
  add_log(table, out);
  add_rotation(table, out);
  return out;
}

std::string message_prefix(std::string_view table) { return "drom." + std::string(table); }

std::string message_statement(std::string_view table) {
  return fill(
      R"(SELECT pg_logical_emit_message(true, '{prefix}', jsonb_strip_nulls(jsonb_build_object(
  'event_id', coalesce($1::text, gen_random_uuid()::text), 'key', $2::text, 'type', $3::text,
  'payload', $4::text, 'payload_bytes', encode($5::bytea, 'hex'), 'headers', $6::text,
  'created_at', now(), 'available_at', {available}, 'expires_at', {expires}))::text))",
      {{"prefix", message_prefix(table)},
       {"available", time_after(sql::Dialect::postgres, "$7")},
       {"expires", time_after(sql::Dialect::postgres, "$8")}});
}

std::string holds_json(const std::vector<Hold>& holds) {
  List list;
  list.reserve(holds.size());
  for (const Hold& hold : holds) {
    Object entry;
    entry.append("n", static_cast<int64_t>(list.size()));
    entry.append("id", hold.id);
    entry.append("status", status_of(hold.to));
    entry.append("attempts", hold.attempts);
    entry.append("delay", int64_t{hold.delay.count()});
    entry.append("error", hold.error.empty() ? Value() : Value(storable_error(hold.error)));
    if (hold.id == 0) append_columns(hold.columns, entry);
    list.emplace_back(std::move(entry));
  }
  return to_json(Value(std::move(list)));
}

}  // namespace drom::outbox
