// What senders feel of the janitor: 1,000,000 sent rows that are older than their retention, a
// relay with sentRetention=0 (no janitor) and one with 1d in turn, and beside it two connections
// that insert 400 transactions a second. Prints the p50 and p99 of their transactions. Promise:
// with the janitor the p50 is at most a quarter longer, the p99 at most doubled.
#include <algorithm>
#include <atomic>
#include <thread>

#include "bare/stores.hpp"

namespace drom::bench {
namespace {

constexpr size_t kSenders = 2;
constexpr size_t kPerSecond = 200;  // transactions of each
const std::string kTable = "outbox_bench";

void age(BareDatabase& db) {
  const char* past = "";
  switch (db.dialect()) {
    case sql::Dialect::sqlite: past = "'2020-01-01T00:00:00.000Z'"; break;
    case sql::Dialect::postgres: past = "'2020-01-01 00:00:00+00'"; break;
    case sql::Dialect::mysql: past = "'2020-01-01 00:00:00'"; break;
  }
  db.script("UPDATE " + kTable + " SET status = 'sent', sent_at = " + past);
  if (db.dialect() == sql::Dialect::sqlite) db.script("PRAGMA wal_checkpoint(TRUNCATE)");
  if (db.dialect() != sql::Dialect::postgres) return;
  db.script("VACUUM ANALYZE " + kTable);
  db.script("CHECKPOINT");
}

// One sender's transactions, in ms.
std::vector<double> send(const StorePlace& place, double seconds) {
  const auto db = place.open();
  const std::string key = db->dialect() == sql::Dialect::mysql ? "`key`" : "key";
  const std::string insert = "INSERT INTO " + kTable + " (" + key + ", payload) VALUES ($1, '" +
                             std::string(200, 'x') + "')";
  std::vector<double> out;
  const auto start = std::chrono::steady_clock::now();
  const auto count = static_cast<size_t>(seconds * kPerSecond);
  for (size_t i = 0; i < count; ++i) {
    std::this_thread::sleep_until(start + std::chrono::microseconds(i * 1'000'000 / kPerSecond));
    const auto before = std::chrono::steady_clock::now();
    db->run({{insert, {"k" + std::to_string(i % 1000)}}}, true);
    out.push_back(seconds_since(before) * 1000);
  }
  return out;
}

// Waits of all senders while a relay runs.
std::vector<double> run(const StorePlace& place, const std::string& retention, double seconds) {
  Engine engine;
  register_builtin(engine.registry());
  Routes routes;
  routes.bean("db", place.bean_type, {{place.option, place.value}});
  routes.from("outbox:bench", {{"sentRetention", retention}}).process([](Exchange&) {});
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render());
  const Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what);
  std::vector<std::vector<double>> waits(kSenders);
  std::atomic<size_t> ended{0};
  std::vector<std::thread> senders;
  for (size_t i = 0; i < kSenders; ++i)
    senders.emplace_back([&, i] {
      waits[i] = send(place, seconds);
      ++ended;
    });
  engine.drive_until([&ended] { return ended == kSenders; }, std::chrono::minutes(10));
  for (std::thread& sender : senders) sender.join();
  engine.stop_now();
  std::vector<double> out;
  for (const auto& some : waits) out.insert(out.end(), some.begin(), some.end());
  return out;
}

bool bench(const StorePlace& place) {
  const size_t rows = scaled(1'000'000);
  const double seconds = std::max(2.0, static_cast<double>(scaled(1500)) / 100);
  fill_outbox(*place.open(), kTable, rows);
  age(*place.open());
  std::vector<double> p50[2], p99[2];
  for (size_t round = 0; round < rounds(); ++round) {
    for (const bool janitor : {false, true}) {
      std::vector<double> waits = run(place, janitor ? "1d" : "0", seconds);
      p50[janitor].push_back(quantile(waits, 0.5));
      p99[janitor].push_back(quantile(waits, 0.99));
    }
  }
  const auto db = place.open();
  const int64_t left = db->number("SELECT count(*) FROM " + kTable +
                                  " WHERE status = 'sent' AND sent_at < '2021-01-01'");
  db->script("DROP TABLE " + kTable);
  const double longer = median(p50[1]) / median(p50[0]);
  const double longer99 = median(p99[1]) / median(p99[0]);
  const bool kept = longer <= 1.25 && longer99 <= 2;
  std::printf(
      "purge %-11s senders p50 %.2f ms, p99 %.2f ms; with the janitor p50 %.2f ms, p99 %.2f ms "
      "(%.2f and %.2f times; promise 1.25 and 2), %lld old rows deleted%s\n",
      place.name.c_str(), median(p50[0]), median(p99[0]), median(p50[1]), median(p99[1]), longer,
      longer99, static_cast<long long>(static_cast<int64_t>(rows) - left), kept ? "" : "  MISSED");
  std::fflush(stdout);
  return kept;
}

}  // namespace
}  // namespace drom::bench

int main() {
  const drom::bench::Stores stores;
  bool kept = true;
  for (const auto& place : stores.all()) kept = drom::bench::bench(place) && kept;
  return kept ? 0 : 1;
}
