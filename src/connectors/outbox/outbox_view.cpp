#include "connectors/outbox/outbox_view.hpp"

#include "connectors/outbox/outbox_sql.hpp"

namespace drom::outbox {
namespace {

using sql::Dialect;

std::string future(Dialect dialect, const std::string& column) {
  return "(" + column + " IS NOT NULL AND NOT " + is_past(dialect, column) + ")";
}

std::string own_view(Dialect dialect, const TableShape& shape, const std::string& where) {
  return fill(R"((SELECT t.id, t.event_id, t.key, t.type,
  CASE WHEN t.status = 'due' AND ({backoff} OR {later}) THEN 'waiting' ELSE t.status END AS state,
  t.attempts, t.created_at, t.available_at, t.next_attempt_at, t.sent_at, t.last_error, t.bucket,
  t.headers, t.payload, t.payload_bytes FROM {table} AS t{where}))",
              {{"backoff", future(dialect, "t.next_attempt_at")},
               {"later", future(dialect, "t.available_at")},
               {"table", shape.sql_table},
               {"where", where}});
}

// A column as a time that can be compared and shown; null for what holds none.
std::string instant(Dialect dialect, const Column& column) {
  const bool postgres = dialect == Dialect::postgres;
  const std::string none = postgres ? "NULL::timestamptz" : "NULL";
  if (!column) return none;
  const std::string name = column_sql(dialect, column, "t");
  switch (column.kind) {
    case ColumnKind::instant: return name;
    case ColumnKind::local_time:
      return dialect == Dialect::mysql ? name : "(" + name + " AT TIME ZONE 'UTC')";
    case ColumnKind::integer:
      if (dialect == Dialect::mysql) return "from_unixtime(" + name + " / 1000.0)";
      return postgres ? "to_timestamp(" + name + " / 1000.0)"
                      : "strftime('%Y-%m-%dT%H:%M:%fZ', " + name + " / 1000.0, 'unixepoch')";
    case ColumnKind::boolean:
    case ColumnKind::bytes: return none;
    case ColumnKind::unknown: return dialect == Dialect::sqlite ? name : none;
  }
  return none;
}

std::string foreign_state(Dialect dialect, const TableShape& shape) {
  std::string out = "CASE WHEN NOT " + unsent_sql(dialect, shape, "t") + " THEN ";
  if (shape.status && !shape.due_values.empty()) {
    const std::string status = text_sql(dialect, shape.status, "t");
    out += "CASE WHEN " + status + " = '" + shape.sent_value + "' THEN 'sent' ELSE coalesce(" +
           status + ", 'null') END";
  } else {
    out += "'sent'";
  }
  out += " WHEN x.status IN ('dead', 'parked') THEN x.status WHEN " +
         future(dialect, "x.next_attempt_at");
  if (shape.available)
    out += " OR (" + column_sql(dialect, shape.available, "t") + " IS NOT NULL AND NOT " +
           past_sql(dialect, shape.available, "t") + ")";
  return out + " THEN 'waiting' ELSE 'due' END";
}

std::string foreign_view(Dialect dialect, const TableShape& shape, const std::string& where) {
  const bool bytes = shape.payload.kind == ColumnKind::bytes;
  return fill(
      R"((SELECT {id} AS id, {event_id} AS event_id, {key} AS {key_name}, {type} AS type, {state} AS state,
  coalesce(x.attempts, 0) AS attempts, {created} AS created_at, {available} AS available_at,
  x.next_attempt_at, {sent} AS sent_at, x.last_error, {bucket} AS bucket, {headers} AS headers,
  {payload} AS payload, {payload_bytes} AS payload_bytes
FROM {table} AS t LEFT JOIN drom_trouble AS x ON x.resource = '{resource}' AND x.row_id = {id}{where}))",
      {{"event_id", text_sql(dialect, shape.event_id ? shape.event_id : shape.sequence, "t")},
       {"key_name", quoted(dialect, "key")},
       {"key", text_sql(dialect, shape.key, "t")},
       {"type", text_sql(dialect, shape.type, "t")},
       {"state", foreign_state(dialect, shape)},
       {"created", instant(dialect, shape.created)},
       {"available", instant(dialect, shape.available)},
       {"sent", instant(dialect, shape.sent)},
       {"bucket", bucket_sql(dialect, shape, "t")},
       {"headers", text_sql(dialect, shape.headers, "t")},
       {"payload", bytes ? "NULL" : text_sql(dialect, shape.payload, "t")},
       {"payload_bytes", bytes ? column_sql(dialect, shape.payload, "t") : "NULL"},
       {"table", shape.sql_table},
       {"resource", shape.table},
       {"where", where},
       {"id", column_sql(dialect, shape.sequence, "t")}});
}

}  // namespace

std::string view_sql(Dialect dialect, const TableShape& shape) {
  return shape.foreign() ? foreign_view(dialect, shape, "") : own_view(dialect, shape, "");
}

std::string unsent_view_sql(Dialect dialect, const TableShape& shape) {
  const std::string where = " WHERE " + unsent_sql(dialect, shape, "t");
  return shape.foreign() ? foreign_view(dialect, shape, where) : own_view(dialect, shape, where);
}

std::string age_ms(Dialect dialect, std::string_view column) {
  const std::string c(column);
  if (dialect == Dialect::postgres) return "(extract(epoch FROM now() - " + c + ") * 1000)::bigint";
  if (dialect == Dialect::mysql)
    return "(timestampdiff(MICROSECOND, " + c + ", utc_timestamp(3)) DIV 1000)";
  return "CAST((julianday('now') - julianday(" + c + ")) * 86400000 AS INTEGER)";
}

}  // namespace drom::outbox
