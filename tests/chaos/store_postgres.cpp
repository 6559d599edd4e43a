#include <libpq-fe.h>

#include <stdexcept>

#include "chaos/store.hpp"
#include "connectors/outbox/cdc_slot.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"
#include "connectors/outbox/outbox_sql.hpp"

namespace drom::chaos {
namespace {

struct Clear {
  void operator()(PGresult* r) const { PQclear(r); }
};
using Answer = std::unique_ptr<PGresult, Clear>;

// What became of each event, whatever the mode.
constexpr const char* kView =
    "CREATE VIEW events AS SELECT event_id, key, status FROM outbox_chaos;";
// An event that comes to a relay a second time, as after a kill, may be held a second time.
constexpr const char* kHeldView = R"(
CREATE VIEW held AS SELECT event_id, CASE WHEN bool_or(status = 'due') THEN 'due' ELSE max(status) END
  AS status FROM outbox_chaos GROUP BY event_id;
)";
// In log mode: behind the checkpoint, or on hold. The log is not rotated so soon.
constexpr const char* kLogView = R"(
CREATE VIEW events AS SELECT l.event_id, l.key, coalesce(h.status,
    CASE WHEN pg_visible_in_snapshot(l.xid, m.s1::pg_snapshot)
      OR (m.s2 IS NOT NULL AND l.id <= m.last_id
        AND pg_visible_in_snapshot(l.xid, m.s2::pg_snapshot)) THEN 'sent' ELSE 'due' END) AS status
  FROM outbox_chaos_log AS l LEFT JOIN held AS h ON h.event_id = l.event_id,
    LATERAL (SELECT coalesce(max(s1), '3:3:') AS s1, max(s2) AS s2, max(last_id) AS last_id FROM
      (SELECT * FROM outbox_chaos_log_mark ORDER BY serial DESC LIMIT 1) AS x) AS m;
)";

// Events without rows: those that had their effect, or are on hold.
constexpr const char* kTablelessView = R"(
CREATE VIEW events AS SELECT l.event AS event_id, l.key, coalesce(h.status,
    CASE WHEN e.event IS NULL THEN 'due' ELSE 'sent' END) AS status
  FROM ledger AS l LEFT JOIN held AS h ON h.event_id = l.event
    LEFT JOIN effects AS e ON e.event = l.event;
)";

// What any program may write: event id, key, payload, headers.
const char* insert_statement(const std::string& mode) {
  if (mode == "claim")
    return "INSERT INTO outbox_chaos (event_id, key, type, payload, headers) VALUES ($1, $2, "
           "'direct', $3, $4)";
  if (mode == "tableless")
    return "SELECT pg_logical_emit_message(true, 'drom.outbox_chaos', "
           "json_build_object('event_id', "
           "$1::text, 'key', $2::text, 'type', 'direct', 'payload', $3::text, 'headers', "
           "$4::json)::text)";
  return "INSERT INTO outbox_chaos_log (event_id, key, type, payload, headers) VALUES ($1, $2, "
         "'direct', $3, $4)";
}

class PostgresStore final : public Store {
 public:
  PostgresStore(std::string conninfo, std::string mode)
      : conninfo_(std::move(conninfo)), mode_(std::move(mode)), insert_(insert_statement(mode_)) {}
  ~PostgresStore() override { PQfinish(connection_); }

  void create_schema() override {
    const std::string ddl =
        "CREATE TABLE accounts (key text PRIMARY KEY, n bigint NOT NULL);"
        "CREATE TABLE ledger (event text PRIMARY KEY, tx text NOT NULL, key text NOT NULL, "
        "seq bigint NOT NULL, hash text NOT NULL, poison text NOT NULL);"
        "CREATE TABLE effects (event text NOT NULL);" +
        outbox::outbox_ddl(sql::Dialect::postgres, "outbox_chaos") +
        outbox::outbox_ddl(sql::Dialect::postgres, "outbox_sends") +
        (mode_ == "claim" ? std::string() : outbox::log_ddl("outbox_chaos")) +
        (mode_ == "tableless" ? outbox::cdc_ddl("outbox_chaos", "drom_outbox_chaos") : "") +
        (mode_ == "claim" ? "" : kHeldView) +
        (mode_ == "claim"       ? kView
         : mode_ == "tableless" ? kTablelessView
                                : kLogView);
    if (!connect() || !run(ddl.c_str())) throw std::runtime_error(trouble());
    // Nobody is told of what is written before there is a slot.
    if (mode_ == "tableless" &&
        !run("SELECT pg_create_logical_replication_slot('drom_' || current_database() || "
             "'_outbox_chaos', 'pgoutput')"))
      throw std::runtime_error(trouble());
  }

  Intent::Outcome write(const NewTransaction& t) override {
    if (!connect() || !run("BEGIN")) return Intent::Outcome::fail;
    for (const NewEvent& e : t.events) {
      if (add(t, e)) continue;
      run("ROLLBACK");
      return Intent::Outcome::fail;
    }
    if (t.roll_back) {
      run("ROLLBACK");
      return Intent::Outcome::fail;
    }
    const Answer done(PQexec(connection_, "COMMIT"));
    if (PQresultStatus(done.get()) == PGRES_COMMAND_OK)
      return std::string_view(PQcmdStatus(done.get())) == "COMMIT" ? Intent::Outcome::ok
                                                                   : Intent::Outcome::fail;
    return Intent::Outcome::info;
  }

  Progress progress() override {
    Progress out;
    if (!connect()) return out;
    const Answer rows(
        PQexec(connection_,
               "SELECT (SELECT count(*) FROM events WHERE status = 'due') + (SELECT count(*) FROM "
               "outbox_sends WHERE status = 'due'), (SELECT count(*) "
               "FROM events WHERE status = 'sent'), (SELECT count(*) FROM effects)"));
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) return out;
    out.known = true;
    out.due = number(rows.get(), 0);
    out.sent = number(rows.get(), 1);
    out.effects = number(rows.get(), 2);
    return out;
  }

  FinalState read() override {
    if (!connect()) throw std::runtime_error(trouble());
    FinalState out;
    for (const auto& row : rows_of(
             "SELECT coalesce(l.tx, ''), coalesce(l.event, o.event_id), coalesce(l.key, o.key), "
             "coalesce(l.seq, 0), coalesce(l.hash, ''), coalesce(l.poison, ''), coalesce(o.status, "
             "'') FROM ledger AS l FULL JOIN events AS o ON o.event_id = l.event"))
      out.events.push_back(truth_of(row));
    for (const auto& row : rows_of(kept_sends_query("payload::json->>'event'", "key")))
      out.sends.push_back(truth_of(row));
    for (const auto& row : rows_of("SELECT event FROM effects")) out.effects.push_back({row[0]});
    return out;
  }

 private:
  bool connect() {
    if (connection_ && PQstatus(connection_) == CONNECTION_OK &&
        PQtransactionStatus(connection_) == PQTRANS_IDLE)
      return true;
    PQfinish(connection_);
    connection_ = PQconnectdb((conninfo_ + " connect_timeout=5").c_str());
    return PQstatus(connection_) == CONNECTION_OK;
  }
  std::string trouble() const { return PQerrorMessage(connection_); }
  static int64_t number(const PGresult* rows, int column) {
    return std::stoll(PQgetvalue(rows, 0, column));
  }

  std::vector<std::vector<std::string>> rows_of(const std::string& text) {
    const Answer rows(PQexec(connection_, text.c_str()));
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) throw std::runtime_error(trouble());
    std::vector<std::vector<std::string>> out;
    for (int r = 0; r < PQntuples(rows.get()); ++r) {
      std::vector<std::string>& row = out.emplace_back();
      for (int c = 0; c < PQnfields(rows.get()); ++c)
        row.emplace_back(PQgetvalue(rows.get(), r, c));
    }
    return out;
  }

  bool run(const char* text) {
    const Answer done(PQexec(connection_, text));
    const auto status = PQresultStatus(done.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }

  Answer query(const char* text, const std::vector<std::string>& values) {
    std::vector<const char*> pointers;
    for (const std::string& value : values) pointers.push_back(value.c_str());
    return Answer(PQexecParams(connection_, text, static_cast<int>(pointers.size()), nullptr,
                               pointers.data(), nullptr, nullptr, 0));
  }

  bool add(const NewTransaction& t, const NewEvent& e) {
    const Answer rows = query(
        "INSERT INTO accounts AS a (key, n) VALUES ($1, 1) ON CONFLICT (key) DO UPDATE SET n "
        "= a.n + 1 RETURNING n",
        {e.key});
    if (PQresultStatus(rows.get()) != PGRES_TUPLES_OK) return false;
    const std::string seq = PQgetvalue(rows.get(), 0, 0);
    const Answer ledger = query(
        "INSERT INTO ledger (event, tx, key, seq, hash, poison) VALUES ($1, $2, $3, $4, $5, $6)",
        {e.event, t.tx, e.key, seq, payload_hash(e.pad), e.poison ? "true" : "false"});
    if (PQresultStatus(ledger.get()) != PGRES_COMMAND_OK) return false;
    const Answer outbox = query(insert_, {e.event, e.key, payload(t, e), "{\"seq\": " + seq + "}"});
    const ExecStatusType status = PQresultStatus(outbox.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }

  std::string conninfo_;
  std::string mode_;
  const char* insert_;
  PGconn* connection_ = nullptr;
};

}  // namespace

std::unique_ptr<Store> open_postgres(const std::string& conninfo, const std::string& mode) {
  return std::make_unique<PostgresStore>(conninfo, mode);
}

bool terminate_backends(const std::string& conninfo, int count) {
  PGconn* connection = PQconnectdb((conninfo + " connect_timeout=5").c_str());
  const std::string text =
      "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE datname = "
      "current_database() AND pid <> pg_backend_pid() AND application_name = 'engine' ORDER BY "
      "random() LIMIT " +
      std::to_string(count) + ") AS some";
  const Answer done(PQexec(connection, text.c_str()));
  const bool fine = PQresultStatus(done.get()) == PGRES_TUPLES_OK;
  PQfinish(connection);
  return fine;
}

}  // namespace drom::chaos
