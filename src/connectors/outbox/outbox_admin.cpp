#include "connectors/outbox/outbox_admin.hpp"

#include "connectors/outbox/outbox_sql.hpp"

namespace drom::outbox {
namespace {

constexpr const char* kListColumns =
    "id, event_id, key, type, status, attempts, created_at, available_at, next_attempt_at, "
    "sent_at, last_error";

int64_t integer(const Value& value) { return value.to_int().value_or(0); }

std::string future(sql::Dialect dialect, std::string_view column) {
  return "(" + std::string(column) + " IS NOT NULL AND NOT " + is_past(dialect, column) + ")";
}

// Milliseconds since `column`.
std::string age_ms(sql::Dialect dialect, std::string_view column) {
  const std::string c(column);
  if (dialect == sql::Dialect::postgres)
    return "(extract(epoch FROM now() - " + c + ") * 1000)::bigint";
  return "CAST((julianday('now') - julianday(" + c + ")) * 86400000 AS INTEGER)";
}

std::vector<Object> objects(const sql::Rows& rows) {
  std::vector<Object> out;
  out.reserve(rows.rows.size());
  for (size_t i = 0; i < rows.rows.size(); ++i) out.push_back(rows.object(i));
  return out;
}

async<Result<int64_t>> change(sql::Database& database, std::string table, std::string text,
                              List params) {
  Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(params));
  if (!rows) co_return std::move(rows.error());
  database.signal(wake_channel(table));
  co_return rows->affected;
}

}  // namespace

async<Result<Status>> status(sql::Database& database, std::string table) {
  const sql::Dialect dialect = database.dialect();
  const std::string later =
      "(" + future(dialect, "next_attempt_at") + " OR " + future(dialect, "available_at") + ")";
  std::vector<sql::Command> commands;
  commands.push_back(
      {"SELECT status, count(*) FROM " + table + " WHERE status <> 'due' GROUP BY status", {}});
  commands.push_back(
      {"SELECT count(*), sum(CASE WHEN " + later + " THEN 1 ELSE 0 END), " +
           age_ms(dialect, "min(CASE WHEN " + later + " THEN NULL ELSE created_at END)") +
           " FROM " + table + " WHERE status = 'due'",
       {}});
  commands.push_back(
      {"SELECT owner, count(*) FROM drom_lease WHERE resource = $1 AND bucket >= 0 AND owner <> '' "
       "AND NOT " +
           is_past(dialect, "expires_at") + " GROUP BY owner ORDER BY owner",
       {table}});
  Result<std::vector<sql::Rows>> results = co_await database.execute_all(std::move(commands));
  if (!results) co_return std::move(results.error());

  Status out;
  for (const List& row : (*results)[0].rows) {
    const std::string_view state = row[0].raw();
    if (state == "sent") out.sent = integer(row[1]);
    if (state == "dead") out.dead = integer(row[1]);
    if (state == "parked") out.parked = integer(row[1]);
  }
  const List& due = (*results)[1].rows.at(0);
  out.waiting = integer(due[1]);
  out.due = integer(due[0]) - out.waiting;
  if (!due[2].is_null()) out.oldest_due = milliseconds(std::max<int64_t>(0, integer(due[2])));
  for (const List& row : (*results)[2].rows)
    out.relays.push_back({row[0].to_text(), integer(row[1])});
  co_return out;
}

async<Result<std::vector<Object>>> list(sql::Database& database, std::string table,
                                        ListFilter filter) {
  std::string text = std::string("SELECT ") + kListColumns + " FROM " + table;
  text += filter.state.empty() ? " WHERE status <> 'sent'" : " WHERE status = $2";
  text += " ORDER BY id LIMIT $1";
  if (database.dialect() == sql::Dialect::postgres) text += "::bigint";
  List params;
  params.push_back(filter.limit);
  if (!filter.state.empty()) params.push_back(filter.state);
  Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(params));
  if (!rows) co_return std::move(rows.error());
  co_return objects(*rows);
}

async<Result<Object>> show(sql::Database& database, std::string table, int64_t id) {
  std::string text = std::string("SELECT ") + kListColumns +
                     ", bucket, headers, payload, payload_bytes FROM " + table + " WHERE id = $1";
  List params;
  params.push_back(id);
  Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(params));
  if (!rows) co_return std::move(rows.error());
  if (rows->rows.empty())
    co_return Error(ErrorKind::rejected, "there is no row " + std::to_string(id) + " in " + table);
  co_return rows->object(0);
}

async<Result<int64_t>> retry(sql::Database& database, std::string table, std::vector<int64_t> ids) {
  std::string text =
      "UPDATE " + table +
      " SET status = 'due', attempts = 0, next_attempt_at = NULL WHERE status IN ('due', 'dead', "
      "'parked') AND " +
      in_ids(database.dialect(), "id", "$1");
  List params;
  params.push_back(id_list(database.dialect(), ids));
  co_return co_await change(database, std::move(table), std::move(text), std::move(params));
}

async<Result<int64_t>> retry_all_dead(sql::Database& database, std::string table) {
  std::string text = "UPDATE " + table +
                     " SET status = 'due', attempts = 0, next_attempt_at = NULL WHERE status IN "
                     "('dead', 'parked')";
  List params;
  co_return co_await change(database, std::move(table), std::move(text), std::move(params));
}

async<Result<int64_t>> discard(sql::Database& database, std::string table,
                               std::vector<int64_t> ids) {
  std::string text = "DELETE FROM " + table + " WHERE status <> 'sent' AND " +
                     in_ids(database.dialect(), "id", "$1");
  List params;
  params.push_back(id_list(database.dialect(), ids));
  co_return co_await change(database, std::move(table), std::move(text), std::move(params));
}

async<Result<void>> init(sql::Database& database, std::string table) {
  co_return co_await database.script(outbox_ddl(database.dialect(), table));
}

}  // namespace drom::outbox
