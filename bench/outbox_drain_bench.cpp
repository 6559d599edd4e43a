// How fast a relay drains a backlog of 500,000 rows with 10,000 keys, in the order of the keys,
// into a step that only counts, against a bare loop of the very same claims and marks. Promises: 70
// % of the bare loop on PostgreSQL, 60 % on MariaDB and SQLite.
#include "bare/stores.hpp"
#include "connectors/outbox/outbox_sql.hpp"

namespace drom::bench {
namespace {

constexpr int64_t kBatch = 512;  // the relay's default
const std::string kTable = "outbox_bench";

// All buckets, as the relay holds them, so that marks have the same leases to look at.
void own_all(BareDatabase& db) {
  std::string values;
  for (int bucket = 0; bucket < 64; ++bucket)
    values += (bucket ? ", ('" : "('") + kTable + "', " + std::to_string(bucket) +
              ", 'me', 7, '2100-01-01 00:00:00')";
  db.script("INSERT INTO drom_lease (resource, bucket, owner, token, expires_at) VALUES " + values);
}

double drain_bare(BareDatabase& db, size_t rows) {
  const outbox::Statements sql =
      outbox::make_statements(db.dialect(), kTable, outbox::SentPolicy::mark);
  const bool together = db.dialect() != sql::Dialect::mysql;
  const std::string none = outbox::id_list(db.dialect(), {});
  const auto start = std::chrono::steady_clock::now();
  std::vector<int64_t> ids;
  size_t total = 0;
  do {
    std::vector<Command> trip;
    if (!ids.empty())
      trip.push_back({sql.mark_sent,
                      {outbox::id_list(db.dialect(), ids), kTable, std::string("me"), int64_t{7}}});
    if (!sql.before_read.empty()) trip.push_back({sql.before_read, {}});
    trip.push_back({sql.read_all, {none, std::string("[]"), kBatch}});
    ids = db.run(trip, together);
    total += ids.size();
  } while (!ids.empty());
  check(total == rows, "the bare loop has not seen all rows");
  return static_cast<double>(rows) / seconds_since(start);
}

double drain_with_relay(const StorePlace& place, size_t rows) {
  Engine engine;
  register_builtin(engine.registry());
  Routes routes;
  size_t seen = 0;
  routes.bean("db", place.bean_type, {{place.option, place.value}});
  routes.from("outbox:bench").process([&seen](Exchange&) { ++seen; });
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render());
  const auto start = std::chrono::steady_clock::now();
  const Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what);
  engine.drive_until([&seen, rows] { return seen >= rows; }, std::chrono::minutes(30));
  engine.stop_now();  // the last marks
  check(seen == rows, "the relay has not delivered every row once");
  return static_cast<double>(rows) / seconds_since(start);
}

void check_all_sent(BareDatabase& db, size_t rows) {
  const int64_t sent = db.number("SELECT count(*) FROM " + kTable + " WHERE status = 'sent'");
  check(sent == static_cast<int64_t>(rows), "not all rows are marked", std::to_string(sent));
}

bool bench(const StorePlace& place) {
  const size_t rows = scaled(500'000);
  Race race;
  for (size_t round = 0; round < rounds(); ++round) {
    {
      const auto db = place.open();
      fill_outbox(*db, kTable, rows);
      own_all(*db);
      race.bare.push_back(drain_bare(*db, rows));
      check_all_sent(*db, rows);
      fill_outbox(*db, kTable, rows);
    }
    race.engine.push_back(drain_with_relay(place, rows));
    check_all_sent(*place.open(), rows);
  }
  place.open()->script("DROP TABLE " + kTable);
  const double promise = place.name == "PostgreSQL" ? 0.7 : 0.6;
  return race.report("drain " + place.name, "rows/s", promise);
}

}  // namespace
}  // namespace drom::bench

int main() {
  const drom::bench::Stores stores;
  bool kept = true;
  for (const auto& place : stores.all()) kept = drom::bench::bench(place) && kept;
  return kept ? 0 : 1;
}
