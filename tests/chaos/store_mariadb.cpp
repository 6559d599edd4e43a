#include <mariadb/mysql.h>

#include <stdexcept>

#include "chaos/store.hpp"
#include "connectors/outbox/outbox_sql.hpp"

namespace drom::chaos {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// One session of root on a server on this machine.
class Session {
 public:
  explicit Session(uint16_t port) : port_(port) {}
  ~Session() { close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool open(const char* database) {
    if (handle_ && fine_) return true;
    close();
    handle_ = mysql_init(nullptr);
    const unsigned seconds = 5;
    mysql_options(handle_, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_options(handle_, MYSQL_OPT_READ_TIMEOUT, &seconds);
    mysql_options(handle_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    fine_ = mysql_real_connect(handle_, "127.0.0.1", "root", nullptr, database, port_, nullptr,
                               CLIENT_MULTI_STATEMENTS) != nullptr &&
            run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION "
                "innodb_lock_wait_timeout = 2");
    return fine_;
  }
  void close() {
    if (handle_) mysql_close(handle_);
    handle_ = nullptr;
  }
  // All results are read; `out` gets the rows of the last one. A failed statement ends the session.
  bool run(const std::string& text, Rows* out = nullptr) {
    fine_ = mysql_real_query(handle_, text.data(), text.size()) == 0;
    while (fine_) {
      if (MYSQL_RES* const rows = mysql_store_result(handle_)) {
        if (out) take(rows, *out);
        mysql_free_result(rows);
      } else if (mysql_errno(handle_) != 0) {
        fine_ = false;
        break;
      }
      const int more = mysql_next_result(handle_);
      if (more > 0) fine_ = false;
      if (more != 0) break;
    }
    return fine_;
  }
  void spoil() { fine_ = false; }
  std::string quoted(const std::string& text) {
    std::string out(2 * text.size() + 1, '\0');
    out.resize(mysql_real_escape_string(handle_, out.data(), text.data(), text.size()));
    return "'" + out + "'";
  }
  std::string trouble() const { return handle_ ? mysql_error(handle_) : "no session"; }

 private:
  static void take(MYSQL_RES* rows, Rows& out) {
    out.clear();
    const unsigned columns = mysql_num_fields(rows);
    while (const MYSQL_ROW row = mysql_fetch_row(rows)) {
      const unsigned long* const sizes = mysql_fetch_lengths(rows);
      std::vector<std::string>& cells = out.emplace_back();
      for (unsigned c = 0; c < columns; ++c)
        cells.push_back(row[c] ? std::string(row[c], sizes[c]) : std::string());
    }
  }

  uint16_t port_;
  MYSQL* handle_ = nullptr;
  bool fine_ = false;
};

class MariadbStore final : public Store {
 public:
  explicit MariadbStore(uint16_t port) : session_(port) {}

  void create_schema() override {
    const std::string ddl =
        "CREATE DATABASE chaos CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE chaos;"
        "CREATE USER engine@'127.0.0.1'; GRANT ALL ON chaos.* TO engine@'127.0.0.1';"
        "CREATE TABLE accounts (`key` varchar(100) PRIMARY KEY, n bigint NOT NULL);"
        "CREATE TABLE ledger (event varchar(100) PRIMARY KEY, tx varchar(100) NOT NULL, "
        "`key` varchar(100) NOT NULL, seq bigint NOT NULL, hash varchar(100) NOT NULL, "
        "poison varchar(5) NOT NULL);"
        "CREATE TABLE effects (event varchar(100) NOT NULL);" +
        outbox::outbox_ddl(sql::Dialect::mysql, "outbox_chaos") +
        outbox::outbox_ddl(sql::Dialect::mysql, "outbox_sends");
    if (!session_.open(nullptr) || !session_.run(ddl)) throw std::runtime_error(session_.trouble());
    session_.close();
  }

  Intent::Outcome write(const NewTransaction& t) override {
    if (!session_.open("chaos") || !session_.run("START TRANSACTION")) return Intent::Outcome::fail;
    for (const NewEvent& e : t.events) {
      if (add(t, e)) continue;
      session_.run("ROLLBACK");
      session_.spoil();
      return Intent::Outcome::fail;
    }
    if (t.roll_back) {
      session_.run("ROLLBACK");
      return Intent::Outcome::fail;
    }
    return session_.run("COMMIT") ? Intent::Outcome::ok : Intent::Outcome::info;
  }

  Progress progress() override {
    Progress out;
    Rows rows;
    if (!session_.open("chaos") ||
        !session_.run("SELECT (SELECT count(*) FROM outbox_chaos WHERE status = 'due') + (SELECT "
                      "count(*) FROM outbox_sends WHERE status = 'due'), (SELECT count(*) FROM "
                      "outbox_chaos WHERE status = 'sent'), (SELECT count(*) FROM "
                      "effects)",
                      &rows))
      return out;
    out.known = true;
    out.due = std::stoll(rows.at(0).at(0));
    out.sent = std::stoll(rows.at(0).at(1));
    out.effects = std::stoll(rows.at(0).at(2));
    return out;
  }

  FinalState read() override {
    FinalState out;
    Rows rows;
    if (!session_.open("chaos") ||
        !session_.run(
            "SELECT l.tx, l.event, l.key, l.seq, l.hash, l.poison, coalesce(o.status, '') "
            "FROM ledger AS l LEFT JOIN outbox_chaos AS o ON o.event_id = l.event UNION "
            "ALL SELECT '', o.event_id, o.key, 0, '', '', o.status FROM outbox_chaos AS o "
            "WHERE o.event_id NOT IN (SELECT event FROM ledger)",
            &rows))
      throw std::runtime_error(session_.trouble());
    for (const auto& row : rows) out.events.push_back(truth_of(row));
    if (!session_.run(kept_sends_query("json_value(payload, '$.event')", "`key`"), &rows))
      throw std::runtime_error(session_.trouble());
    for (const auto& row : rows) out.sends.push_back(truth_of(row));
    if (!session_.run("SELECT event FROM effects", &rows))
      throw std::runtime_error(session_.trouble());
    for (const auto& row : rows) out.effects.push_back({row[0]});
    return out;
  }

 private:
  bool add(const NewTransaction& t, const NewEvent& e) {
    const auto q = [&](const std::string& text) { return session_.quoted(text); };
    Rows rows;
    if (!session_.run("INSERT INTO accounts (`key`, n) VALUES (" + q(e.key) +
                          ", 1) ON DUPLICATE KEY UPDATE n = n + 1; SELECT n FROM accounts WHERE "
                          "`key` = " +
                          q(e.key),
                      &rows) ||
        rows.empty())
      return false;
    const std::string seq = rows[0][0];
    return session_.run("INSERT INTO ledger (event, tx, `key`, seq, hash, poison) VALUES (" +
                        q(e.event) + ", " + q(t.tx) + ", " + q(e.key) + ", " + seq + ", " +
                        q(payload_hash(e.pad)) + ", " + q(e.poison ? "true" : "false") + ")") &&
           session_.run(
               "INSERT INTO outbox_chaos (event_id, `key`, type, payload, headers) VALUES (" +
               q(e.event) + ", " + q(e.key) + ", 'direct', " + q(payload(t, e)) + ", " +
               q("{\"seq\": " + seq + "}") + ")");
  }

  Session session_;
};

}  // namespace

std::unique_ptr<Store> open_mariadb(uint16_t port) { return std::make_unique<MariadbStore>(port); }

bool kill_sessions(uint16_t port, int count) {
  Session session(port);
  Rows rows;
  if (!session.open(nullptr) ||
      !session.run("SELECT id FROM information_schema.processlist WHERE user = 'engine' ORDER BY "
                   "rand() LIMIT " +
                       std::to_string(count),
                   &rows))
    return false;
  for (const auto& row : rows) session.run("KILL CONNECTION " + row[0]);
  return true;
}

}  // namespace drom::chaos
