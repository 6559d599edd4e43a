// What a run left behind, in five independent logs, and the judge who compares them. `intent` is
// what writers tried, `truth` what the database holds in the end (it alone decides about
// transactions of unknown outcome), `delivered` what a sink that is never killed has accepted,
// `effects` what the consumer behind the inbox has applied, `faults` what was done to the system.
// The logs are JSON lines, one file each. Vocabulary after Jepsen's Kafka workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/base/value.hpp"

namespace drom::chaos {

struct Intent {
  enum class Outcome : uint8_t { ok, fail, info };  // info: nobody knows
  std::string tx;
  std::string event;
  std::string key;
  std::string hash;  // of the payload
  Outcome outcome = Outcome::info;
  int64_t at_ns = 0;  // when the outcome was known
};

struct Truth {
  std::string tx;
  std::string event;
  std::string key;
  int64_t seq = 0;  // in the order of the key's commits, from 1
  std::string hash;
  bool business = true;  // the business row is there
  std::string status;    // of the outbox row: due, sent, dead, parked; "" when there is none
  bool poison = false;   // its sink refuses it for good: dead is right
};

struct Delivered {
  std::string event;
  std::string key;
  int64_t seq = 0;
  std::string hash;
  std::string destination;
  int64_t at_ns = 0;  // 0: nobody knows
};

struct Effect {
  std::string event;
};

struct Fault {
  std::string what;
  int64_t at_ns = 0;
};

struct History {
  std::vector<Intent> intents;
  std::vector<Truth> truth;
  std::vector<Delivered> delivered;  // in the order in which the sink took them
  std::vector<Effect> effects;
  std::vector<Fault> faults;
  std::string destination;      // where all events belong
  bool inbox = true;            // effects are to be judged
  size_t in_flight_max = 1000;  // how many deliveries one fault may repeat
};

struct Verdict {
  // Must all be 0.
  size_t lost = 0;               // committed, neither delivered nor given up openly
  size_t vanished = 0;           // acknowledged to the writer, not in the truth
  size_t phantom = 0;            // delivered or applied, never committed
  size_t torn = 0;               // transactions of which only a part is there
  size_t reordered = 0;          // first deliveries behind a later one of their key
  size_t skipped = 0;            // delivered first although an earlier one of the key was due
  size_t duplicate_effects = 0;  // events applied more than once
  size_t missing_effects = 0;    // delivered to the consumer for good, never applied
  size_t corrupt = 0;            // payload, key, number or destination differ
  size_t stuck = 0;              // due at the end, after everything was healed
  size_t wrongly_dead = 0;       // given up without a reason
  size_t unexplained = 0;        // duplicates that no fault accounts for
  // Counted, as they may be.
  size_t events = 0;
  size_t rolled_back = 0;
  size_t unknown = 0;  // intents of unknown outcome
  size_t dead = 0;
  size_t duplicates = 0;   // deliveries beyond the first
  size_t regressions = 0;  // duplicates that came after a newer event of their key
  std::vector<std::string> examples;

  // Adds another's counts and examples, which are marked as `what`.
  void add(const Verdict& other, const std::string& what);
  bool clean() const;
  std::string summary() const;  // "0 lost, 0 phantom, ..." of what must be 0
};

Verdict check(const History& history);

// One folder, five files; errors name file and line.
Result<void> write_history(const History& history, const std::string& folder);
Result<History> read_history(const std::string& folder);

// What a payload of a writer says of its event: event, key and hash; the rest is left alone.
void read_payload(const Object& payload, Delivered& out);

// FNV-1a in hexadecimal: enough to see a changed byte.
std::string payload_hash(std::string_view payload);

}  // namespace drom::chaos
