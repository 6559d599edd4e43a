// What each outbox relay of this process is doing: counters since it was opened, its share of the
// keys, what lags, and whether it gets on. Relays enter themselves on the board that all endpoints
// of an engine share; metrics and health pages read it. Shard thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drom/base/time.hpp"

namespace drom {

struct OutboxStats {
  std::string_view reads = "table";  // or "log": a relay in log or CDC mode is both
  // Since the relay was opened.
  uint64_t sent = 0;
  uint64_t failed = 0;  // attempts
  uint64_t dead = 0;
  uint64_t parked = 0;
  uint64_t purged = 0;
  // Now.
  int buckets = 0;       // leased
  size_t in_flight = 0;  // on their way through the route
  size_t buffered = 0;   // read, waiting for their turn
  bool paused = false;   // the target is away
  bool database_down = false;
  // CDC mode: rows come through the replication stream, else from the tables; and how many bytes
  // of write-ahead log its slot made the server keep, as of the last look.
  bool streaming = false;
  std::optional<int64_t> slot_lag;
  // Not ready: rows have been due for longer than the relay should need, and none of them was sent
  // or failed. A process that answers is not a relay that gets on.
  bool ready = true;
  std::string why;  // it is not ready
  // As of the last look at the whole table, a few seconds ago.
  int64_t due = 0;  // at most `due_max` are counted
  int64_t due_max = 0;
  std::optional<milliseconds> oldest_due;
  struct Lag {
    int bucket = 0;
    int64_t due = 0;
    int64_t oldest_id = 0;
    std::optional<milliseconds> oldest;
  };
  std::vector<Lag> lags;              // of buckets with due rows
  std::optional<int64_t> holder_pid;  // of the oldest open transaction (PostgreSQL)
  std::optional<milliseconds> holder_age;
};

class OutboxBoard {
 public:
  using Reader = std::function<OutboxStats()>;

  // `relay` identifies the entry until remove(); the reader is called on the shard.
  void add(const void* relay, std::string uri, Reader reader) {
    entries_[relay] = {std::move(uri), std::move(reader)};
  }
  void remove(const void* relay) { entries_.erase(relay); }
  // By the URI of the endpoint; several relays may have the same.
  std::vector<std::pair<std::string, OutboxStats>> read() const {
    std::vector<std::pair<std::string, OutboxStats>> out;
    for (const auto& [relay, entry] : entries_) out.emplace_back(entry.uri, entry.reader());
    return out;
  }

 private:
  struct Entry {
    std::string uri;
    Reader reader;
  };
  std::map<const void*, Entry> entries_;
};

}  // namespace drom
