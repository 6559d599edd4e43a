#include "observe/metrics.hpp"

#include <map>

#include "observe/exposition.hpp"
#include "observe/health.hpp"

namespace drom {
namespace {

using Number = std::optional<double>;  // null: unknown now, no sample

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000; }
Number seconds(const std::optional<milliseconds>& time) {
  return time ? Number(seconds(*time)) : std::nullopt;
}
template <class T>
Number number(T value) {
  return static_cast<double>(value);
}

template <class T>
struct Family {
  std::string_view name;
  std::string_view help;
  Number (*read)(const T&);
};

// A new figure is one entry here.
using Route = RouteCounters;
constexpr Family<Route> kRouteFamilies[] = {
    {"drom_route_received_total", "Exchanges taken from the source of the route.",
     [](const Route& r) { return number(r.received); }},
    {"drom_route_completed_total", "Exchanges that ended well, or whose error was handled.",
     [](const Route& r) { return number(r.completed); }},
    {"drom_route_failed_total", "Exchanges that ended with an error that nobody handled.",
     [](const Route& r) { return number(r.failed); }},
    {"drom_route_released_total", "Exchanges given back to the source untouched.",
     [](const Route& r) { return number(r.released); }},
    {"drom_route_redelivered_total", "Attempts after the first.",
     [](const Route& r) { return number(r.redelivered); }},
    {"drom_route_deadletter_failed_total",
     "Exchanges that the dead letter endpoint did not take; their sources keep them.",
     [](const Route& r) { return number(r.dead_letter_failed); }},
    {"drom_route_started", "1 when the source of the route has been opened and not been lost.",
     [](const Route& r) { return number(r.state == RouteState::started && r.trouble.empty()); }},
};

using Outbox = OutboxStats;
constexpr Family<Outbox> kOutboxFamilies[] = {
    {"drom_outbox_sent_total", "Rows sent since the relay was opened.",
     [](const Outbox& o) { return number(o.sent); }},
    {"drom_outbox_failed_total", "Failed attempts to send a row.",
     [](const Outbox& o) { return number(o.failed); }},
    {"drom_outbox_dead_total", "Rows given up.", [](const Outbox& o) { return number(o.dead); }},
    {"drom_outbox_parked_total", "Rows held back for somebody to decide.",
     [](const Outbox& o) { return number(o.parked); }},
    {"drom_outbox_purged_total", "Sent rows deleted after their retention.",
     [](const Outbox& o) { return number(o.purged); }},
    {"drom_outbox_in_flight", "Rows on their way through the route.",
     [](const Outbox& o) { return number(o.in_flight); }},
    {"drom_outbox_buffered", "Rows read that wait for their turn.",
     [](const Outbox& o) { return number(o.buffered); }},
    {"drom_outbox_buckets_leased", "Buckets of keys that this relay works on.",
     [](const Outbox& o) { return number(o.buckets); }},
    {"drom_outbox_due", "Rows that are due, as of the last look; at most 10000 are counted.",
     [](const Outbox& o) { return number(o.due); }},
    {"drom_outbox_oldest_due_seconds", "Age of the oldest due row; 0 when none is due.",
     [](const Outbox& o) { return number(seconds(o.oldest_due.value_or(milliseconds(0)))); }},
    {"drom_outbox_paused", "1 while the target cannot be reached and the relay waits.",
     [](const Outbox& o) { return number(o.paused); }},
    {"drom_outbox_database_up", "1 while the outbox can be worked on.",
     [](const Outbox& o) { return number(!o.database_down); }},
    {"drom_outbox_ready", "1 while the relay gets on: nothing is due, or rows are sent or fail.",
     [](const Outbox& o) { return number(o.ready); }},
    {"drom_outbox_streaming", "1 while rows come through the replication stream (mode=cdc).",
     [](const Outbox& o) { return number(o.streaming); }},
    {"drom_outbox_slot_lag_bytes", "Write-ahead log that the server keeps for the slot (mode=cdc).",
     [](const Outbox& o) { return o.slot_lag ? number(*o.slot_lag) : std::nullopt; }},
    {"drom_outbox_oldest_transaction_pid",
     "Process of the oldest open transaction, which keeps sent rows from being cleaned away.",
     [](const Outbox& o) { return o.holder_pid ? number(*o.holder_pid) : std::nullopt; }},
    {"drom_outbox_oldest_transaction_seconds", "Age of the oldest open transaction.",
     [](const Outbox& o) { return seconds(o.holder_age); }},
};

constexpr Family<Outbox::Lag> kBucketFamilies[] = {
    {"drom_outbox_bucket_due", "Due rows of a bucket of keys; buckets without any are left out.",
     [](const Outbox::Lag& l) { return number(l.due); }},
    {"drom_outbox_bucket_oldest_due_seconds", "Age of the oldest due row of a bucket of keys.",
     [](const Outbox::Lag& l) { return seconds(l.oldest); }},
};

// A thing that has figures, and the labels that tell it from others of its kind.
template <class T>
struct Labelled {
  Exposition::Labels labels;
  const T* figures;
};

template <class T, size_t N>
void append(Exposition& page, const Family<T> (&families)[N],
            const std::vector<Labelled<T>>& things) {
  for (const Family<T>& family : families) {
    bool named = false;
    for (const Labelled<T>& thing : things) {
      const Number value = family.read(*thing.figures);
      if (!value) continue;
      if (!named) page.family(family.name, family.help);
      named = true;
      page.sample(thing.labels, *value);
    }
  }
}

void append_process(Exposition& page, const ProcessFigures& process) {
  page.family("drom_build_info", "The version, as a label.");
  page.sample({{"version", process.version}}, 1);
  page.family("process_start_time_seconds", "When the engine was started, in seconds since 1970.");
  page.sample({}, seconds(std::chrono::floor<milliseconds>(process.started.time_since_epoch())));
  if (process.resident_bytes == 0) return;
  page.family("process_resident_memory_bytes", "Memory in use that is in RAM.");
  page.sample({}, static_cast<double>(process.resident_bytes));
}

void append_relays(Exposition& page, const OutboxBoard& board) {
  const std::vector<std::pair<std::string, Outbox>> relays = board.read();
  std::vector<std::string> numbers(relays.size());  // outlive the labels, which are views
  std::vector<std::string> buckets;
  size_t bucket_count = 0;
  for (const auto& [uri, stats] : relays) bucket_count += stats.lags.size();
  buckets.reserve(bucket_count);
  std::map<std::pair<std::string_view, std::string_view>, int> count;
  std::vector<Labelled<Outbox>> all;
  std::vector<Labelled<Outbox::Lag>> lags;
  for (size_t i = 0; i < relays.size(); ++i) {
    const auto& [uri, stats] = relays[i];
    Exposition::Labels labels = {{"outbox", uri}, {"reads", stats.reads}};
    // Two routes may read one outbox; two series may not have the same labels.
    const int nth = ++count[{uri, stats.reads}];
    if (nth > 1) labels.emplace_back("relay", numbers[i] = std::to_string(nth));
    for (const Outbox::Lag& lag : stats.lags) {
      buckets.push_back(std::to_string(lag.bucket));
      lags.push_back({labels, &lag});
      lags.back().labels.emplace_back("bucket", buckets.back());
    }
    all.push_back({std::move(labels), &stats});
  }
  append(page, kOutboxFamilies, all);
  append(page, kBucketFamilies, lags);
}

void append_lags(Exposition& page, const SourceLagBoard& board) {
  // Two routes may read one partition for different groups: the nth source of a URI is told apart.
  std::map<std::string, int> count;
  bool named = false;
  for (const auto& [uri, lags] : board.read()) {
    const std::string nth = std::to_string(++count[uri]);
    for (const SourceLag& lag : lags) {
      if (!named)
        page.family("drom_source_lag", "Records of a partition that are there and not done.");
      named = true;
      const std::string partition = std::to_string(lag.partition);
      page.sample({{"source", uri}, {"nth", nth}, {"topic", lag.topic}, {"partition", partition}},
                  static_cast<double>(lag.records));
    }
  }
}

}  // namespace

std::string metrics_text(const ProcessFigures& process, const Counters& counters,
                         const OutboxBoard& board, const SourceLagBoard& lags) {
  Exposition page;
  append_process(page, process);
  page.family("drom_ready", "1 when /health/ready says so.");
  page.sample({}, readiness(counters, board).up() ? 1 : 0);
  std::vector<Labelled<Route>> routes;
  for (const auto& [id, route] : counters.routes()) routes.push_back({{{"route", id}}, &route});
  append(page, kRouteFamilies, routes);
  append_relays(page, board);
  append_lags(page, lags);
  return page.take();
}

}  // namespace drom
