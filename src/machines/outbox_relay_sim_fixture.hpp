// Runs the relay machine against a model of the database, with several relays whose clocks run at
// rates of their own, writers that commit in any order, rows that expire, targets that fail,
// processes that die or freeze at every point, on virtual time from a seed. At the end: nothing
// lost, every order kept, duplicates only where a crash, a freeze or a failure explains them.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "machines/outbox_relay_sim_store.hpp"

namespace drom::sim {

using std::chrono::seconds;

// What was committed and what became of it, whatever the table says by now.
struct Written {
  std::string order;  // its key, or what orders it otherwise
  int seq = 0;        // in the order of its commits; 0: of no order (no key, or available later)
  bool poison = false;
  bool died = false;
  std::optional<SteadyTime> expires;
  int delivered = 0;
};

// What a seed does to its world, in percent per turn or call.
struct Faults {
  int hurt = 0;
  int lost = 0;      // connections, before or after the transaction
  int fail = 0;      // of a delivery
  int down = 0;      // the target
  int poison = 0;    // rows that fail for good until the world is healed
  int rollback = 0;  // commits of writers whose answer is lost, half of which did not happen
  int jump = 0;      // of the database's clock
  int expire = 0;    // rows that do
  int drift = 0;     // of a relay's clock against the true one, either way
  int cut = 0;       // of processes from their database
};

// The clocks of real machines differ far less.
inline constexpr int kDriftMax = 10;

// A trip on its way: the database does it at one time, the answer arrives later.
struct Trip {
  std::variant<std::monostate, LeaseRequest, DataTrip, ReleaseTrip> what;
  SteadyTime asked{};  // by the relay's clock
  SteadyTime runs_at{};
  SteadyTime arrives_at{};
  bool ran = false;
  LeaseAnswer lease;
  relay::DataAnswer data;
};

// What the engine does with a key: one at a time, the later ones released after a failure.
struct Process {
  std::string owner;
  std::unique_ptr<OutboxRelay> relay;
  SteadyTime born{};
  SteadyTime origin{};   // what its clock said then
  int rate = 100;        // of its clock, in percent
  SteadyTime wake_at{};  // by its clock
  bool ready = false;
  std::optional<Trip> trip;
  std::map<std::string, std::deque<int64_t>> queues;  // per key, or per row without one
  std::map<std::string, SteadyTime> busy_until;
  std::map<int64_t, milliseconds> old_news;  // how old the answer was that told of the row
  SteadyTime frozen_until{};
  SteadyTime cut_off_until{};  // works, but does not reach the database
  bool stopping = false;

  SteadyTime clock(SteadyTime now) const { return origin + (now - born) * rate / 100; }
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed, Bug bug = Bug::none) : dice_{seed} { store_.bug = bug; }

  // What is wrong; empty when all is well.
  std::vector<std::string> run() {
    choose();
    const SteadyTime heal_at = now_ + seconds(2);
    const SteadyTime end = now_ + seconds(120);
    const int relays = static_cast<int>(dice_.between(1, 3));
    for (int i = 0; i < relays; ++i) start();
    while (now_ < end && problems_.empty()) {
      if (!healed_ && now_ >= heal_at) healed_ = true;
      if (!healed_) write();
      commit();
      if (healed_)
        unpark();
      else
        hurt();
      target_down_ = !healed_ && (target_down_ ? !dice_.chance(10) : dice_.chance(faults_.down));
      for (size_t i = 0; i < processes_.size(); ++i) {  // a turn may start one
        serve(*processes_[i]);
        turn(*processes_[i]);
      }
      now_ += milliseconds(dice_.between(1, 20));
      if (healed_ && done()) break;
    }
    check();
    return problems_;
  }
  uint64_t trace() const { return trace_; }
  // What the world of this seed came to, to prove that the faults are not idle.
  struct Tally {
    size_t rows = 0, twice = 0, died = 0, parked = 0, purged = 0, stale = 0, expired = 0;
    std::set<Ordering> orderings;
    int drift = 0;
  };
  const Tally& tally() const { return tally_; }

 private:
  void choose() {
    policy_.read_max = static_cast<size_t>(dice_.between(2, 64));
    policy_.attempts_max = dice_.chance(50) ? 0 : static_cast<int>(dice_.between(1, 4));
    policy_.on_exhausted = static_cast<OnExhausted>(dice_.between(0, 2));
    policy_.lease = milliseconds(dice_.between(300, 1500));
    policy_.retry.initial = milliseconds(50);
    policy_.retry.maximum = milliseconds(500);
    policy_.pause.maximum = milliseconds(500);
    policy_.purge_max = dice_.chance(50) ? static_cast<size_t>(dice_.between(1, 20)) : 0;
    policy_.ordering = dice_.chance(60)   ? Ordering::key
                       : dice_.chance(60) ? Ordering::total
                                          : Ordering::none;
    store_.ordering = policy_.ordering;
    store_.lease = policy_.lease;
    any_order_ = dice_.chance(30);
    work_max_ = policy_.ordering == Ordering::total ? 5 : 60;
    if (dice_.chance(25)) {  // rows stay long in a buffer
      backlog_ = 40;
      policy_.read_max = 64;
      work_max_ *= 5;
    }
    calm_ = dice_.chance(10);  // no faults at all: then not one duplicate
    if (calm_) return;
    const auto some = [&](int64_t max) {
      return dice_.chance(60) ? static_cast<int>(dice_.between(1, max)) : 0;
    };
    const bool jumps = dice_.chance(20);
    faults_ = {some(8),  some(15),      some(20), some(5),         some(5),
               some(10), jumps ? 2 : 0, some(20), some(kDriftMax), some(6)};
  }
  void problem(std::string text) {
    if (problems_.size() < 10) problems_.push_back(std::move(text));
  }
  void note(uint64_t what) { trace_ = (trace_ ^ what) * 0x100000001b3u; }
  SteadyTime database_now() const { return now_ + jumped_; }

  void start() {
    auto process = std::make_unique<Process>();
    process->owner = "relay" + std::to_string(++names_);
    process->relay = std::make_unique<OutboxRelay>(policy_);
    process->born = now_;
    process->origin = SteadyTime(seconds(dice_.between(1, 1'000'000)));
    process->rate = 100 + static_cast<int>(dice_.between(-1, 1)) * faults_.drift;
    if (store_.bug == Bug::wild_clocks) process->rate = 50;
    process->wake_at = process->origin;
    tally_.drift = std::max(tally_.drift, std::abs(process->rate - 100));
    processes_.push_back(std::move(process));
  }

  // Ids are drawn early. A writer that holds what it protects commits in their order: within its
  // key, or all rows in total order; some worlds have writers that do not.
  void write() {
    if (!dice_.chance(40)) return;
    const int count = static_cast<int>(dice_.between(0, 2)) + std::exchange(backlog_, 0);
    for (int i = 0; i < count; ++i) {
      StoredRow row;
      const int64_t key = dice_.between(0, 9);
      if (key > 0) row.key = "key" + std::to_string(key);
      const int64_t id = ++last_id_;
      row.bucket = static_cast<int>(key > 0 ? (key * 17) % kLeaseBuckets : id % kLeaseBuckets);
      if (dice_.chance(5)) row.available = database_now() + milliseconds(dice_.between(1, 1500));
      if (dice_.chance(faults_.expire))
        row.expires = database_now() + milliseconds(dice_.between(1, 1500));
      store_.rows.emplace(id, std::move(row));
      uncommitted_.push_back(id);
    }
  }
  void commit() {
    std::set<std::string> held;
    std::erase_if(uncommitted_, [&](int64_t id) {
      StoredRow& row = store_.rows.at(id);
      const std::string order = order_of(row);
      const bool now = healed_ || (!held.contains(order) && dice_.chance(40));
      if (!now) {
        if (!order.empty() && !any_order_) held.insert(order);
        return false;
      }
      if (!healed_ && dice_.chance(faults_.rollback) && dice_.chance(50)) {
        store_.rows.erase(id);
        return true;
      }
      row.visible = true;
      Written& written = written_[id];
      written.order = order;
      written.poison = dice_.chance(faults_.poison);
      written.expires = row.expires;
      if (!order.empty() && !row.available) {
        written.seq = static_cast<int>(orders_[order].size()) + 1;
        orders_[order].push_back(id);
      }
      return true;
    });
  }
  // Rows of the same text wait for each other; those of none for nobody.
  std::string order_of(const StoredRow& row) const {
    if (policy_.ordering == Ordering::total) return "all";
    return policy_.ordering == Ordering::key ? row.key : std::string();
  }
  // Somebody looks after the parked rows.
  void unpark() {
    for (auto& [id, row] : store_.rows) {
      if (row.status != Status::parked) continue;
      ++tally_.parked;
      row.status = Status::due;
      row.attempts = 0;
      row.next_attempt.reset();
    }
  }

  Process& any() {
    return *processes_[static_cast<size_t>(dice_.between(0, std::ssize(processes_) - 1))];
  }
  void hurt() {
    if (dice_.chance(faults_.jump)) jumped_ += milliseconds(dice_.between(-3000, 3000));
    if (dice_.chance(faults_.cut))
      any().cut_off_until = now_ + milliseconds(dice_.between(1, 2 * policy_.lease.count()));
    if (!dice_.chance(faults_.hurt)) return;
    const size_t victim =
        static_cast<size_t>(dice_.between(0, static_cast<int64_t>(processes_.size()) - 1));
    Process& process = *processes_[victim];
    if (dice_.chance(40)) {  // kill -9, and a new one
      if (process.trip && !process.trip->ran && dice_.chance(50)) run(process);
      processes_.erase(processes_.begin() + static_cast<ptrdiff_t>(victim));
      start();
    } else if (dice_.chance(50)) {  // frozen, perhaps for longer than the lease
      if (process.frozen_until < SteadyTime::max())
        process.frozen_until = now_ + milliseconds(dice_.between(1, 2 * policy_.lease.count()));
    } else if (!process.stopping && dice_.chance(60)) {
      process.stopping = true;
      if (store_.bug == Bug::lost_last_batch) settle_unsent(process);
      step(process, relay::Stop());
    }
  }
  void settle_unsent(Process& process) {
    relay::SettledAll settled;
    for (const auto& [lane, queue] : process.queues) {
      for (const int64_t id : queue) {
        relay::Settled done;
        done.id = id;
        done.fate = relay::Fate::done;
        settled.rows.push_back(std::move(done));
      }
    }
    process.queues.clear();
    step(process, std::move(settled));
  }

  void step(Process& process, RelayEvent event) {
    apply(process, process.relay->step(std::move(event), process.clock(now_)));
  }
  void apply(Process& process, RelayEffects effects) {
    const SteadyTime clock = process.clock(now_);
    process.wake_at = effects.wake_at;
    process.ready = effects.ready;
    if (!std::holds_alternative<std::monostate>(effects.trip)) {
      if (process.trip) problem("two trips at once");
      Trip trip;
      trip.what = std::move(effects.trip);
      trip.asked = clock;
      trip.runs_at = now_ + milliseconds(dice_.between(0, 15));
      trip.arrives_at = trip.runs_at + milliseconds(dice_.between(0, 10));
      process.trip.emplace(std::move(trip));
    }
    if (!process.trip && !effects.finished && effects.wake_at <= clock)
      problem("wants to be woken in the past: the shell would spin");
    for (RelayRow& row : effects.rows) {
      note(static_cast<uint64_t>(row.id));
      const auto stored = store_.rows.find(row.id);
      if (store_.bug == Bug::mark_before_publish && stored != store_.rows.end())
        stored->second.status = Status::sent;
      if (faults_.jump == 0) may_be_sent(process, row);
      const std::string lane = row.key.empty() ? "#" + std::to_string(row.id) : row.key;
      if (process.queues[lane].empty()) process.busy_until[lane] = now_ + some_work();
      process.queues[lane].push_back(row.id);
    }
    if (effects.finished) process.frozen_until = SteadyTime::max();
  }
  // Only where the database's clock runs evenly can a relay know.
  void may_be_sent(const Process& process, const RelayRow& row) {
    const StoredLease& lease = store_.leases[static_cast<size_t>(row.bucket)];
    if (lease.owner != process.owner || lease.expires <= database_now())
      problem("row " + std::to_string(row.id) + " handed out after the lease had run out");
    const std::optional<SteadyTime>& expires = written_.at(row.id).expires;
    if (expires && database_now() > *expires + process.old_news.at(row.id) + drifted())
      problem("row " + std::to_string(row.id) + " handed out after it had expired");
  }
  // What the clocks may differ by over the life of a row in a buffer.
  milliseconds drifted() const {
    return faults_.drift == 0 ? milliseconds(0) : 2 * policy_.lease * kDriftMax / 100;
  }

  void turn(Process& process) {
    if (now_ < process.frozen_until) return;
    if (process.trip && process.trip->ran && process.trip->arrives_at <= now_) answer(process);
    if (now_ < process.frozen_until) return;
    if (process.wake_at <= process.clock(now_)) step(process, relay::Tick());
    // As the shell does: it asks again only when it is told that there is something.
    if (!process.stopping && process.ready) {
      relay::Take take{static_cast<size_t>(dice_.between(1, 16))};
      RelayEffects effects = process.relay->step(take, process.clock(now_));
      if (effects.rows.empty() && effects.ready)
        problem("ready, but nothing to take: the shell would spin");
      apply(process, std::move(effects));
    }
    deliver(process);
  }

  // The database does what it was asked, whatever has become of the process in the meantime.
  void serve(Process& process) {
    if (process.trip && !process.trip->ran && process.trip->runs_at <= now_) run(process);
  }
  void run(Process& process) {
    Trip& trip = *process.trip;
    trip.ran = true;
    trip.runs_at = now_;
    if (now_ < process.cut_off_until) return;
    if (!healed_ && dice_.chance(faults_.lost)) return;  // on the way there
    if (auto* request = std::get_if<LeaseRequest>(&trip.what)) {
      trip.lease = store_.ask(process.owner, *request, database_now());
    } else if (auto* data = std::get_if<DataTrip>(&trip.what)) {
      trip.data = run(process, *data);
    } else {
      store_.leave(process.owner, database_now());
      trip.lease.ok = true;
    }
  }
  void answer(Process& process) {
    Trip trip = std::move(*process.trip);
    process.trip.reset();
    const bool lost = !healed_ && dice_.chance(faults_.lost);
    if (std::holds_alternative<DataTrip>(trip.what)) {
      if (lost) trip.data = relay::DataAnswer();
      for (const RelayRow& row : trip.data.rows)
        process.old_news[row.id] = std::chrono::ceil<milliseconds>(now_ - trip.runs_at);
      step(process, std::move(trip.data));
      return;
    }
    if (lost) trip.lease = LeaseAnswer();
    trip.lease.asked = trip.asked;
    const bool left = std::holds_alternative<ReleaseTrip>(trip.what) && trip.lease.ok;
    step(process, std::move(trip.lease));
    if (left) start();
  }

  // A mark under a lease that is not the owner's any more may not change anything.
  relay::DataAnswer run(const Process& process, const DataTrip& trip) {
    size_t stale = 0;
    for (const SentMark& mark : trip.sent)
      stale += store_.stale(process.owner, mark.bucket, mark.token) ? 1 : 0;
    for (const FailedMark& mark : trip.failed)
      stale += store_.stale(process.owner, mark.bucket, mark.token) ? 1 : 0;
    relay::DataAnswer out = store_.run(process.owner, trip, database_now());
    tally_.stale += stale;
    tally_.purged += out.purged;
    if (out.refused < stale) problem("a stale mark was taken");
    for (const FailedMark& mark : trip.failed) {
      const auto row = store_.rows.find(mark.id);
      if (row == store_.rows.end() || row->second.status != Status::dead) continue;
      Written& written = written_.at(mark.id);
      written.died = true;
      if (!mark.error.starts_with("expired")) continue;
      ++tally_.expired;
      if (!written.expires || (faults_.jump == 0 && database_now() + drifted() < *written.expires))
        problem("row " + std::to_string(mark.id) + " given up before it had expired");
    }
    return out;
  }

  void delivered(int64_t id) {
    note(static_cast<uint64_t>(id) << 32);
    Written& row = written_.at(id);
    if (row.delivered++ > 0 || row.seq == 0 || row.died) return;
    const std::vector<int64_t>& before = orders_[row.order];
    for (size_t i = 0; i + 1 < static_cast<size_t>(row.seq); ++i) {
      // Who committed first but drew a later id comes later; who has expired holds up nobody.
      const Written& earlier = written_.at(before[i]);
      if (before[i] < id && earlier.delivered == 0 && !earlier.died && !earlier.expires)
        problem("row " + std::to_string(id) + " of " + row.order + " overtook");
    }
  }

  milliseconds some_work() { return milliseconds(dice_.between(0, work_max_)); }

  void deliver(Process& process) {
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
      } else if (!healed_ && written_.at(s.id).poison) {
        s.fate = relay::Fate::failed;
        s.kind = ErrorKind::data;
      } else if (!healed_ && dice_.chance(faults_.fail)) {
        s.fate = relay::Fate::failed;
        s.kind = ErrorKind::transient;
      } else {
        s.fate = relay::Fate::done;
        delivered(s.id);
      }
      if (store_.bug == Bug::drop_on_nack) s.fate = relay::Fate::done;
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
        process.busy_until[lane] = now_ + some_work();
        ++at;
      }
    }
    if (!settled.rows.empty()) step(process, std::move(settled));
  }

  bool done() const {
    return uncommitted_.empty() && std::ranges::all_of(store_.rows, [](const auto& r) {
             return r.second.status == Status::sent || r.second.status == Status::dead;
           });
  }

  void check() {
    for (const auto& [id, row] : store_.rows)
      if (row.status == Status::due || row.status == Status::parked)
        problem("row " + std::to_string(id) + " of '" + row.key + "' was not sent in time");
    for (const auto& [id, row] : written_) {
      ++tally_.rows;
      tally_.twice += row.delivered > 1 ? 1 : 0;
      tally_.died += row.died ? 1 : 0;
      if (row.delivered == 0 && !row.died) problem("row " + std::to_string(id) + " lost");
      if (row.died && !row.expires && policy_.on_exhausted != OnExhausted::skip)
        problem("row " + std::to_string(id) + " may not die");
      if (calm_ && row.delivered > 1) problem("row " + std::to_string(id) + " sent twice");
    }
    tally_.orderings.insert(policy_.ordering);
    note(static_cast<uint64_t>(now_.time_since_epoch().count()));
  }

  Dice dice_;
  RelayPolicy policy_;
  Faults faults_;
  Tally tally_;
  sim::Store store_;
  SteadyTime now_{seconds(1000)};
  milliseconds jumped_{0};  // the database's clock
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<int64_t, Written> written_;
  std::map<std::string, std::vector<int64_t>> orders_;  // rows by seq
  std::vector<int64_t> uncommitted_;
  std::vector<std::string> problems_;
  uint64_t trace_ = 0xcbf29ce484222325u;
  int64_t last_id_ = 0;
  int names_ = 0;
  bool calm_ = false;
  bool any_order_ = false;
  int backlog_ = 0;       // rows of the first write
  int64_t work_max_ = 0;  // ms, of one delivery
  bool healed_ = false;
  bool target_down_ = false;
};

}  // namespace drom::sim
