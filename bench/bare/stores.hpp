// The databases of a benchmark, how much it does, and the shape of its results. Sizes are those of
// the promises; DROM_BENCH_SCALE=0.05 makes all of them smaller for a quick look, and
// DROM_BENCH_STORES="sqlite mariadb" leaves out the others.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "bare/bare_database.hpp"
#include "drom/app.hpp"
#include "drom/drom.hpp"

namespace drom::bench {

struct StorePlace {
  std::string name;
  std::string bean_type;
  std::string option;  // of the bean, the only one that it needs
  std::string value;
  std::function<std::unique_ptr<BareDatabase>()> open;
};

// SQLite in a folder of its own, and the servers that DROM_TEST_POSTGRES and DROM_TEST_MARIADB
// name.
class Stores {
 public:
  Stores();
  ~Stores();
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;
  const std::vector<StorePlace>& all() const { return all_; }

 private:
  void add(StorePlace place);
  std::filesystem::path folder_;
  std::vector<StorePlace> all_;
};

size_t scaled(size_t promised);  // at least 1
size_t rounds();                 // of bare and engine in turn: DROM_BENCH_ROUNDS, 3
double median(std::vector<double> values);
double quantile(std::vector<double>& values, double q);
double seconds_since(std::chrono::steady_clock::time_point start);

// An outbox table anew, with `rows` due rows of 200 bytes and 10,000 keys in turn.
void fill_outbox(BareDatabase& db, const std::string& table, size_t rows);

// Rates of the rounds; printed, and compared by the median of their ratios.
struct Race {
  std::vector<double> bare;
  std::vector<double> engine;
  // False: the promise is missed.
  bool report(const std::string& what, const char* unit, double promise) const;
};

}  // namespace drom::bench
