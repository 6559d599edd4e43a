#include "connectors/outbox/outbox_verify.hpp"

#include <algorithm>

#include "connectors/outbox/outbox_admin.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "connectors/outbox/outbox_view.hpp"
#include "connectors/outbox/table_check.hpp"

namespace drom::outbox {
namespace {

using sql::Dialect;
using Level = Finding::Level;

int64_t integer(const Value& value) { return value.to_int().value_or(0); }

std::string count_of(int64_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

// To whole seconds, which is what a person wants to know.
std::string shown(milliseconds age) {
  return to_string(milliseconds(std::max<int64_t>(0, age.count() / 1000 * 1000)));
}

std::string rows_are(int64_t n) { return count_of(n, "row") + (n == 1 ? " is" : " are"); }

class Verifier {
 public:
  Verifier(sql::Database& database, TableShape shape, SentPolicy sent, VerifyLimits limits)
      : database_(database), shape_(std::move(shape)), sent_(sent), limits_(limits) {}

  async<Result<std::vector<Finding>>> run() {
    Result<TableShape> shape = co_await prepare_shape(database_, shape_, sent_, false);
    if (!shape) {
      if (shape.error().kind != ErrorKind::config) co_return std::move(shape.error());
      add(Level::error, "table", shape.error().what, shape.error().hint);
      co_return std::move(findings_);
    }
    shape_ = std::move(*shape);
    add(Level::ok, "table", "table " + shape_.table + " has the columns that are needed");
    for (auto check : {&Verifier::indexes, &Verifier::leases, &Verifier::states, &Verifier::lag}) {
      Result<void> done = co_await (this->*check)();
      if (!done) co_return std::move(done.error());
    }
    co_return std::move(findings_);
  }

 private:
  void add(Level level, std::string check, std::string what, std::string advice = {}) {
    findings_.push_back({level, std::move(check), std::move(what), std::move(advice)});
  }

  async<Result<sql::Rows>> ask(std::string text, List params) {
    Result<sql::Rows> rows = co_await database_.execute(std::move(text), std::move(params));
    co_return rows;
  }

  // An index that starts with the column that orders the rows lets a read find due rows first.
  async<Result<void>> indexes() {
    const Dialect dialect = database_.dialect();
    const std::string column = shape_.foreign() ? shape_.sequence.name : "id";
    std::string text =
        "SELECT i.indexrelid::regclass::text, pg_get_expr(i.indpred, i.indrelid), a.attname::text "
        "FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = "
        "i.indkey[0] WHERE i.indrelid = to_regclass($1::text) AND i.indisvalid";
    List params;
    params.push_back(shape_.sql_table);
    if (dialect == Dialect::sqlite) {
      text =
          "SELECT l.name, CASE WHEN l.partial THEN 'partial' END, (SELECT name FROM "
          "pragma_index_xinfo(l.name) WHERE seqno = 0) FROM pragma_index_list($1) AS l UNION ALL "
          "SELECT 'rowid', NULL, name FROM pragma_table_xinfo($1) WHERE pk = 1";
      std::string name = shape_.sql_table;
      std::erase(name, '"');
      params = {name};
    }
    if (dialect == Dialect::mysql) {
      text =
          "SELECT index_name, NULL, column_name FROM information_schema.statistics WHERE "
          "table_schema = coalesce($1, database()) AND table_name = $2 AND seq_in_index = 1";
      const size_t dot = shape_.table.find('.');
      params = {dot == std::string::npos ? Value() : Value(shape_.table.substr(0, dot)),
                dot == std::string::npos ? shape_.table : shape_.table.substr(dot + 1)};
    }
    Result<sql::Rows> rows = co_await ask(std::move(text), std::move(params));
    if (!rows) co_return std::move(rows.error());
    bool ordered = false, due = false, waiting = shape_.foreign();
    const Column& mark = shape_.sent ? shape_.sent : shape_.status;
    const std::string marked_by = shape_.foreign() ? mark.name : "status";
    for (const List& row : rows->rows) {
      const std::string first = row[2].to_text();
      const bool leads = first == column;
      ordered = ordered || leads;
      due = due || (leads && !row[1].is_null());
      // There are no partial indexes; one by the mark serves.
      if (dialect == Dialect::mysql) {
        due = due || first == marked_by;
        waiting = waiting || first == "waiting_key";
      }
      waiting = waiting || (row[2].to_text() == "key" && !row[1].is_null());
    }
    report_indexes(column, ordered, due, waiting);
    co_return Result<void>();
  }

  std::string create_index(const std::string& columns) const {
    const bool named = database_.dialect() == Dialect::mysql;  // must have a name there
    return std::string("CREATE INDEX ") + (named ? "drom_due " : "") + "ON " + shape_.sql_table +
           " " + columns + ";";
  }

  void report_indexes(const std::string& column, bool ordered, bool due, bool waiting) {
    const Dialect dialect = database_.dialect();
    if (!shape_.foreign() && (!due || !waiting)) {
      add(Level::error, "indexes",
          std::string("the index of ") + (due ? "rows that wait" : "due rows") + " is missing",
          "`drom outbox init --apply` creates it");
    } else if (!ordered) {
      add(Level::error, "indexes", "no index starts with column " + column,
          create_index("(" + quoted(dialect, column) + ")"));
    } else if (!due && shape_.marks() && sent_ == SentPolicy::mark) {
      add(Level::warning, "indexes", "every read walks over the rows that have been sent",
          dialect == Dialect::mysql
              ? create_index("(" +
                             quoted(dialect, (shape_.sent ? shape_.sent : shape_.status).name) +
                             ", " + quoted(dialect, column) + ")")
              : create_index("(" + quoted(dialect, column) + ") WHERE " +
                             unsent_sql(dialect, shape_, "")));
    } else {
      add(Level::ok, "indexes", "due rows are found by an index");
    }
  }

  async<Result<void>> leases() {
    const Dialect dialect = database_.dialect();
    const std::string past = is_past(dialect, "expires_at");
    List params;
    params.push_back(shape_.table);
    Result<sql::Rows> rows = co_await ask(
        "SELECT owner, count(*), sum(CASE WHEN " + past + " THEN 1 ELSE 0 END), " +
            age_ms(dialect, "min(expires_at)") + " FROM drom_lease WHERE resource = $1" +
            (dialect == Dialect::postgres ? "::text" : "") +
            " AND bucket >= 0 AND owner <> '' GROUP BY owner ORDER BY owner",
        std::move(params));
    if (!rows) co_return std::move(rows.error());
    for (const List& row : rows->rows) {
      const int64_t expired = integer(row[2]);
      live_ += integer(row[1]) - expired;
      if (expired == 0) {
        add(Level::ok, "relays",
            "relay " + row[0].to_text() + " holds " + count_of(integer(row[1]), "bucket"));
        continue;
      }
      add(Level::warning, "relays",
          "relay " + row[0].to_text() + " holds " + count_of(expired, "bucket") +
              " by a lease that ran out " + shown(milliseconds(integer(row[3]))) + " ago",
          "it has died or hangs; a running relay takes over by itself, else start one");
    }
    if (rows->rows.empty()) add(Level::ok, "relays", "no relay holds a lease");
    co_return Result<void>();
  }

  async<Result<void>> states() {
    const Dialect dialect = database_.dialect();
    if (shape_.foreign()) {
      List params;
      params.push_back(shape_.table);
      Result<sql::Rows> orphans =
          co_await ask("SELECT count(*) FROM drom_trouble AS x WHERE x.resource = $1" +
                           std::string(dialect == Dialect::postgres ? "::text" : "") +
                           " AND NOT EXISTS (SELECT 1 FROM " + shape_.sql_table + " AS t WHERE " +
                           column_sql(dialect, shape_.sequence, "t") + " = x.row_id AND " +
                           unsent_sql(dialect, shape_, "t") + ")",
                       std::move(params));
      if (!orphans) co_return std::move(orphans.error());
      if (const int64_t n = integer(orphans->rows.at(0)[0]); n > 0)
        add(Level::warning, "states",
            "drom_trouble holds " + count_of(n, "row") + " of events that are gone or sent",
            "DELETE FROM drom_trouble WHERE resource = '" + shape_.table +
                "' AND row_id NOT IN (SELECT " + column_sql(dialect, shape_.sequence, "t") +
                " FROM " + shape_.sql_table + " AS t);");
    } else {
      List none;
      Result<sql::Rows> odd = co_await ask(
          "SELECT count(*) FROM " + shape_.sql_table +
              " WHERE status = 'due' AND sent_at IS NOT NULL OR status = 'sent' AND sent_at IS "
              "NULL",
          std::move(none));
      if (!odd) co_return std::move(odd.error());
      if (const int64_t n = integer(odd->rows.at(0)[0]); n > 0)
        add(Level::error, "states",
            (n == 1 ? "1 row says" : count_of(n, "row") + " say") + " both sent and not sent",
            "compare status and sent_at; no relay of ours writes them so");
    }
    co_return Result<void>();
  }

  async<Result<void>> lag() {
    Result<Status> now = co_await status(database_, shape_);
    if (!now) co_return std::move(now.error());
    std::string unknown;
    for (const auto& [state, count] : now->counts)
      if (std::ranges::find(outbox::states(), state) == outbox::states().end())
        unknown +=
            (unknown.empty() ? "" : ", ") + count_of(count, "row") + " in state '" + state + "'";
    if (unknown.empty())
      add(Level::ok, "states", "every row is in a state that we know");
    else
      add(Level::warning, "states", unknown + ": no relay sends them",
          shape_.status ? "add the value to dueValues, or leave it to its owner"
                        : "set status to due, sent, dead or parked");
    report_lag(*now);
    report_trouble(*now);
    report_holder(*now);
    co_return Result<void>();
  }

  void report_lag(const Status& now) {
    const int64_t due = now.count("due");
    if (due > 0 && live_ == 0)
      add(Level::error, "relays", rows_are(due) + " due and no relay holds a lease",
          "start `drom run` with the route that reads this outbox");
    if (due == 0) {
      add(Level::ok, "lag", "nothing is due");
      return;
    }
    const std::string oldest = now.oldest_due
                                   ? "the oldest due row is " + shown(*now.oldest_due) + " old"
                                   : rows_are(due) + " due";
    if (now.oldest_due && *now.oldest_due > limits_.oldest)
      add(Level::error, "lag", oldest + " (limit " + to_string(limits_.oldest) + ")",
          "look at the log of the relay: its target may be away, or too slow");
    else
      add(Level::ok, "lag", oldest);
  }

  void report_trouble(const Status& now) {
    if (const int64_t dead = now.count("dead"); dead > 0)
      add(Level::warning, "failures", rows_are(dead) + " dead",
          "`drom outbox list --state dead` says why; then retry, discard or purge them");
    if (const int64_t parked = now.count("parked"); parked > 0)
      add(Level::warning, "failures",
          rows_are(parked) + " parked, and later rows of their keys wait",
          "`drom outbox list --state parked` says why; then unpark or discard them");
  }

  void report_holder(const Status& now) {
    if (database_.dialect() != Dialect::postgres) return;
    if (!now.backlog.holder || now.backlog.holder->age < limits_.transaction) {
      add(Level::ok, "transactions", "no transaction has been open for long");
      return;
    }
    const Backlog::Holder& holder = *now.backlog.holder;
    add(Level::warning, "transactions",
        "process " + std::to_string(holder.pid) + " has had a transaction open for " +
            shown(holder.age) + " (" + holder.state + "): " + holder.query,
        "rows that were sent cannot be cleaned away until it ends; SELECT pg_terminate_backend(" +
            std::to_string(holder.pid) + ") ends it");
  }

  sql::Database& database_;
  TableShape shape_;
  SentPolicy sent_;
  VerifyLimits limits_;
  std::vector<Finding> findings_;
  int64_t live_ = 0;  // buckets under a lease that has not run out
};

}  // namespace

async<Result<std::vector<Finding>>> verify(sql::Database& database, TableShape shape,
                                           SentPolicy sent, VerifyLimits limits) {
  Verifier verifier(database, std::move(shape), sent, limits);
  Result<std::vector<Finding>> findings = co_await verifier.run();
  co_return findings;
}

}  // namespace drom::outbox
