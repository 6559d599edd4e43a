// One campaign: rounds of kills and other faults on engines over one database, a drain after each
// round, and the judgement at the end. The main thread drives it.
#pragma once

#include <map>
#include <optional>

#include "chaos/broker.hpp"
#include "chaos/database_server.hpp"
#include "chaos/engines.hpp"
#include "chaos/fault_proxy.hpp"
#include "chaos/place.hpp"
#include "chaos/sink.hpp"
#include "chaos/small_disk.hpp"
#include "chaos/writers.hpp"

namespace drom::chaos {

struct CampaignOptions {
  Place place;          // its file is for the campaign to choose
  std::string name;     // in reports and ids
  std::string program;  // this one
  std::string folder;   // for everything; made by the campaign
  size_t kills = 100;
  size_t round = 100;  // kills between two drains
  uint64_t seed = 1;
  DatabaseServer* server = nullptr;  // ours, may be crashed
  Broker* broker = nullptr;          // between relays and consumer, may be killed
  const SmallDisk* disk = nullptr;   // holds the database, may be filled
  bool verbose = false;
};

struct CampaignReport {
  std::string name;
  size_t kills = 0;
  std::map<std::string, size_t> kills_at;      // failpoint, or "any moment"
  std::map<std::string, size_t> other_faults;  // kind
  std::map<std::string, size_t> reached;       // failpoint -> how often it acted
  std::vector<std::string> problems;           // beyond the verdict
  Verdict verdict;
  size_t sends = 0;  // that transactions have kept; the verdict is about them, too
  uint64_t replays = 0;
  double seconds = 0;
  double recovery_p50_s = 0;  // from a kill to the next event that is new to the sink
  double recovery_max_s = 0;
  double latency_p99_s = 0;  // from the writer's answer to the sink
  double latency_max_s = 0;
  double drain_max_s = 0;

  bool clean() const { return verdict.clean() && problems.empty(); }
};

CampaignReport run_campaign(const CampaignOptions& options);

}  // namespace drom::chaos
