// Runs the log relay machine against a model of the log and of the claim table behind it, with
// several relays that die, freeze, lose answers, and targets that fail, on virtual time from a
// seed. At the end: nothing lost, every key in order, no duplicate without a crash or a freeze.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "machines/log_relay.hpp"

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

struct Model {
  std::vector<std::string> log;  // the key of row id - 1
  std::string owner;
  int64_t token = 0;
  SteadyTime expires{};
  uint64_t serial = 0;
  uint64_t position = 0;  // rows up to here are done or held
  struct Held {
    int64_t id;
    std::string key;
    SteadyTime due;
    bool sent = false;
  };
  std::vector<Held> held;

  bool has_unsent(const std::string& key) const {
    return std::ranges::any_of(held, [&](const Held& h) { return !h.sent && h.key == key; });
  }
};

struct Process {
  std::string owner;
  std::unique_ptr<LogRelay> relay;
  uint64_t read_up_to = 0;
  int64_t token = 0;
  std::optional<std::pair<SteadyTime, decltype(LogEffects::trip)>> trip;
  SteadyTime asked{};
  SteadyTime wake_at{};
  bool ready = false;
  std::map<std::string, std::deque<LogHandOut>> queues;
  std::map<std::string, SteadyTime> busy_until;
  SteadyTime frozen_until{};
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : dice_{seed} {}

  void run() {
    policy_.room = static_cast<size_t>(dice_.between(8, 200));
    policy_.read_max = static_cast<size_t>(dice_.between(4, 64));
    policy_.checkpoint_max = static_cast<size_t>(dice_.between(1, 64));
    policy_.ask_max = static_cast<size_t>(dice_.between(1, 8));
    policy_.attempts_max = 0;
    policy_.lease = milliseconds(dice_.between(500, 3000));
    policy_.retry.initial = milliseconds(30);
    policy_.pause.maximum = milliseconds(500);
    hold_all_limit_ = static_cast<size_t>(dice_.between(1, 12));
    calm_ = dice_.chance(25);
    for (int i = static_cast<int>(dice_.between(1, 3)); i > 0; --i) start();
    const SteadyTime chaos_ends = now_ + seconds(8);
    const SteadyTime end = now_ + seconds(120);
    while (now_ < end) {
      const bool chaos = now_ < chaos_ends && !calm_;
      failing_ = now_ < chaos_ends;
      if (now_ < chaos_ends) write();
      down_ = chaos && (down_ ? !dice_.chance(10) : dice_.chance(2));
      if (chaos) hurt();
      for (size_t i = 0; i < processes_.size(); ++i) turn(*processes_[i], chaos);
      work_held();
      now_ += milliseconds(dice_.between(1, 15));
      if (now_ > chaos_ends && all_done()) break;
    }
    check();
  }

 private:
  void start() {
    auto p = std::make_unique<Process>();
    p->owner = "relay" + std::to_string(++names_);
    p->relay = std::make_unique<LogRelay>(policy_);
    p->wake_at = now_;
    processes_.push_back(std::move(p));
  }
  void write() {
    for (int64_t i = dice_.between(0, 4); i > 0; --i) {
      const int64_t key = dice_.between(0, 9);
      model_.log.push_back(key ? "k" + std::to_string(key) : "");
    }
  }
  void hurt() {
    if (dice_.chance(1) && !processes_.empty()) {
      processes_.erase(processes_.begin() +
                       dice_.between(0, static_cast<int64_t>(processes_.size()) - 1));
      start();
    }
    if (dice_.chance(1) && !processes_.empty())
      processes_[static_cast<size_t>(dice_.between(0, static_cast<int64_t>(processes_.size()) - 1))]
          ->frozen_until = now_ + milliseconds(dice_.between(100, 5000));
  }
  void step(Process& p, LogEvent event) {
    LogEffects out = p.relay->step(std::move(event), now_);
    p.wake_at = out.wake_at;
    p.ready = out.ready;
    if (!std::holds_alternative<std::monostate>(out.trip)) {
      ASSERT_FALSE(p.trip);
      p.trip.emplace(now_ + milliseconds(dice_.between(1, 30)), std::move(out.trip));
      p.asked = now_;
    }
    if (!p.trip && !out.finished) {
      EXPECT_GT(out.wake_at, now_) << "the shell would spin";
    }
    for (LogHandOut& row : out.rows) {
      const std::string queue =
          row.row.key.empty() ? "#" + std::to_string(row.row.id) : row.row.key;
      p.queues[queue].push_back(std::move(row));
    }
  }
  void turn(Process& p, bool chaos) {
    if (now_ < p.frozen_until) return;
    if (p.trip && p.trip->first <= now_) {
      auto trip = std::move(p.trip->second);
      p.trip.reset();
      const bool applied = !chaos || !dice_.chance(4);
      const bool heard = applied && (!chaos || !dice_.chance(4));
      perform(p, trip, applied, heard);
    }
    if (p.wake_at <= now_) step(p, logs::Tick());
    deliver(p);
    // As the shell does: it asks again only when it is told that there is something.
    if (!p.ready) return;
    size_t before = 0;
    for (const auto& [name, queue] : p.queues) before += queue.size();
    step(p, logs::Take{static_cast<size_t>(dice_.between(1, 16))});
    size_t after = 0;
    for (const auto& [name, queue] : p.queues) after += queue.size();
    EXPECT_TRUE(after > before || !p.ready) << "ready, but nothing to take: the shell would spin";
  }
  void perform(Process& p, decltype(LogEffects::trip)& trip, bool applied, bool heard) {
    if (const auto* lease = std::get_if<LogLease>(&trip)) {
      logs::LeaseAnswer answer;
      answer.asked = p.asked;
      if (applied && (model_.owner == p.owner || model_.expires <= now_)) {
        if (model_.owner != p.owner) ++model_.token;
        model_.owner = p.owner;
        model_.expires = now_ + policy_.lease;
      }
      answer.ok = heard;
      if (heard && model_.owner == p.owner) {
        answer.token = model_.token;
        if (model_.token != p.token) p.read_up_to = model_.position;
        p.token = model_.token;
        answer.serial = model_.serial;
        if (lease->load) list_held(answer.held_keys, answer.hold_all);
      }
      step(p, std::move(answer));
      return;
    }
    auto* data = std::get_if<LogTrip>(&trip);
    ASSERT_TRUE(data);
    logs::TripAnswer answer;
    const bool mine = model_.owner == p.owner && model_.token == data->token;
    if (applied && mine) apply(*data, answer, p);
    answer.ok = heard && mine;
    answer.fenced = heard && !mine;
    if (!answer.ok) {
      answer.read = logs::Rows();
    } else if (!answer.read.rows.empty()) {
      p.read_up_to = static_cast<uint64_t>(answer.read.rows.back().id);
    }
    step(p, std::move(answer));
  }
  void list_held(std::vector<std::string>& keys, bool& all) {
    std::set<std::string> names;
    for (const Model::Held& h : model_.held)
      if (!h.sent && !h.key.empty()) names.insert(h.key);
    all = names.size() > hold_all_limit_;
    for (const std::string& name : names)
      if (keys.size() < hold_all_limit_) keys.push_back(name);
  }
  void apply(const LogTrip& trip, logs::TripAnswer& answer, const Process& p) {
    if (trip.serial) {
      EXPECT_EQ(trip.serial, model_.serial + 1);
      model_.serial = trip.serial;
      if (trip.position.is_set()) {
        EXPECT_GE(trip.position.minor, model_.position);
        model_.position = trip.position.minor;
      }
      for (const Hold& hold : trip.holds)
        model_.held.push_back({hold.id, hold.key, now_ + hold.delay});
    }
    for (const std::string& key : trip.ask)
      if (!model_.has_unsent(key)) answer.free_keys.push_back(key);
    if (trip.reload) list_held(answer.held_keys, answer.hold_all);
    for (uint64_t id = p.read_up_to + 1; id <= model_.log.size(); ++id) {
      if (answer.read.rows.size() >= trip.read) break;
      LogRow row;
      row.position = {1, id};
      row.id = static_cast<int64_t>(id);
      row.key = model_.log[id - 1];
      answer.read.rows.push_back(std::move(row));
    }
  }
  // What the engine does with a key: one at a time, the later ones released after a failure.
  void deliver(Process& p) {
    relay::SettledAll all;
    for (auto& [name, queue] : p.queues) {
      if (queue.empty() || p.busy_until[name] > now_) continue;
      if (!dice_.chance(50)) continue;
      p.busy_until[name] = now_ + milliseconds(dice_.between(0, 20));
      const LogHandOut row = std::move(queue.front());
      queue.pop_front();
      relay::Settled s;
      s.id = static_cast<int64_t>(row.seq);
      const bool fails = down_ || (failing_ && dice_.chance(10));
      s.fate = fails ? relay::Fate::failed : relay::Fate::done;
      s.kind = down_ ? ErrorKind::not_connected : ErrorKind::transient;
      if (!fails) seen(row.row.id);
      all.rows.push_back(s);
      if (!fails) continue;
      for (const LogHandOut& later : queue) {
        relay::Settled released;
        released.id = static_cast<int64_t>(later.seq);
        all.rows.push_back(released);
      }
      queue.clear();
    }
    step(p, std::move(all));
  }
  void work_held() {
    std::set<std::string> waiting;
    for (Model::Held& h : model_.held) {
      if (h.sent || (!h.key.empty() && waiting.contains(h.key))) continue;
      if (h.due <= now_ && !down_ && dice_.chance(20)) {
        h.sent = true;
        seen(h.id);
        continue;
      }
      waiting.insert(h.key);
    }
  }
  void seen(int64_t id) {
    ++count_[id];
    if (count_[id] > 1) return;
    const std::string& key = model_.log[static_cast<size_t>(id) - 1];
    if (key.empty()) return;
    EXPECT_GT(id, last_[key]) << "key " << key;
    last_[key] = id;
  }
  bool all_done() const {
    return count_.size() == model_.log.size() && model_.position == model_.log.size() &&
           std::ranges::all_of(model_.held, [](const Model::Held& h) { return h.sent; });
  }
  void check() {
    EXPECT_EQ(count_.size(), model_.log.size()) << "rows lost or stuck";
    EXPECT_EQ(model_.position, model_.log.size());
    if (!calm_) return;
    for (const auto& [id, count] : count_) EXPECT_EQ(count, 1) << "row " << id;
  }

  Dice dice_;
  LogPolicy policy_;
  Model model_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<int64_t, int> count_;
  std::map<std::string, int64_t> last_;
  SteadyTime now_{seconds(1000)};
  size_t hold_all_limit_ = 0;
  int names_ = 0;
  bool calm_ = false;
  bool down_ = false;
  bool failing_ = false;
};

TEST(LogRelaySimulation, NothingIsLostAndKeysKeepTheirOrder) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation simulation(seed);
    simulation.run();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace drom
