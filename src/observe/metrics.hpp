// The metrics page: everything that routes and relays tell of themselves, as Prometheus reads it.
// Written anew for each scrape from the values where they are kept; nothing is counted twice.
// Shard thread only.
//
// By hand rather than by prometheus-cpp: that library keeps its own copy of every value in a
// registry of shared pointers and locks, costs a dependency and, only by being loaded, 0.1 MB of
// the 15 MB that `drom run` promises to stay below. The format itself is exposition.cpp.
#pragma once

#include <string>

#include "drom/base/time.hpp"
#include "observe/counters.hpp"
#include "observe/outbox_stats.hpp"
#include "observe/source_lag.hpp"

namespace drom {

struct ProcessFigures {
  std::string version;
  WallTime started{};
  uint64_t resident_bytes = 0;  // 0: unknown
};

std::string metrics_text(const ProcessFigures& process, const Counters& counters,
                         const OutboxBoard& board, const SourceLagBoard& lags);

}  // namespace drom
