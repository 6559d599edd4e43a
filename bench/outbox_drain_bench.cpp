// How fast a relay drains a backlog into an in-process sink, against a bare loop of the very same
// statements on the database's C library, in the same run. Promise: at least 60 % of the bare loop.
//   DROM_TEST_POSTGRES=conninfo bench/... measures PostgreSQL too.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "connectors/outbox/outbox_sql.hpp"
#include "drom/app.hpp"
#include "drom/drom.hpp"
#ifdef DROM_POSTGRES
#include <libpq-fe.h>
#endif

namespace {

using namespace drom;

constexpr int kRows = 100'000;
constexpr int kBatch = 512;
constexpr double kPromise = 0.6;
const std::string kTable = "outbox_bench";
const std::string kPayload(200, 'x');

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check(bool ok, const char* what, const char* detail = "") {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", what, detail);
  std::exit(1);
}

// The bare loop, given a way to run one transaction of mark and read that returns the ids read.
template <class Trip>
double drain_bare(Trip trip) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<int64_t> ids;
  int total = 0;
  do {
    ids = trip(ids);
    total += static_cast<int>(ids.size());
  } while (!ids.empty());
  check(total == kRows, "the bare loop has not seen all rows");
  return kRows / seconds_since(start);
}

double drain_with_relay(const std::string& type, Named bean) {
  EngineOptions options;
  Engine engine(std::move(options));
  register_builtin(engine.registry());
  Routes routes;
  int seen = 0;
  routes.bean("db", type, bean);
  routes.from("outbox:bench").process([&seen](Exchange&) { ++seen; });
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render().c_str());
  const auto start = std::chrono::steady_clock::now();
  Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what.c_str());
  engine.drive_until([&seen] { return seen >= kRows; }, std::chrono::minutes(5));
  engine.stop_now();  // the last marks
  check(seen == kRows, "the relay has not delivered every row once");
  return kRows / seconds_since(start);
}

bool report(const char* name, double relay, double bare) {
  std::printf("%-10s relay %8.0f rows/s   bare %8.0f rows/s   ratio %.2f (promise %.2f)\n", name,
              relay, bare, relay / bare, kPromise);
  return relay / bare >= kPromise;
}

// --- SQLite -------------------------------------------------------------------------------------

class SqliteLoop {
 public:
  explicit SqliteLoop(const std::string& file) : statements_(make()) {
    check(sqlite3_open(file.c_str(), &db_) == SQLITE_OK, "open", file.c_str());
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
  }
  ~SqliteLoop() {
    sqlite3_finalize(mark_);
    sqlite3_finalize(read_);
    sqlite3_close(db_);
  }
  void run(const std::string& text) {
    char* failure = nullptr;
    check(sqlite3_exec(db_, text.c_str(), nullptr, nullptr, &failure) == SQLITE_OK, text.c_str(),
          failure);
  }
  void fill() {
    run("DROP TABLE IF EXISTS " + kTable);
    run(outbox::outbox_ddl(sql::Dialect::sqlite, kTable));
    run("DELETE FROM drom_lease");
    run("INSERT INTO " + kTable +
        " (key, type, payload, headers) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        "SELECT i + 1 FROM n WHERE i < " +
        std::to_string(kRows) + ") SELECT 'key' || i % 10000, 'order.created', '" + kPayload +
        "', '{\"content-type\":\"application/json\"}' FROM n");
    run("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  std::vector<int64_t> trip(const std::vector<int64_t>& done) {
    prepare();
    run("BEGIN IMMEDIATE");
    if (!done.empty()) {
      const std::string list = outbox::id_list(sql::Dialect::sqlite, done);
      bind(mark_, 1, list);
      bind(mark_, 2, kTable);
      bind(mark_, 3, "me");
      sqlite3_bind_int64(mark_, 4, 7);
      check(sqlite3_step(mark_) == SQLITE_DONE, "mark", sqlite3_errmsg(db_));
      sqlite3_reset(mark_);
    }
    bind(read_, 1, "[]");
    bind(read_, 2, "[]");
    sqlite3_bind_int(read_, 3, kBatch);
    std::vector<int64_t> ids;
    while (sqlite3_step(read_) == SQLITE_ROW) {
      ids.push_back(sqlite3_column_int64(read_, 0));
      for (int c = 1; c < sqlite3_column_count(read_); ++c)
        bytes_ += static_cast<size_t>(sqlite3_column_bytes(read_, c));
    }
    sqlite3_reset(read_);
    run("COMMIT");
    return ids;
  }
  void own_all() {
    run("INSERT INTO drom_lease SELECT '" + kTable +
        "', value, 'me', 7, '9999-01-01' FROM json_each('[" +
        [] {
          std::string all = "0";
          for (int b = 1; b < 64; ++b) all += "," + std::to_string(b);
          return all;
        }() +
        "]')");
  }

 private:
  static outbox::Statements make() {
    return outbox::make_statements(sql::Dialect::sqlite, kTable, outbox::SentPolicy::mark);
  }
  void prepare() {
    if (mark_) return;
    check(sqlite3_prepare_v2(db_, statements_.mark_sent.c_str(), -1, &mark_, nullptr) == SQLITE_OK,
          "prepare");
    check(sqlite3_prepare_v2(db_, statements_.read_all.c_str(), -1, &read_, nullptr) == SQLITE_OK,
          "prepare");
  }
  static void bind(sqlite3_stmt* statement, int at, const std::string& text) {
    sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  outbox::Statements statements_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* mark_ = nullptr;
  sqlite3_stmt* read_ = nullptr;
  size_t bytes_ = 0;
};

bool bench_sqlite() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "drom-outbox-bench";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "bench.db").string();
  double bare = 0, relay = 0;
  for (int round = 0; round < 2; ++round) {
    {
      SqliteLoop loop(file);
      loop.fill();
      loop.own_all();
      bare = std::max(bare, drain_bare([&](const auto& done) { return loop.trip(done); }));
      loop.fill();
    }
    relay = std::max(relay, drain_with_relay("drom.sqlite", {{"file", file}}));
  }
  std::filesystem::remove_all(folder);
  return report("SQLite", relay, bare);
}

// --- PostgreSQL ---------------------------------------------------------------------------------
#ifdef DROM_POSTGRES

class PostgresLoop {
 public:
  explicit PostgresLoop(const char* conninfo)
      : db_(PQconnectdb(conninfo)),
        statements_(
            outbox::make_statements(sql::Dialect::postgres, kTable, outbox::SentPolicy::mark)) {
    check(PQstatus(db_) == CONNECTION_OK, "connect", PQerrorMessage(db_));
  }
  ~PostgresLoop() { PQfinish(db_); }
  void run(const std::string& text) {
    PGresult* result = PQexec(db_, text.c_str());
    const ExecStatusType status = PQresultStatus(result);
    check(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, text.c_str(),
          PQerrorMessage(db_));
    PQclear(result);
  }
  void fill() {
    run("DROP TABLE IF EXISTS " + kTable);
    run(outbox::outbox_ddl(sql::Dialect::postgres, kTable));
    run("DELETE FROM drom_lease");
    run("INSERT INTO " + kTable +
        " (key, type, payload, headers) SELECT 'key' || i % 10000, 'order.created', '" + kPayload +
        "', '{\"content-type\":\"application/json\"}' FROM generate_series(1, " +
        std::to_string(kRows) + ") AS i");
    run("VACUUM ANALYZE " + kTable);
    run("CHECKPOINT");
  }
  void own_all() {
    run("INSERT INTO drom_lease SELECT '" + kTable +
        "', b, 'me', 7, now() + interval '1 day' "
        "FROM generate_series(0, 63) AS b");
    for (const auto& [name, text] :
         {std::pair("mark", &statements_.mark_sent), std::pair("read", &statements_.read_all),
          std::pair("before", &statements_.before_read)})
      PQclear(PQprepare(db_, name, text->c_str(), 0, nullptr));
  }
  std::vector<int64_t> trip(const std::vector<int64_t>& done) {
    run("BEGIN");
    if (!done.empty()) {
      const std::string list = outbox::id_list(sql::Dialect::postgres, done);
      const char* values[] = {list.c_str(), kTable.c_str(), "me", "7"};
      PQclear(execute("mark", 4, values));
    }
    PQclear(execute("before", 0, nullptr));
    const std::string limit = std::to_string(kBatch);
    const char* values[] = {"{}", "[]", limit.c_str()};
    PGresult* rows = execute("read", 3, values);
    std::vector<int64_t> ids;
    for (int i = 0; i < PQntuples(rows); ++i)
      ids.push_back(std::strtoll(PQgetvalue(rows, i, 0), nullptr, 10));
    PQclear(rows);
    run("COMMIT");
    return ids;
  }

 private:
  PGresult* execute(const char* name, int count, const char* const* values) {
    PGresult* result = PQexecPrepared(db_, name, count, values, nullptr, nullptr, 0);
    const ExecStatusType status = PQresultStatus(result);
    check(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, name, PQerrorMessage(db_));
    return result;
  }
  PGconn* db_;
  outbox::Statements statements_;
};

bool bench_postgres(const char* conninfo) {
  double bare = 0, relay = 0;
  PostgresLoop loop(conninfo);
  for (int round = 0; round < 2; ++round) {
    loop.fill();
    PostgresLoop fresh(conninfo);
    fresh.own_all();
    bare = std::max(bare, drain_bare([&](const auto& done) { return fresh.trip(done); }));
    loop.fill();
    relay = std::max(relay, drain_with_relay("drom.postgres", {{"url", conninfo}}));
  }
  loop.run("DROP TABLE " + kTable);
  return report("PostgreSQL", relay, bare);
}
#endif

}  // namespace

int main() {
  bool kept = bench_sqlite();
#ifdef DROM_POSTGRES
  if (const char* conninfo = std::getenv("DROM_TEST_POSTGRES")) {
    const bool postgres = bench_postgres(conninfo);
    kept = kept && postgres;
  } else {
    std::puts("PostgreSQL skipped: DROM_TEST_POSTGRES is not set");
  }
#endif
  return kept ? 0 : 1;
}
