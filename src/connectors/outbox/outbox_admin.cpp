#include "connectors/outbox/outbox_admin.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "connectors/outbox/outbox_sql.hpp"
#include "connectors/outbox/outbox_view.hpp"

namespace drom::outbox {
namespace {

using sql::Dialect;

constexpr const char* kListColumns =
    "v.id, v.event_id, v.key, v.type, v.state, v.attempts, v.created_at, v.available_at, "
    "v.next_attempt_at, v.sent_at, v.last_error";
constexpr int64_t kChunk = 5000;
constexpr milliseconds kPause{20};
constexpr int kQueryShown = 200;

int64_t integer(const Value& value) { return value.to_int().value_or(0); }

std::optional<milliseconds> age(const Value& value) {
  if (value.is_null()) return std::nullopt;
  return milliseconds(std::max<int64_t>(0, integer(value)));
}

std::string cast(Dialect dialect, const char* type) {
  return dialect == Dialect::postgres ? std::string("::") + type : std::string();
}

std::string from_view(Dialect dialect, const TableShape& shape) {
  return " FROM " + view_sql(dialect, shape) + " AS v";
}

// Conditions and their parameters.
struct Where {
  std::string text;
  List params;

  std::string bind(Value value) {
    params.push_back(std::move(value));
    return "$" + std::to_string(params.size());
  }
  void add(const std::string& condition) {
    text += (text.empty() ? " WHERE " : " AND ") + condition;
  }
};

void add_older(Dialect dialect, Where& where, std::string_view column, milliseconds older_than) {
  where.add(age_ms(dialect, column) + " > " + where.bind(int64_t{older_than.count()}) +
            cast(dialect, "bigint"));
}

void add_selection(Dialect dialect, Where& where, const Selection& selection) {
  if (!selection.ids.empty())
    where.add(in_ids(dialect, "v.id", where.bind(id_list(dialect, selection.ids))));
  if (!selection.key.empty())
    where.add("v.key = " + where.bind(selection.key) + cast(dialect, "text"));
  if (!selection.type.empty())
    where.add("v.type = " + where.bind(selection.type) + cast(dialect, "text"));
  if (!selection.state.empty())
    where.add("v.state = " + where.bind(selection.state) + cast(dialect, "text"));
  if (selection.older_than) add_older(dialect, where, "v.created_at", *selection.older_than);
}

std::vector<Object> objects(const sql::Rows& rows) {
  std::vector<Object> out;
  out.reserve(rows.rows.size());
  for (size_t i = 0; i < rows.rows.size(); ++i) out.push_back(rows.object(i));
  return out;
}

std::vector<sql::Command> backlog_commands(Dialect dialect, const TableShape& shape) {
  std::vector<sql::Command> out;
  out.push_back({"SELECT d.bucket, count(*), min(d.id), " + age_ms(dialect, "min(d.created_at)") +
                     " FROM (SELECT v.bucket, v.id, v.created_at FROM " +
                     unsent_view_sql(dialect, shape) +
                     " AS v WHERE v.state = 'due' ORDER BY v.id LIMIT " + std::to_string(kLagRows) +
                     ") AS d GROUP BY d.bucket ORDER BY d.bucket",
                 {}});
  if (dialect == Dialect::postgres)
    out.push_back(
        {"SELECT pid, (extract(epoch FROM now() - xact_start) * 1000)::bigint, state, "
         "left(query, " +
             std::to_string(kQueryShown) +
             ") FROM pg_stat_activity WHERE (backend_xmin IS NOT NULL OR backend_xid IS "
             "NOT NULL) AND pid <> pg_backend_pid() AND datname = current_database() AND "
             "xact_start < now() - interval '1 second' ORDER BY xact_start LIMIT 1",
         {}});
  return out;
}

Backlog backlog_of(std::span<const sql::Rows> results) {
  Backlog out;
  for (const List& row : results[0].rows) {
    out.lags.push_back(
        {static_cast<int>(integer(row[0])), integer(row[1]), integer(row[2]), age(row[3])});
    const Backlog::Lag& lag = out.lags.back();
    out.due += lag.due;
    if (lag.oldest) out.oldest = std::max(out.oldest.value_or(milliseconds(0)), *lag.oldest);
  }
  if (results.size() > 1 && !results[1].rows.empty()) {
    const List& row = results[1].rows[0];
    out.holder = Backlog::Holder{integer(row[0]), age(row[1]).value_or(milliseconds(0)),
                                 row[2].to_text(), row[3].to_text()};
  }
  return out;
}

// What an action allows, and does.
struct Rule {
  std::vector<std::string> states;
  std::vector<std::string> statements;  // $1 ids; the first one counts
};

std::string park_statement(Dialect dialect, const TableShape& shape) {
  const std::string id = column_sql(dialect, shape.sequence, "t");
  const bool mysql = dialect == Dialect::mysql;
  return fill(
      R"(INSERT INTO drom_trouble (resource, row_id, {key_name}, status, next_attempt_at)
SELECT '{resource}', {id}, {key}, 'parked', {never} FROM {table} AS t WHERE {ids} AND {unsent} {on_conflict})",
      {{"key_name", quoted(dialect, "key")},
       {"resource", shape.table},
       {"key", text_sql(dialect, shape.key, "t")},
       {"never", time_never(dialect)},
       {"table", shape.sql_table},
       {"ids", in_ids(dialect, id, "$1")},
       {"unsent", unsent_sql(dialect, shape, "t")},
       {"on_conflict", mysql ? "ON DUPLICATE KEY UPDATE status = VALUES(status), next_attempt_at = "
                               "VALUES(next_attempt_at)"
                             : "ON CONFLICT (resource, row_id) DO UPDATE SET status = "
                               "excluded.status, next_attempt_at = excluded.next_attempt_at"},
       {"id", id}});
}

Rule rule_of(Dialect dialect, const TableShape& shape, Action action) {
  const bool foreign = shape.foreign();
  const std::string id = foreign ? column_sql(dialect, shape.sequence, "") : std::string("id");
  const auto trouble = [&](const std::string& also) {
    return delete_by_ids(dialect, "drom_trouble", "row_id",
                         "resource = '" + shape.table + "'" + also);
  };
  const auto change = [&](const std::string& changes, const std::string& states) {
    return update_by_ids(dialect, shape.sql_table, id, changes, "status IN " + states);
  };
  const std::string reset = "status = 'due', attempts = 0, next_attempt_at = NULL";
  switch (action) {
    case Action::retry:
      return {{"dead", "parked", "waiting"},
              {foreign ? trouble("") : change(reset, "('due', 'dead', 'parked')")}};
    case Action::unpark:
      return {{"parked"},
              {foreign ? trouble(" AND status = 'parked'") : change(reset, "('parked')")}};
    case Action::discard: {
      Rule out{{"due", "waiting", "dead", "parked"}, {}};
      out.statements.push_back(
          delete_by_ids(dialect, shape.sql_table, id,
                        foreign ? unsent_sql(dialect, shape, "") : "status <> 'sent'"));
      if (foreign)
        out.statements.push_back(make_statements(dialect, shape, SentPolicy::remove).end_trouble);
      return out;
    }
    case Action::park: {
      Rule out{{"due", "waiting", "dead"}, {}};
      out.statements.push_back(
          foreign ? park_statement(dialect, shape)
                  : change("status = 'parked', next_attempt_at = " + time_never(dialect),
                           "('due', 'dead')"));
      return out;
    }
  }
  return {};
}

struct Chunk {
  std::vector<int64_t> ids;
  int64_t last = 0;
  std::map<int64_t, std::string> found;  // id -> state
};

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

// The next rows after `last` that the selection names.
async<Result<Chunk>> next_chunk(sql::Database& database, TableShape shape, Selection selection,
                                std::vector<std::string> allowed, int64_t last) {
  const Dialect dialect = database.dialect();
  Where where;
  add_selection(dialect, where, selection);
  where.add("v.id > " + where.bind(last) + cast(dialect, "bigint"));
  if (selection.ids.empty() && selection.state.empty()) {
    std::string in;
    for (const std::string& state : allowed) in += (in.empty() ? "'" : ", '") + state + "'";
    where.add("v.state IN (" + in + ")");
  }
  std::string text = "SELECT v.id, v.state" + from_view(dialect, shape) + where.text +
                     " ORDER BY v.id LIMIT " + std::to_string(kChunk);
  Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(where.params));
  if (!rows) co_return std::move(rows.error());
  Chunk out;
  for (const List& row : rows->rows) {
    const int64_t id = integer(row[0]);
    out.last = id;
    std::string state = row[1].to_text();
    if (has(allowed, state)) out.ids.push_back(id);
    out.found.emplace(id, std::move(state));
  }
  co_return out;
}

async<Result<int64_t>> apply(sql::Database& database, std::vector<std::string> statements,
                             std::vector<int64_t> ids) {
  const auto rows_max = static_cast<int64_t>(ids.size());
  std::vector<sql::Command> commands;
  for (std::string& text : statements)
    commands.push_back({std::move(text), {id_list(database.dialect(), ids)}});
  Result<std::vector<sql::Rows>> done = co_await database.execute_all(std::move(commands));
  if (!done) co_return std::move(done.error());
  // MySQL counts two for a row that is written over.
  co_return std::min<int64_t>(done->front().affected, rows_max);
}

// Of the ids given: those that are not there or in a state that does not allow the action.
void tell_refused(const std::vector<int64_t>& ids, const std::map<int64_t, std::string>& found,
                  const Rule& rule, Action action, Changed& out) {
  for (const int64_t id : ids) {
    const auto at = found.find(id);
    if (at == found.end()) {
      out.refused.push_back("there is no row " + std::to_string(id));
    } else if (!has(rule.states, at->second)) {
      out.refused.push_back("row " + std::to_string(id) + " is " + at->second + "; " +
                            std::string(name_of(action)) + " takes rows that are " +
                            listed(rule.states));
    }
  }
}

}  // namespace

const std::vector<std::string>& states() {
  static const std::vector<std::string> kStates = {"due", "waiting", "sent", "dead", "parked"};
  return kStates;
}

std::string_view name_of(Action action) {
  switch (action) {
    case Action::retry: return "retry";
    case Action::discard: return "discard";
    case Action::park: return "park";
    case Action::unpark: return "unpark";
  }
  return "";
}

async<Result<Status>> status(sql::Database& database, TableShape shape) {
  const Dialect dialect = database.dialect();
  std::vector<sql::Command> commands = backlog_commands(dialect, shape);
  const size_t own = commands.size();
  commands.push_back({"SELECT v.state, count(*), " + age_ms(dialect, "min(v.created_at)") +
                          from_view(dialect, shape) + " GROUP BY v.state",
                      {}});
  commands.push_back({"SELECT owner, count(*) FROM drom_lease WHERE resource = $1" +
                          cast(dialect, "text") + " AND bucket >= 0 AND owner <> '' AND NOT " +
                          is_past(dialect, "expires_at") + " GROUP BY owner ORDER BY owner",
                      {shape.table}});
  Result<std::vector<sql::Rows>> results = co_await database.execute_all(std::move(commands));
  if (!results) co_return std::move(results.error());
  Status out;
  out.backlog = backlog_of(std::span<const sql::Rows>(*results).first(own));
  for (const List& row : (*results)[own].rows) {
    const std::string state = row[0].to_text();
    out.counts[state] = integer(row[1]);
    if (state == "due") out.oldest_due = age(row[2]);
  }
  for (const List& row : (*results)[own + 1].rows)
    out.relays.push_back({row[0].to_text(), integer(row[1])});
  if (dialect != Dialect::postgres || shape.foreign()) co_return out;
  Result<std::optional<LogStatus>> log =
      co_await log_status(database, shape.table, std::numeric_limits<int64_t>::max());
  if (!log) co_return std::move(log.error());
  out.log = std::move(*log);
  co_return out;
}

async<Result<Backlog>> backlog(sql::Database& database, TableShape shape) {
  Result<std::vector<sql::Rows>> results =
      co_await database.execute_all(backlog_commands(database.dialect(), shape));
  if (!results) co_return std::move(results.error());
  co_return backlog_of(*results);
}

async<Result<std::vector<Object>>> list(sql::Database& database, TableShape shape,
                                        Selection selection, int64_t limit) {
  const Dialect dialect = database.dialect();
  Where where;
  add_selection(dialect, where, selection);
  if (selection.state.empty() && selection.ids.empty()) where.add("v.state <> 'sent'");
  std::string text = std::string("SELECT ") + kListColumns + from_view(dialect, shape) +
                     where.text + " ORDER BY v.id LIMIT " + where.bind(limit) +
                     cast(dialect, "bigint");
  Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(where.params));
  if (!rows) co_return std::move(rows.error());
  co_return objects(*rows);
}

async<Result<Object>> show(sql::Database& database, TableShape shape, int64_t id) {
  const Dialect dialect = database.dialect();
  std::string text = std::string("SELECT ") + kListColumns +
                     ", v.bucket, v.headers, v.payload, v.payload_bytes" +
                     from_view(dialect, shape) + " WHERE v.id = $1" + cast(dialect, "bigint");
  List params;
  params.push_back(id);
  Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(params));
  if (!rows) co_return std::move(rows.error());
  if (rows->rows.empty())
    co_return Error(ErrorKind::rejected,
                    "there is no row " + std::to_string(id) + " in " + shape.table,
                    "`drom outbox list` shows the ids");
  co_return rows->object(0);
}

async<Result<Changed>> change(sql::Database& database, Clock& clock, TableShape shape,
                              Action action, Selection selection) {
  const Rule rule = rule_of(database.dialect(), shape, action);
  if (!selection.state.empty() && !has(rule.states, selection.state))
    co_return Error(ErrorKind::rejected, std::string(name_of(action)) + " takes rows that are " +
                                             listed(rule.states) + ", not " + selection.state);
  Changed out;
  std::map<int64_t, std::string> found;
  int64_t last = INT64_MIN;
  while (true) {
    Result<Chunk> chunk = co_await next_chunk(database, shape, selection, rule.states, last);
    if (!chunk) co_return std::move(chunk.error());
    if (chunk->found.empty()) break;
    if (!selection.ids.empty()) found.insert(chunk->found.begin(), chunk->found.end());
    if (!chunk->ids.empty()) {
      Result<int64_t> done = co_await apply(database, rule.statements, std::move(chunk->ids));
      if (!done) co_return std::move(done.error());
      out.rows += *done;
    }
    if (static_cast<int64_t>(chunk->found.size()) < kChunk) break;
    last = chunk->last;
    co_await clock.sleep(kPause);
  }
  tell_refused(selection.ids, found, rule, action, out);
  database.signal(wake_channel(shape.table));
  co_return out;
}

async<Result<int64_t>> purge(sql::Database& database, Clock& clock, TableShape shape,
                             std::string state, std::optional<milliseconds> older_than) {
  const Dialect dialect = database.dialect();
  const bool sent = state == "sent";
  if (!sent && state != "dead")
    co_return Error(ErrorKind::rejected, "purge takes rows that are sent or dead, not " + state,
                    "`drom outbox discard` deletes rows that were never sent");
  const std::string id = shape.foreign() ? column_sql(dialect, shape.sequence, "") : "id";
  std::vector<std::string> statements;
  // Once more in the statement that deletes: what was dead may be due again by now.
  std::string still = "status = '" + state + "'";
  if (shape.foreign())
    still = sent ? "NOT " + unsent_sql(dialect, shape, "")
                 : id + " IN (SELECT x.row_id FROM drom_trouble AS x WHERE x.resource = '" +
                       shape.table + "' AND x.status = 'dead')";
  statements.push_back(delete_by_ids(dialect, shape.sql_table, id, still));
  if (shape.foreign())
    statements.push_back(make_statements(dialect, shape, SentPolicy::remove).end_trouble);
  int64_t total = 0;
  while (true) {
    Where where;
    where.add("v.state = " + where.bind(state) + cast(dialect, "text"));
    if (older_than) add_older(dialect, where, sent ? "v.sent_at" : "v.created_at", *older_than);
    std::string text = "SELECT v.id" + from_view(dialect, shape) + where.text +
                       " ORDER BY v.id LIMIT " + std::to_string(kChunk);
    Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(where.params));
    if (!rows) co_return std::move(rows.error());
    std::vector<int64_t> ids;
    for (const List& row : rows->rows) ids.push_back(integer(row[0]));
    if (ids.empty()) co_return total;
    const bool last = static_cast<int64_t>(ids.size()) < kChunk;
    Result<int64_t> done = co_await apply(database, statements, std::move(ids));
    if (!done) co_return std::move(done.error());
    total += *done;
    if (last || *done == 0) co_return total;
    co_await clock.sleep(kPause);
  }
}

std::string init_ddl(Dialect dialect, const TableShape& shape) {
  return shape.foreign() ? companion_ddl(dialect) : outbox_ddl(dialect, shape.table);
}

async<Result<void>> init(sql::Database& database, TableShape shape) {
  Result<void> done = co_await database.script(init_ddl(database.dialect(), shape));
  co_return done;
}

}  // namespace drom::outbox
