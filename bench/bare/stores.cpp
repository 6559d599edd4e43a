#include "bare/stores.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "connectors/outbox/outbox_sql.hpp"

namespace drom::bench {
namespace {

constexpr size_t kKeys = 10'000;
constexpr size_t kPayload = 200;

std::string environment(const char* name, const char* fallback) {
  const char* const value = std::getenv(name);
  return value ? value : fallback;
}

}  // namespace

void check(bool ok, const std::string& what, const std::string& detail) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), detail.c_str());
  std::exit(1);
}

int64_t BareDatabase::number(const std::string& query) {
  const std::vector<int64_t> rows = run({{query, {}}}, false);
  check(rows.size() == 1, query, "no row");
  return rows.front();
}

Stores::Stores() {
  folder_ = std::filesystem::temp_directory_path() / ("drom-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder_);
  const std::string file = (folder_ / "bench.db").string();
  add({"SQLite", "drom.sqlite", "file", file, [file] { return open_bare_sqlite(file); }});
#ifdef DROM_POSTGRES
  if (const std::string url = environment("DROM_TEST_POSTGRES", ""); !url.empty())
    add({"PostgreSQL", "drom.postgres", "url", url, [url] { return open_bare_postgres(url); }});
#endif
#ifdef DROM_MYSQL
  if (const std::string url = environment("DROM_TEST_MARIADB", ""); !url.empty()) {
    const std::string own = url + "drom_bench";
    open_bare_mysql(url + "mysql")->script("CREATE DATABASE IF NOT EXISTS drom_bench");
    add({"MariaDB", "drom.mysql", "url", own + "?sslmode=disable",
         [own] { return open_bare_mysql(own); }});
  }
#endif
}

Stores::~Stores() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Stores::add(StorePlace place) {
  std::string wanted = environment("DROM_BENCH_STORES", "sqlite postgresql mariadb");
  std::string name = place.name;
  for (std::string* text : {&wanted, &name})
    std::ranges::transform(*text, text->begin(), [](unsigned char c) { return std::tolower(c); });
  if (wanted.find(name) != std::string::npos) all_.push_back(std::move(place));
}

size_t scaled(size_t promised) {
  const double scale = std::atof(environment("DROM_BENCH_SCALE", "1").c_str());
  return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(promised) * scale));
}

size_t rounds() {
  return std::max<size_t>(1,
                          std::strtoul(environment("DROM_BENCH_ROUNDS", "3").c_str(), nullptr, 10));
}

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  if (values.empty()) return 0;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void fill_outbox(BareDatabase& db, const std::string& table, size_t rows) {
  const sql::Dialect dialect = db.dialect();
  const bool mysql = dialect == sql::Dialect::mysql;
  db.script("DROP TABLE IF EXISTS " + table);
  db.script(outbox::outbox_ddl(dialect, table));
  db.script("DELETE FROM drom_lease");
  if (rows == 0) return;
  const std::string count = std::to_string(rows);
  const std::string key = "i % " + std::to_string(kKeys);
  const std::string values = ", 'order.created', '" + std::string(kPayload, 'x') +
                             "', '{\"content-type\":\"application/json\"}'";
  const std::string columns =
      mysql ? " (`key`, type, payload, headers) " : " (key, type, payload, headers) ";
  std::string select;
  switch (dialect) {
    case sql::Dialect::sqlite:
      select = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + count +
               ") SELECT 'key' || " + key + values + " FROM n";
      break;
    case sql::Dialect::postgres:
      select = "SELECT 'key' || " + key + values + " FROM generate_series(1, " + count + ") AS i";
      break;
    case sql::Dialect::mysql:
      select = "SELECT concat('key', seq % " + std::to_string(kKeys) + ")" + values +
               " FROM seq_1_to_" + count;
      break;
  }
  db.script("INSERT INTO " + table + columns + select);
  if (dialect == sql::Dialect::sqlite) db.script("PRAGMA wal_checkpoint(TRUNCATE)");
  if (mysql) db.script("ANALYZE TABLE " + table);
  if (dialect != sql::Dialect::postgres) return;
  db.script("VACUUM ANALYZE " + table);
  db.script("CHECKPOINT");
}

bool Race::report(const std::string& what, const char* unit, double promise) const {
  std::vector<double> ratios;
  for (size_t i = 0; i < bare.size(); ++i) ratios.push_back(engine[i] / bare[i]);
  const double ratio = median(ratios);
  std::printf("%-22s engine %8.0f %s   bare %8.0f %s   ratio %.2f (%.2f to %.2f; promise %.2f)%s\n",
              what.c_str(), median(engine), unit, median(bare), unit, ratio,
              *std::ranges::min_element(ratios), *std::ranges::max_element(ratios), promise,
              ratio >= promise ? "" : "  MISSED");
  std::fflush(stdout);
  return ratio >= promise;
}

}  // namespace drom::bench
