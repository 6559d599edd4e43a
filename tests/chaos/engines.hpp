// The engines of one campaign: slots with a fixed port each, in which `drom-chaos engine run` is
// started again and again, with or without a plan for its failpoints.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "chaos/child.hpp"

namespace drom::chaos {

struct EngineOptions {
  std::string program;
  std::string folder;                // for logs
  std::string routes;                // the YAML file
  std::vector<std::string> defines;  // name=value
};

struct Slot {
  Child child;
  uint16_t port = 0;
  size_t number = 0;
  size_t starts = 0;
  std::string point;  // at which the plan kills it; "" for none
  std::string plan;   // all of it
  int64_t started_ns = 0;
  int64_t resume_ns = 0;  // stopped until then; 0: not stopped
};

class Engines {
 public:
  Engines(EngineOptions options, size_t count);
  void start(Slot& slot, const std::string& point, const std::string& plan, uint64_t seed);
  std::vector<std::unique_ptr<Slot>>& slots() { return slots_; }
  std::vector<uint16_t> ports() const;
  // Which failpoints have been reached so far, and how often one has acted.
  std::map<std::string, size_t> reached() const;

 private:
  std::string failpoint_log() const { return options_.folder + "/failpoints.jsonl"; }
  EngineOptions options_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace drom::chaos
