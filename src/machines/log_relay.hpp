// All decisions of an outbox relay that reads a log (insert-only tables, or the database's own
// write-ahead log) that could lose, double or reorder an event. Pure: events in, effects out; the
// shell (connectors/outbox) talks to the database and to the engine. One per consumer; no clock, no
// randomness, no I/O of its own.
//
// Rows come in the order of the log and are handed out per key. A position of the log is
// checkpointed when every row up to it is done or held. A row that fails is *held*: in the
// transaction of the checkpoint that passes it, it goes to the claim table behind the log, where
// machines/outbox_relay works it. Later rows of its key go there too, until none is left.
//
// Invariants:
// - The checkpoint is the contiguous prefix: it never passes a row that is neither done nor held.
// - At most one handed-out group of a key is under way, and none while the claim table has unsent
//   rows of the key that came from here.
// - One relay at a time reads the log, under a lease; each checkpoint names the lease's token.
// - A checkpoint whose result is unknown is looked up before anything else is written.
// Pattern: Transaction Log Tailing and Polling Publisher (microservices.io).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "machines/outbox_relay.hpp"

namespace drom {

// A place in the log, in the log's order. The shell knows what the numbers mean; zero is no place.
struct LogPosition {
  uint64_t major = 0;
  uint64_t minor = 0;
  friend auto operator<=>(const LogPosition&, const LogPosition&) = default;
  bool is_set() const { return major != 0 || minor != 0; }
};

struct LogPolicy {
  size_t room = 8192;      // rows that are not behind a checkpoint
  size_t read_max = 2000;  // rows in one read
  size_t checkpoint_max = 2000;
  milliseconds checkpoint_delay{50};
  milliseconds lazy_delay{10'000};  // of a checkpoint that passes no row
  int attempts_max = 10;            // 0 = no end
  Backoff retry;
  OnExhausted on_exhausted = OnExhausted::skip;
  milliseconds lease{10'000};
  milliseconds poll_min{50};
  milliseconds poll_max{1000};
  Backoff pause{milliseconds(200), 2, milliseconds(30'000), 0.2};
  milliseconds ask_every{250};  // whether held keys are free again
  size_t ask_max = 500;
};

struct LogRow {
  LogPosition position;  // where the log stands once this row and all before it are done
  int64_t id = 0;        // of its row in the table; 0: it has none
  bool later = false;    // its time has not come, or is over: the claim table keeps it
  std::optional<milliseconds> expires_in;     // when it was read, by the database's clock
  SteadyTime expires_at = SteadyTime::max();  // the machine's
  std::string key;                            // empty: no order asked for
  List columns;                               // the shell's
};

// A row for the claim table.
struct Hold {
  int64_t id = 0;
  FailedMark::To to = FailedMark::To::retry;
  int attempts = 0;
  milliseconds delay{0};
  std::string error;
  std::string key;
  List columns;  // only of rows without a row in the table
};

// Events.
namespace logs {
struct Tick {};
struct Woken {};
struct Take {
  size_t max = 0;
};
struct LeaseAnswer {
  bool ok = false;
  SteadyTime asked{};
  int64_t token = 0;  // 0: another relay has the lease
  // When asked to load:
  uint64_t serial = 0;                 // of the last checkpoint that the database has
  std::vector<std::string> held_keys;  // with unsent rows in the claim table
  bool hold_all = false;               // there are too many to name
};
struct Rows {
  std::vector<LogRow> rows;
  std::optional<LogPosition> end;  // the log has nothing more up to here
};
struct TripAnswer {
  bool ok = false;      // false: the transaction did not happen, or nobody knows
  bool fenced = false;  // certainly nothing happened: the lease has changed hands
  Rows read;
  bool more = false;                   // the read was full
  std::vector<std::string> free_keys;  // of those asked about
  std::vector<std::string> held_keys;  // when asked to reload
  bool hold_all = false;
};
// Whether rows are to be read by trips; else they are pushed.
struct Pull {
  bool on = true;
};
struct Stop {};
struct Abandon {};
}  // namespace logs

using LogEvent =
    std::variant<logs::Tick, logs::Woken, logs::Take, relay::SettledAll, logs::LeaseAnswer,
                 logs::TripAnswer, logs::Rows, logs::Pull, logs::Stop, logs::Abandon>;

// Effects.
// Renews or claims the lease. A new token means: go on reading from the last checkpoint.
struct LogLease {
  bool load = false;
};

// One transaction, refused when the token is no longer ours.
struct LogTrip {
  int64_t token = 0;
  uint64_t serial = 0;  // of this checkpoint; 0: there is none
  LogPosition position;
  std::vector<Hold> holds;
  std::vector<std::string> ask;  // which of these keys have no unsent rows in the claim table
  bool reload = false;           // which keys have
  size_t read = 0;               // read at most so many rows
};

struct LogRelease {};

struct LogHandOut {
  uint64_t seq = 0;  // names the row in relay::Settled::id
  LogRow row;
};

struct LogEffects {
  std::variant<std::monostate, LogLease, LogTrip, LogRelease> trip;  // never two at once
  std::vector<LogHandOut> rows;
  bool ready = false;
  bool finished = false;
  size_t room = 0;  // how many rows may be pushed
  SteadyTime wake_at = SteadyTime::max();
};

class LogRelay {
 public:
  explicit LogRelay(LogPolicy policy) : policy_(policy), idle_(policy.poll_min) {}
  LogEffects step(LogEvent event, SteadyTime now);

  int64_t token() const { return token_; }
  bool leads(SteadyTime now) const { return token_ != 0 && loaded_ && now < lease_until_; }
  size_t in_flight() const { return out_; }
  size_t outstanding() const { return entries_.size(); }
  bool paused(SteadyTime now) const { return now < pause_until_; }

 private:
  enum class State : uint8_t { waiting, out, done, hold, barrier };
  struct Entry {
    State state = State::waiting;
    LogRow row;
    Hold hold;
  };
  struct Key {
    std::deque<uint64_t> waiting;  // in order
    int out = 0;
    int pending = 0;    // holds that the database has not taken yet
    bool held = false;  // the claim table has, or will have, unsent rows
  };
  using Keys = std::unordered_map<std::string, Key>;
  enum class Trip : uint8_t { none, lease, data, release };

  void on(logs::Tick, SteadyTime) {}
  void on(logs::Woken, SteadyTime now);
  void on(logs::LeaseAnswer answer, SteadyTime now);
  void on(logs::TripAnswer answer, SteadyTime now);
  void on(logs::Rows rows, SteadyTime now);
  void on(relay::SettledAll settled, SteadyTime now);
  void on(logs::Pull pull, SteadyTime now);
  void on(logs::Stop, SteadyTime now);
  void on(logs::Abandon, SteadyTime now);
  void on(logs::Take, SteadyTime) {}
  void take(size_t max, SteadyTime now, LogEffects& out);

  Entry* entry(uint64_t seq);
  void arrive(LogRow row, SteadyTime now);
  void settle(relay::Settled settled, SteadyTime now);
  void fail(uint64_t seq, Entry& e, relay::Settled settled, SteadyTime now);
  void put_back(uint64_t seq, Entry& e);
  void hold(Entry& e, Hold how);
  bool hold_expired(Entry& e, SteadyTime now);
  void hold_key(const std::string& name);
  void release_key(Keys::iterator key);
  void advance(SteadyTime now);
  void taken(SteadyTime now);
  void take_held(std::vector<std::string> keys, bool all);
  void forget_all();
  void pause(milliseconds duration, SteadyTime now);
  void database_failed(SteadyTime now);

  bool may_hand_out(SteadyTime now) const;
  bool has_due() const { return due_.position.is_set() || !due_.holds.empty(); }
  SteadyTime checkpoint_at() const;
  SteadyTime ask_at() const;
  SteadyTime read_at() const;
  size_t room() const;
  void plan(SteadyTime now, LogEffects& out);
  SteadyTime next_wake(SteadyTime now) const;

  LogPolicy policy_;
  // Rows by sequence number, from first_seq_ on; numbers are never used twice.
  std::deque<Entry> entries_;
  uint64_t first_seq_ = 1;
  Keys keys_;
  std::map<uint64_t, Keys::value_type*> ready_;  // the first waiting row of each idle key
  size_t out_ = 0;
  std::deque<std::string> held_;  // keys to ask about, in turns; may name keys that are free
  bool hold_all_ = false;

  LogTrip due_;  // position and holds of the next checkpoint
  size_t due_rows_ = 0;
  SteadyTime due_since_{};
  LogTrip under_way_;
  size_t under_way_rows_ = 0;
  bool unsure_ = false;  // whether the database has taken under_way_
  uint64_t serial_ = 0;

  Trip trip_ = Trip::none;
  bool loading_ = false;
  int64_t token_ = 0;
  bool loaded_ = false;
  SteadyTime lease_until_ = SteadyTime::min();
  SteadyTime lease_due_ = SteadyTime::min();

  bool pulls_ = true;
  milliseconds idle_;
  bool news_ = false;
  SteadyTime next_read_at_ = SteadyTime::min();
  SteadyTime ask_due_ = SteadyTime::min();
  int database_failures_ = 0;
  SteadyTime database_retry_at_ = SteadyTime::min();
  SteadyTime pause_until_ = SteadyTime::min();
  int pauses_ = 0;
  bool probing_ = false;
  bool stopping_ = false;
  bool released_ = false;
};

}  // namespace drom
