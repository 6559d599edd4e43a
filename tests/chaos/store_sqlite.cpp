#include <sqlite3.h>

#include <stdexcept>

#include "chaos/store.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/base/json.hpp"

namespace drom::chaos {
namespace {

constexpr int kPatienceMs = 2000;

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(const std::string& file) {
    if (sqlite3_open(file.c_str(), &db_) != SQLITE_OK)
      throw std::runtime_error("cannot open " + file);
    sqlite3_busy_timeout(db_, kPatienceMs);
  }
  ~SqliteStore() override { sqlite3_close(db_); }

  void create_schema() override {
    const std::string ddl =
        "PRAGMA journal_mode = WAL;"
        "CREATE TABLE accounts (key TEXT PRIMARY KEY, n INTEGER NOT NULL);"
        "CREATE TABLE ledger (event TEXT PRIMARY KEY, tx TEXT NOT NULL, key TEXT NOT NULL, "
        "seq INTEGER NOT NULL, hash TEXT NOT NULL, poison TEXT NOT NULL);"
        "CREATE TABLE effects (event TEXT NOT NULL);" +
        outbox::outbox_ddl(sql::Dialect::sqlite, "outbox_chaos") +
        outbox::outbox_ddl(sql::Dialect::sqlite, "outbox_sends");
    if (!run(ddl)) throw std::runtime_error(sqlite3_errmsg(db_));
  }

  Intent::Outcome write(const NewTransaction& t) override {
    if (!run("BEGIN IMMEDIATE")) return Intent::Outcome::fail;
    for (const NewEvent& e : t.events) {
      if (add(t, e)) continue;
      run("ROLLBACK");
      return Intent::Outcome::fail;
    }
    if (t.roll_back) {
      run("ROLLBACK");
      return Intent::Outcome::fail;
    }
    if (run("COMMIT")) return Intent::Outcome::ok;
    const bool open = sqlite3_get_autocommit(db_) == 0;
    run("ROLLBACK");
    return open ? Intent::Outcome::fail : Intent::Outcome::info;
  }

  Progress progress() override {
    Progress out;
    Rows rows;
    if (!query("SELECT (SELECT count(*) FROM outbox_chaos WHERE status = 'due') + (SELECT count(*) "
               "FROM outbox_sends WHERE status = 'due'), (SELECT count(*) "
               "FROM outbox_chaos WHERE status = 'sent'), (SELECT count(*) FROM effects)",
               {}, &rows))
      return out;
    out.known = true;
    out.due = std::stoll(rows[0][0]);
    out.sent = std::stoll(rows[0][1]);
    out.effects = std::stoll(rows[0][2]);
    return out;
  }

  FinalState read() override {
    FinalState out;
    Rows rows;
    if (!query("SELECT l.tx, l.event, l.key, l.seq, l.hash, l.poison, coalesce(o.status, '') FROM "
               "ledger AS l LEFT JOIN outbox_chaos AS o ON o.event_id = l.event",
               {}, &rows) ||
        !query("SELECT '', event_id, key, 0, '', '', status FROM outbox_chaos WHERE event_id NOT "
               "IN (SELECT event FROM ledger)",
               {}, &rows))
      throw std::runtime_error(sqlite3_errmsg(db_));
    for (const auto& row : rows) out.events.push_back(truth_of(row));
    rows.clear();
    const std::string sends =
        kept_sends_query("json_extract(payload, '$.event')", "key", " LIMIT -1");
    if (!query(sends.c_str(), {}, &rows)) throw std::runtime_error(sqlite3_errmsg(db_));
    for (const auto& row : rows) out.sends.push_back(truth_of(row));
    rows.clear();
    if (!query("SELECT event FROM effects", {}, &rows))
      throw std::runtime_error(sqlite3_errmsg(db_));
    for (const auto& row : rows) out.effects.push_back({row[0]});
    rows.clear();
    if (!query("PRAGMA integrity_check", {}, &rows) || rows.at(0).at(0) != "ok")
      throw std::runtime_error("the SQLite file is damaged");
    return out;
  }

 private:
  using Rows = std::vector<std::vector<std::string>>;

  bool run(const std::string& text) {
    return sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  bool query(const char* text, const std::vector<std::string>& values, Rows* out) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, text, -1, &statement, nullptr) != SQLITE_OK) return false;
    for (size_t i = 0; i < values.size(); ++i)
      sqlite3_bind_text(statement, static_cast<int>(i + 1), values[i].c_str(),
                        static_cast<int>(values[i].size()), SQLITE_STATIC);
    int code = 0;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      if (!out) continue;
      std::vector<std::string> row;
      for (int c = 0; c < sqlite3_column_count(statement); ++c) {
        const auto* cell = reinterpret_cast<const char*>(sqlite3_column_text(statement, c));
        row.emplace_back(cell ? cell : "");
      }
      out->push_back(std::move(row));
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE;
  }

  bool add(const NewTransaction& t, const NewEvent& e) {
    Rows rows;
    if (!query("INSERT INTO accounts (key, n) VALUES ($1, 1) ON CONFLICT (key) DO UPDATE SET n = n "
               "+ 1 RETURNING n",
               {e.key}, &rows) ||
        rows.empty())
      return false;
    const std::string seq = rows[0][0];
    return query(
               "INSERT INTO ledger (event, tx, key, seq, hash, poison) VALUES ($1, $2, $3, $4, "
               "$5, $6)",
               {e.event, t.tx, e.key, seq, payload_hash(e.pad), e.poison ? "true" : "false"},
               nullptr) &&
           query(
               "INSERT INTO outbox_chaos (event_id, key, type, payload, headers) VALUES ($1, $2, "
               "'direct', $3, $4)",
               {e.event, e.key, payload(t, e), "{\"seq\": " + seq + "}"}, nullptr);
  }

  sqlite3* db_ = nullptr;
};

}  // namespace

std::unique_ptr<Store> open_sqlite(const std::string& file) {
  return std::make_unique<SqliteStore>(file);
}

Truth truth_of(const std::vector<std::string>& row) {
  Truth out;
  out.tx = row.at(0);
  out.event = row.at(1);
  out.key = row.at(2);
  out.seq = std::stoll(row.at(3));
  out.hash = row.at(4);
  out.business = !out.tx.empty();
  out.poison = row.at(5) == "true";
  out.status = row.at(6);
  return out;
}

std::string kept_sends_query(const std::string& event_of_payload, const std::string& key,
                             const std::string& apart) {
  const std::string kept = "(SELECT " + event_of_payload + " AS event, " + key +
                           " AS k, status FROM outbox_sends WHERE type LIKE 'webhook:%'" + apart +
                           ") AS s";
  return "SELECT l.tx, l.event, l." + key +
         ", l.seq, l.hash, l.poison, coalesce(s.status, '') FROM ledger AS l LEFT JOIN " + kept +
         " ON s.event = l.event WHERE l.tx NOT LIKE '%" + kDirect +
         "%' UNION ALL SELECT '', s.event, s.k, 0, '', '', s.status FROM " + kept +
         " WHERE s.event NOT IN (SELECT event FROM ledger)";
}

std::string payload(const NewTransaction& transaction, const NewEvent& event) {
  Object out;
  out.append("event", event.event);
  out.append("tx", transaction.tx);
  out.append("key", event.key);
  out.append("hash", payload_hash(event.pad));
  out.append("poison", event.poison ? "true" : "false");
  out.append("rollback", transaction.roll_back ? "true" : "false");
  out.append("pad", event.pad);
  return to_json(Value(std::move(out)));
}

}  // namespace drom::chaos
