// From the commit of an event to the step behind the relay, at a steady 2,000 events a second in
// transactions of four, for each way in which a relay learns of new rows: told inside its process,
// told by NOTIFY of another process (PostgreSQL), or by looking only, because the writer is any
// program with a plain INSERT. Prints p50 and p99; promises nothing.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <thread>

#include "bare/paced_source.hpp"
#include "bare/stores.hpp"
#include "connectors/outbox/outbox_sql.hpp"

namespace drom::bench {
namespace {

constexpr size_t kPerSecond = 2000;
constexpr size_t kTogether = 4;  // events in a transaction
constexpr size_t kWriters = 2;   // at once
constexpr size_t kMax = 1'000'000;
const std::string kTable = "outbox_bench";

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// Seen by the process that writes and by the one that relays.
struct Stamps {
  std::atomic<bool> relay_ready{false};
  std::atomic<int64_t> committed[kMax];
  std::atomic<int64_t> seen[kMax];
};

Stamps& shared_stamps() {
  void* const memory = ::mmap(nullptr, sizeof(Stamps), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "mmap");
  return *new (memory) Stamps;
}

enum class Rung { signal, notify, poll };

const char* name_of(Rung rung) {
  switch (rung) {
    case Rung::signal: return "in-process signal";
    case Rung::notify: return "NOTIFY";
    case Rung::poll: return "poll only";
  }
  return "";
}

// The writing route: transactions of kTogether events at their times.
void add_writer(Routes& routes, Stamps& stamps, size_t events) {
  routes
      .from("paced:events", {{"perSecond", std::to_string(kPerSecond)},
                             {"together", std::to_string(kTogether)},
                             {"count", std::to_string(events)},
                             {"writers", std::to_string(kWriters)}})
      .transacted([](Steps& steps) {
        for (size_t i = 0; i < kTogether; ++i) {
          const std::string number = "${header.first" + std::to_string(i) + "}";
          steps.set_body(simple(number)).to("outbox:bench", {{"key", "k" + number}});
        }
      })
      .process([&stamps](Exchange& exchange) {
        const int64_t now = now_ns();
        const auto first =
            static_cast<size_t>(exchange.message.headers.find("first0")->to_int().value_or(0));
        for (size_t i = 0; i < kTogether; ++i) stamps.committed[first + i] = now;
      });
}

// The relay in this process, and the writer when it is to be in the same one.
void relay(const StorePlace& place, Stamps& stamps, size_t events, bool with_writer) {
  Engine engine;
  register_builtin(engine.registry());
  register_paced(engine.registry());
  Routes routes;
  size_t seen = 0;
  routes.bean("db", place.bean_type, {{place.option, place.value}});
  routes.from("outbox:bench").process([&](Exchange& exchange) {
    const auto number = static_cast<size_t>(std::stoull(exchange.message.body.to_text()));
    if (stamps.seen[number].exchange(now_ns()) == 0) ++seen;
  });
  if (with_writer) add_writer(routes, stamps, events);
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render());
  const Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what);
  stamps.relay_ready = true;
  engine.drive_until([&] { return seen >= events; }, std::chrono::minutes(10));
  engine.stop_now();
  check(seen == events, "not every event was seen", std::to_string(seen));
}

void write_with_engine(const StorePlace& place, Stamps& stamps, size_t events) {
  Engine engine;
  register_builtin(engine.registry());
  register_paced(engine.registry());
  Routes routes;
  routes.bean("db", place.bean_type, {{place.option, place.value}});
  add_writer(routes, stamps, events);
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render());
  const Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what);
  engine.drive_until(
      [&] { return stamps.committed[events - 1] != 0 && stamps.seen[events - 1] != 0; },
      std::chrono::minutes(10));
  engine.stop_now();
}

// Any program: plain INSERTs, a connection for each of kWriters.
void write_bare(const StorePlace& place, Stamps& stamps, size_t events) {
  std::vector<std::thread> writers;
  const int64_t start = now_ns();
  for (size_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      const auto db = place.open();
      const std::string key = db->dialect() == sql::Dialect::mysql ? "`key`" : "key";
      const std::string insert =
          "INSERT INTO " + kTable + " (" + key + ", payload) VALUES ($1, $2)";
      for (size_t first = w * kTogether; first < events; first += kWriters * kTogether) {
        const int64_t due = start + static_cast<int64_t>(first * 1'000'000'000 / kPerSecond);
        const int64_t early = due - now_ns();
        if (early > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(early));
        std::vector<Command> commands;
        for (size_t i = first; i < first + kTogether; ++i)
          commands.push_back({insert, {"k" + std::to_string(i), std::to_string(i)}});
        db->run(commands, true);
        const int64_t now = now_ns();
        for (size_t i = first; i < first + kTogether; ++i) stamps.committed[i] = now;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
}

void report(const StorePlace& place, Rung rung, const Stamps& stamps, size_t events) {
  std::vector<double> waits;
  int64_t last = 0;
  for (size_t i = 0; i < events; ++i) {
    last = std::max<int64_t>(last, stamps.committed[i]);
    // The relay may be faster than the answer to the writer.
    waits.push_back(
        static_cast<double>(std::max<int64_t>(0, stamps.seen[i] - stamps.committed[i])) / 1e6);
  }
  const double seconds = static_cast<double>(last - stamps.committed[0]) / 1e9;
  std::printf("latency %-11s %-18s p50 %7.2f ms   p99 %7.2f ms   (%.0f events/s committed)\n",
              place.name.c_str(), name_of(rung), quantile(waits, 0.5), quantile(waits, 0.99),
              static_cast<double>(events) / seconds);
  std::fflush(stdout);
}

void bench(const StorePlace& place, Rung rung) {
  const size_t events = std::min(kMax, (scaled(40'000) + kTogether - 1) / kTogether * kTogether);
  fill_outbox(*place.open(), kTable, 0);
  Stamps& stamps = shared_stamps();
  if (rung == Rung::signal) {
    relay(place, stamps, events, true);
  } else {
    const pid_t child = ::fork();
    if (child == 0) {
      while (!stamps.relay_ready) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (rung == Rung::notify)
        write_with_engine(place, stamps, events);
      else
        write_bare(place, stamps, events);
      ::_exit(0);
    }
    relay(place, stamps, events, false);
    int status = 0;
    ::waitpid(child, &status, 0);
    check(status == 0, "the writer failed");
  }
  report(place, rung, stamps, events);
  ::munmap(&stamps, sizeof stamps);
}

}  // namespace
}  // namespace drom::bench

int main() {
  using namespace drom::bench;
  const Stores stores;
  for (const StorePlace& place : stores.all()) {
    bench(place, Rung::signal);
    if (place.name == "PostgreSQL") bench(place, Rung::notify);
    bench(place, Rung::poll);
  }
  return 0;
}
