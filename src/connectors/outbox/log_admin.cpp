#include "connectors/outbox/log_admin.hpp"

#include <algorithm>

#include "connectors/outbox/outbox_log_sql.hpp"

namespace drom::outbox {
namespace {

int64_t integer(const Value& value) { return value.to_int().value_or(0); }

async<Result<bool>> exists(sql::Database& database, std::string table) {
  List params;
  params.push_back(std::move(table));
  Result<sql::Rows> rows = co_await database.execute(
      "SELECT to_regclass($1::text) IS NOT NULL AS there", std::move(params));
  if (!rows) co_return std::move(rows.error());
  co_return rows->rows.at(0).at(0).to_bool().value_or(false);
}

}  // namespace

async<Result<void>> prepare_log_tables(sql::Database& database, std::string table, bool create) {
  const std::string marks = log_table(table) + "_mark";
  Result<bool> there = co_await exists(database, marks);
  if (!there) co_return std::move(there.error());
  if (!*there) {
    if (!create)
      co_return Error(ErrorKind::config, "table " + log_table(table) + " does not exist",
                      "set createTable=true, or create it with `drom outbox init --mode log`");
    Result<void> created = co_await database.script(log_ddl(table));
    if (!created) {
      // Another process may have been faster.
      there = co_await exists(database, marks);
      if (!there || !*there) co_return created;
    }
  }
  // A read that finds nothing tells whether all columns are there.
  List params;
  params.push_back(int64_t{0});
  params.push_back(kNothing);
  params.push_back(kNothing);
  params.push_back(int64_t{0});
  Result<sql::Rows> probe =
      co_await database.execute(make_log_statements(table).read_page, std::move(params));
  if (!probe && probe.error().kind == ErrorKind::rejected)
    co_return Error(
        ErrorKind::config,
        "table " + log_table(table) + " is not a log that we can work with: " + probe.error().what,
        "`drom outbox init --mode log` prints the table definition");
  if (!probe) co_return std::move(probe.error());
  co_return Result<void>();
}

async<Result<std::optional<LogStatus>>> log_status(sql::Database& database, std::string table,
                                                   int64_t limit) {
  using Out = Result<std::optional<LogStatus>>;
  Result<bool> there = co_await exists(database, log_table(table) + "_mark");
  if (!there) co_return std::move(there.error());
  if (!*there) co_return Out(std::nullopt);
  const LogStatements statements = make_log_statements(table);
  std::vector<sql::Command> commands;
  commands.push_back({statements.last_mark, {}});
  commands.push_back({statements.sizes, {}});
  commands.push_back(
      {"SELECT owner FROM drom_lease WHERE resource = $1::text AND bucket = 0 AND "
       "owner <> '' AND expires_at > now()",
       {log_resource(table)}});
  Result<std::vector<sql::Rows>> found = co_await database.execute_all(std::move(commands));
  if (!found) co_return std::move(found.error());
  LogStatus out;
  for (size_t i = 1; i <= kLogSlots; ++i) out.bytes += integer((*found)[1].rows.at(0).at(i));
  if (!(*found)[2].rows.empty()) out.relay = (*found)[2].rows[0][0].to_text();
  List mark{int64_t{0}, kNothing, Value(), int64_t{0}};
  if (!(*found)[0].rows.empty()) mark = (*found)[0].rows[0];
  const Snapshot from(mark[1].to_text());
  List params{from.xmax, from.xips, from.text, mark[3], mark[2], limit};
  Result<sql::Rows> pending = co_await database.execute(statements.pending, std::move(params));
  if (!pending) co_return std::move(pending.error());
  const List& row = pending->rows.at(0);
  out.due = integer(row[0]);
  if (!row[1].is_null()) out.oldest = milliseconds(std::max<int64_t>(0, integer(row[1])));
  co_return Out(std::move(out));
}

}  // namespace drom::outbox
