#include "connectors/outbox/table_shape.hpp"

#include <algorithm>

#include "connectors/outbox/outbox_mysql.hpp"
#include "connectors/outbox/outbox_sql.hpp"

namespace drom::outbox {
namespace {

using sql::Dialect;

constexpr size_t kColumnNameMax = 63;

std::string prefix(std::string_view alias) {
  return alias.empty() ? std::string() : std::string(alias) + ".";
}

// Values come from the route file and are checked there: letters, digits, space, `_`, `-`, `.`.
std::string literal(const Column& column, const std::string& value) {
  if (column.kind == ColumnKind::integer || column.kind == ColumnKind::boolean) return value;
  return "'" + value + "'";
}

// What a sent row holds in `column`; the column itself where being sent changes nothing.
std::string sent_value(Dialect dialect, const TableShape& shape, const std::string& column,
                       std::string_view alias) {
  if (!shape.foreign()) {
    if (column == "status") return "'sent'";
    if (column == "sent_at") return time_now(dialect);
    if (column == "next_attempt_at") return "NULL";
  } else if (shape.sent && column == shape.sent.name) {
    return now_for(dialect, shape.sent);
  } else if (shape.status && column == shape.status.name) {
    return literal(shape.status, shape.sent_value);
  }
  return prefix(alias) + quoted(dialect, column);
}

}  // namespace

TableShape own_shape(std::string table) {
  TableShape out;
  out.sql_table = table;
  out.table = std::move(table);
  return out;
}

std::string quoted(Dialect dialect, std::string_view name) {
  const char quote = dialect == Dialect::mysql ? '`' : '"';
  std::string out(1, quote);
  for (const char c : name) {
    if (c == quote) out += quote;
    out += c;
  }
  return out + quote;
}

Result<std::string> checked_column(std::string_view option, const std::string& name) {
  const bool good =
      !name.empty() && name.size() <= kColumnNameMax && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '$';
      });
  if (good) return name;
  return Error(ErrorKind::config,
               std::string(option) + ": '" + name + "' cannot be the name of a column",
               "use the name of a column of the table, without quotes");
}

std::string column_sql(Dialect dialect, const Column& column, std::string_view alias) {
  return prefix(alias) + quoted(dialect, column.name);
}

std::string text_sql(Dialect dialect, const Column& column, std::string_view alias) {
  if (!column) return "NULL";
  const std::string name = column_sql(dialect, column, alias);
  if (dialect == Dialect::postgres) return name + "::text";
  if (dialect == Dialect::sqlite) return "CAST(" + name + " AS TEXT)";
  if (column.kind == ColumnKind::bytes) return "lower(hex(" + name + "))";  // BINARY(16) ids
  return "(CONVERT(" + name + " USING utf8mb4) COLLATE utf8mb4_bin)";
}

std::string now_for(Dialect dialect, const Column& column) {
  switch (column.kind) {
    case ColumnKind::boolean: return dialect == Dialect::postgres ? "true" : "1";
    case ColumnKind::integer:
      if (dialect == Dialect::mysql) return "CAST(unix_timestamp(now(3)) * 1000 AS SIGNED)";
      return dialect == Dialect::postgres
                 ? "(extract(epoch FROM now()) * 1000)::bigint"
                 : "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";
    case ColumnKind::local_time:
      return dialect == Dialect::postgres ? "(now() AT TIME ZONE 'UTC')" : time_now(dialect);
    default: return time_now(dialect);
  }
}

std::string past_sql(Dialect dialect, const Column& column, std::string_view alias) {
  const std::string name = column_sql(dialect, column, alias);
  if (column.kind == ColumnKind::integer || dialect == Dialect::postgres)
    return "(" + name + " <= " + now_for(dialect, column) + ")";
  return is_past(dialect, name);
}

std::string unsent_sql(Dialect dialect, const TableShape& shape, std::string_view alias) {
  if (!shape.foreign()) return "(" + prefix(alias) + "status = 'due')";
  std::string out = "(true";
  if (shape.sent) {
    const std::string name = column_sql(dialect, shape.sent, alias);
    out =
        "(" + (shape.sent.kind == ColumnKind::boolean ? name + " IS NOT TRUE" : name + " IS NULL");
  }
  if (shape.status) {
    const std::string name = column_sql(dialect, shape.status, alias);
    std::string values;
    for (const std::string& value : shape.due_values)
      values += (values.empty() ? "" : ", ") + literal(shape.status, value);
    if (shape.due_values.empty()) {
      out += " AND (" + name + " IS NULL OR " + name + " <> " +
             literal(shape.status, shape.sent_value) + ")";
    } else {
      out += " AND " + name + " IN (" + values + ")";
    }
  }
  return out + ")";
}

std::string sent_changes(Dialect dialect, const TableShape& shape, std::string_view alias) {
  std::string out;
  for (const Column& column : {shape.sent, shape.status})
    if (column)
      out += (out.empty() ? "" : ", ") + column_sql(dialect, column, alias) + " = " +
             sent_value(dialect, shape, column.name, alias);
  return out;
}

std::pair<std::string, std::string> archive_insert(Dialect dialect, const TableShape& shape,
                                                   std::string_view alias) {
  std::string names, values;
  for (const std::string& column : shape.all_columns) {
    names += (names.empty() ? "" : ", ") + quoted(dialect, column);
    values += (values.empty() ? "" : ", ") + sent_value(dialect, shape, column, alias);
  }
  return {"INSERT INTO " + archive_table(shape.sql_table) + " (" + names + ")", values};
}

std::string bucket_sql(Dialect dialect, const TableShape& shape, std::string_view alias) {
  if (!shape.foreign()) return prefix(alias) + "bucket";
  const std::string id = column_sql(dialect, shape.sequence, alias);
  if (dialect == Dialect::postgres) {
    if (!shape.key) return "(" + id + "::bigint & 63)::integer";
    const std::string key = column_sql(dialect, shape.key, alias) + "::text";
    return "(CASE WHEN coalesce(" + key + ", '') = '' THEN (" + id +
           "::bigint & 63)::integer ELSE hashtext(" + key + ") & 63 END)";
  }
  if (dialect == Dialect::mysql) return mysql_bucket(text_sql(dialect, shape.key, alias), id);
  if (!shape.key) return "(" + id + " & 63)";
  const std::string key = "CAST(" + column_sql(dialect, shape.key, alias) + " AS TEXT)";
  return "(CASE WHEN coalesce(" + key + ", '') = '' THEN " + id + " & 63 ELSE (unicode(" + key +
         ") * 31 + unicode(substr(" + key + ", -1)) * 7 + unicode(substr(" + key +
         ", -2)) * 131 + length(" + key + ") * 17) & 63 END)";
}

}  // namespace drom::outbox
