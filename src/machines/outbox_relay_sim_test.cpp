// Runs the relay machine against a model of the database, with several relays, writers that commit
// in any order, targets that fail, processes that die or freeze at every point, on virtual time
// from a seed. At the end: nothing lost, every key in order, duplicates only where a crash, a
// freeze or a failure explains them.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "machines/outbox_relay.hpp"

namespace drom {
namespace {

using std::chrono::seconds;

struct Dice {
  uint64_t state;
  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
};

struct StoredRow {
  std::string key;
  int bucket = 0;
  int seq = 0;  // in the order of the key's commits
  bool visible = false;
  std::string status = "due";
  int attempts = 0;
  std::optional<SteadyTime> next_attempt;
};

struct StoredLease {
  std::string owner;
  int64_t token = 0;
  SteadyTime expires{};
};

struct Model {
  std::map<int64_t, StoredRow> rows;
  std::array<StoredLease, kLeaseBuckets> leases;
  std::map<std::string, SteadyTime> relays;
  milliseconds lease{10'000};

  LeaseAnswer ask(const std::string& owner, const LeaseRequest& request, SteadyTime now) {
    LeaseAnswer out;
    out.ok = true;
    for (const int b : request.release)
      if (leases[b].owner == owner) leases[b] = {"", leases[b].token, now};
    relays[owner] = now + lease;
    int64_t top = 0;
    for (StoredLease& l : leases) top = std::max(top, l.token);
    int claim = request.claim;
    for (int b = 0; b < kLeaseBuckets; ++b) {
      StoredLease& l = leases[b];
      if (l.owner == owner) {
        l.expires = now + lease;
      } else if (claim > 0 && l.expires <= now) {
        l = {owner, std::max(l.token, top) + 1, now + lease};
        --claim;
      }
      if (l.owner == owner) out.held.push_back({b, l.token});
    }
    out.relays = 0;
    for (const auto& [name, expires] : relays)
      if (expires > now) ++out.relays;
    return out;
  }
  void leave(const std::string& owner, SteadyTime now) {
    relays.erase(owner);
    for (StoredLease& l : leases)
      if (l.owner == owner) l = {"", l.token, now};
  }
  bool fenced(const std::string& owner, int bucket, int64_t token) const {
    return leases[bucket].owner != owner || leases[bucket].token != token;
  }
  relay::DataAnswer run(const std::string& owner, const DataTrip& trip, SteadyTime now) {
    relay::DataAnswer out;
    out.ok = true;
    for (const SentMark& mark : trip.sent) {
      StoredRow& r = rows.at(mark.id);
      if (fenced(owner, r.bucket, mark.token) || r.status != "due") {
        ++out.refused;
        continue;
      }
      r.status = "sent";
      r.next_attempt.reset();
    }
    for (const FailedMark& mark : trip.failed) {
      StoredRow& r = rows.at(mark.id);
      if (fenced(owner, r.bucket, mark.token) || r.status != "due") {
        ++out.refused;
        continue;
      }
      r.attempts = mark.attempts;
      if (mark.to == FailedMark::To::retry) r.next_attempt = now + mark.delay;
      if (mark.to == FailedMark::To::dead) r.status = "dead";
    }
    if (!trip.read) return out;
    const ReadRequest& read = *trip.read;
    std::set<std::string> waiting;
    for (auto& [id, r] : rows) {
      if (!r.visible || r.status != "due") continue;
      const bool held_back = r.next_attempt && *r.next_attempt > now;
      const bool skip = held_back || (!r.key.empty() && waiting.contains(r.key)) ||
                        std::ranges::count(read.busy_keys, r.key) ||
                        std::ranges::count(read.busy_ids, id) ||
                        (!read.all_buckets && !std::ranges::count(read.buckets, r.bucket));
      if (held_back) waiting.insert(r.key);
      if (skip) continue;
      RelayRow row;
      row.id = id;
      row.bucket = r.bucket;
      row.key = r.key;
      row.attempts = r.attempts;
      out.rows.push_back(std::move(row));
      if (out.rows.size() == read.max) break;
    }
    return out;
  }
};

struct Delivery {
  int64_t id;
  SteadyTime at;
};

// What the engine does with a key: one at a time, the later ones released after a failure.
struct Process {
  std::string owner;
  std::unique_ptr<OutboxRelay> relay;
  SteadyTime wake_at{};
  std::optional<
      std::pair<SteadyTime, std::variant<std::monostate, LeaseRequest, DataTrip, ReleaseTrip>>>
      trip;
  SteadyTime trip_asked{};
  std::map<std::string, std::deque<int64_t>> queues;  // per key, or per row without one
  std::map<std::string, SteadyTime> busy_until;
  SteadyTime frozen_until{};
  bool stopping = false;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : dice_{seed} {}

  void run() {
    policy_.read_max = static_cast<size_t>(dice_.between(4, 64));
    policy_.attempts_max = 0;
    policy_.lease = milliseconds(dice_.between(500, 3000));
    policy_.retry.initial = milliseconds(50);
    policy_.retry.maximum = milliseconds(1000);
    policy_.pause.maximum = milliseconds(1000);
    model_.lease = policy_.lease;
    calm_ = dice_.chance(20);  // no faults at all: then not one duplicate
    const int relays = static_cast<int>(dice_.between(1, 3));
    for (int i = 0; i < relays; ++i) start();
    const SteadyTime chaos_ends = now_ + seconds(10);
    const SteadyTime end = now_ + seconds(80);
    while (now_ < end) {
      const bool chaos = now_ < chaos_ends && !calm_;
      if (now_ < chaos_ends) write();
      commit(now_ >= chaos_ends);
      if (chaos) hurt();
      target_down_ = chaos && (target_down_ ? !dice_.chance(10) : dice_.chance(2));
      for (size_t i = 0; i < processes_.size(); ++i)
        turn(*processes_[i], chaos);  // a turn may start one
      now_ += milliseconds(dice_.between(1, 15));
      if (now_ > chaos_ends && done()) break;
    }
    check();
  }

 private:
  void start() {
    auto process = std::make_unique<Process>();
    process->owner = "relay" + std::to_string(++names_);
    process->relay = std::make_unique<OutboxRelay>(policy_);
    process->wake_at = now_;
    processes_.push_back(std::move(process));
  }

  // Ids are drawn early and committed in any order across keys, in id order within a key.
  void write() {
    for (int i = static_cast<int>(dice_.between(0, 3)); i > 0; --i) {
      StoredRow row;
      const int64_t key = dice_.between(0, 9);
      if (key > 0) row.key = "key" + std::to_string(key);
      const int64_t id = ++last_id_;
      row.bucket = static_cast<int>(key > 0 ? (key * 17) % kLeaseBuckets : id % kLeaseBuckets);
      row.seq = ++seq_[row.key];
      model_.rows.emplace(id, row);
      uncommitted_.push_back(id);
    }
  }
  void commit(bool all) {
    std::set<std::string> held;
    std::erase_if(uncommitted_, [&](int64_t id) {
      StoredRow& row = model_.rows.at(id);
      const bool now = all || (!held.contains(row.key) && dice_.chance(40));
      if (now)
        row.visible = true;
      else if (!row.key.empty())
        held.insert(row.key);
      return now;
    });
  }

  void hurt() {
    if (processes_.empty() || dice_.chance(85)) return;
    const size_t victim =
        static_cast<size_t>(dice_.between(0, static_cast<int64_t>(processes_.size()) - 1));
    Process& process = *processes_[victim];
    if (dice_.chance(40)) {  // kill -9, and a new one
      ++crashes_;
      processes_.erase(processes_.begin() + static_cast<ptrdiff_t>(victim));
      start();
    } else if (dice_.chance(50)) {  // frozen, perhaps for longer than the lease
      process.frozen_until = now_ + milliseconds(dice_.between(1, 2 * policy_.lease.count()));
      ++crashes_;
    } else if (!process.stopping && dice_.chance(30)) {
      process.stopping = true;
      apply(process, process.relay->step(relay::Stop(), now_));
    }
  }

  void apply(Process& process, RelayEffects effects) {
    process.wake_at = effects.wake_at;
    if (!std::holds_alternative<std::monostate>(effects.trip)) {
      ASSERT_FALSE(process.trip) << "two trips at once";
      process.trip.emplace(now_ + milliseconds(dice_.between(0, 20)), std::move(effects.trip));
      process.trip_asked = now_;
    }
    for (RelayRow& row : effects.rows) {
      const std::string lane = row.key.empty() ? "#" + std::to_string(row.id) : row.key;
      if (process.queues[lane].empty())
        process.busy_until[lane] = now_ + milliseconds(dice_.between(0, 60));
      process.queues[lane].push_back(row.id);
    }
    if (effects.finished) process.frozen_until = SteadyTime::max();
  }

  void turn(Process& process, bool chaos) {
    if (now_ < process.frozen_until) return;
    if (process.trip && process.trip->first <= now_) answer(process, chaos);
    if (now_ < process.frozen_until) return;
    if (process.wake_at <= now_) apply(process, process.relay->step(relay::Tick(), now_));
    if (!process.stopping) {
      relay::Take take{static_cast<size_t>(dice_.between(1, 16))};
      apply(process, process.relay->step(take, now_));
    }
    deliver(process, chaos);
  }

  void answer(Process& process, bool chaos) {
    auto trip = std::move(process.trip->second);
    process.trip.reset();
    const bool lost_before = chaos && dice_.chance(3);
    const bool lost_after = chaos && dice_.chance(3);
    if (auto* request = std::get_if<LeaseRequest>(&trip)) {
      LeaseAnswer out;
      if (!lost_before) out = model_.ask(process.owner, *request, now_);
      if (lost_after) out = LeaseAnswer();
      out.asked = process.trip_asked;
      apply(process, process.relay->step(std::move(out), now_));
    } else if (auto* data = std::get_if<DataTrip>(&trip)) {
      relay::DataAnswer out;
      if (!lost_before) out = model_.run(process.owner, *data, now_);
      if (lost_after) out = relay::DataAnswer();
      apply(process, process.relay->step(std::move(out), now_));
    } else {
      model_.leave(process.owner, now_);
      LeaseAnswer out;
      out.ok = true;
      apply(process, process.relay->step(std::move(out), now_));
      start();
    }
  }

  void deliver(Process& process, bool chaos) {
    relay::SettledAll settled;
    for (auto at = process.queues.begin(); at != process.queues.end();) {
      auto& [lane, queue] = *at;
      if (process.busy_until[lane] > now_) {
        ++at;
        continue;
      }
      relay::Settled s;
      s.id = queue.front();
      s.dice = dice_.next();
      queue.pop_front();
      if (target_down_) {
        s.fate = relay::Fate::failed;
        s.kind = ErrorKind::not_connected;
      } else if (chaos && dice_.chance(5)) {
        s.fate = relay::Fate::failed;
        s.kind = ErrorKind::transient;
      } else {
        s.fate = relay::Fate::done;
        delivered_.push_back({s.id, now_});
      }
      const bool failed = s.fate == relay::Fate::failed;
      settled.rows.push_back(std::move(s));
      if (failed) {
        for (const int64_t id : queue) {
          relay::Settled released;
          released.id = id;
          settled.rows.push_back(std::move(released));
        }
        queue.clear();
      }
      if (queue.empty()) {
        at = process.queues.erase(at);
      } else {
        process.busy_until[lane] = now_ + milliseconds(dice_.between(0, 60));
        ++at;
      }
    }
    if (!settled.rows.empty()) apply(process, process.relay->step(std::move(settled), now_));
  }

  bool done() const {
    return uncommitted_.empty() && std::ranges::all_of(model_.rows, [](const auto& r) {
             return r.second.status == "sent";
           });
  }

  void check() {
    std::map<int64_t, int> times;
    std::map<std::string, int> reached;
    for (const Delivery& delivery : delivered_) {
      const StoredRow& row = model_.rows.at(delivery.id);
      if (times[delivery.id]++ > 0 || row.key.empty()) continue;
      EXPECT_EQ(row.seq, reached[row.key] + 1)
          << "row " << delivery.id << " of " << row.key << " overtook";
      reached[row.key] = row.seq;
    }
    size_t duplicates = 0;
    for (const auto& [id, row] : model_.rows) {
      EXPECT_EQ(row.status, "sent") << "row " << id;
      EXPECT_GE(times[id], 1) << "row " << id << " of " << row.key << " lost";
      duplicates += static_cast<size_t>(std::max(0, times[id] - 1));
    }
    if (calm_) EXPECT_EQ(duplicates, 0u);
    EXPECT_GT(model_.rows.size(), 100u);
  }

  Dice dice_;
  RelayPolicy policy_;
  Model model_;
  SteadyTime now_{seconds(1000)};
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<Delivery> delivered_;
  std::vector<int64_t> uncommitted_;
  std::map<std::string, int> seq_;
  int64_t last_id_ = 0;
  int names_ = 0;
  int crashes_ = 0;
  bool calm_ = false;
  bool target_down_ = false;
};

TEST(OutboxRelaySimulation, LosesNothingAndKeepsKeysInOrderThroughCrashesAndFreezes) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation(seed).run();
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace drom
