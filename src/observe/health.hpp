// What the health pages say. Alive: the shard answers. Started: the source of every route has been
// opened once. Ready: every source works, and every relay gets on; a process that answers is not a
// relay that sends. The form is that of MicroProfile Health, which Camel's pages have as well.
// Shard thread only.
#pragma once

#include <string>
#include <vector>

#include "observe/counters.hpp"
#include "observe/outbox_stats.hpp"

namespace drom {

struct HealthReport {
  struct Check {
    std::string name;  // "route:orders", "outbox:orders"
    std::string why;   // it is down; "": it is up
  };
  std::vector<Check> checks;

  bool up() const;
  // {"status":"DOWN","checks":[{"name":...,"status":...,"data":{"why":...}}]}
  std::string json() const;
};

HealthReport startup(const Counters& counters);
HealthReport readiness(const Counters& counters, const OutboxBoard& board);

}  // namespace drom
