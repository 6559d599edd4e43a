// All decisions of an outbox relay that could lose, double or reorder a row: what to read, hand
// out, mark, retry, give up, and when. Pure: events in, effects out; the shell (connectors/outbox)
// talks to the database and to the engine. One per consumer; no clock, no randomness, no I/O of its
// own.
//
// Invariants:
// - A row counts as sent only when the route has settled it as done and the database took the mark.
// - At most one handed-out group of a key is under way; whatever ends it other than done drops the
//   key's later rows from the buffer, so that the next read finds the head first.
// - Reads name what is under way instead of remembering a highest id: commit order is not id order.
// - A row whose time has run out is given up, not handed out; nobody waits for it.
// - Rows of a bucket that has changed hands are forgotten; their late receipts change nothing.
// Pattern: Polling Publisher (microservices.io), Competing Consumers by key.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/base/value.hpp"
#include "machines/backoff.hpp"
#include "machines/bucket_lease.hpp"

namespace drom {

// What becomes of a row that has used up its attempts or can never be delivered.
enum class OnExhausted : uint8_t {
  skip,   // the row is dead; later rows of its key go on
  park,   // the row is parked; later rows of its key wait for a person
  block,  // the row is tried for ever; later rows of its key wait
};

// Which rows wait for which.
enum class Ordering : uint8_t {
  none,   // nobody waits
  key,    // a row waits for the earlier ones of its key
  total,  // a row waits for all earlier ones; one relay holds everything
};

struct RelayPolicy {
  Ordering ordering = Ordering::key;
  size_t read_max = 512;        // rows in one read
  size_t mark_max = 512;        // marks that do not wait for company any more
  milliseconds mark_delay{20};  // how long a mark may wait for company
  int attempts_max = 10;        // 0 = no end
  Backoff retry;
  OnExhausted on_exhausted = OnExhausted::skip;
  milliseconds lease{10'000};
  milliseconds poll_min{50};  // between reads that find nothing, growing to poll_max
  milliseconds poll_max{1000};
  Backoff pause{milliseconds(200), 2, milliseconds(30'000), 0.2};  // the target is not reachable
  size_t purge_max = 0;  // sent rows deleted in one go when too old; 0 = never
};

struct RelayRow {
  int64_t id = 0;
  int bucket = 0;
  int attempts = 0;                        // that failed before
  std::string key;                         // empty: no order asked for
  std::optional<milliseconds> expires_in;  // when it was read, by the database's clock
  List columns;                            // the shell's

  SteadyTime expires_at = SteadyTime::max();  // the machine's
};

// Events.
namespace relay {
struct Tick {};
struct Woken {};  // somebody has inserted rows
struct Take {
  size_t max = 0;
};
enum class Fate : uint8_t { done, failed, released };
struct Settled {
  int64_t id = 0;
  Fate fate = Fate::released;
  ErrorKind kind = ErrorKind::bug;  // of a failure
  std::string error;
  std::optional<milliseconds> retry_after;
  uint64_t dice = 0;  // a random number for the jitter
};
struct SettledAll {
  std::vector<Settled> rows;
};
struct DataAnswer {
  bool ok = false;     // false: the transaction did not happen, or nobody knows
  size_t refused = 0;  // marks that changed nothing
  std::vector<RelayRow> rows;
  size_t purged = 0;
};
struct Stop {};
// The rest of what is under way will never be settled.
struct Abandon {};
}  // namespace relay

using RelayEvent = std::variant<relay::Tick, relay::Woken, relay::Take, relay::SettledAll,
                                LeaseAnswer, relay::DataAnswer, relay::Stop, relay::Abandon>;

// Effects.
struct SentMark {
  int64_t id = 0;
  int bucket = 0;
  int64_t token = 0;
};

struct FailedMark {
  enum class To : uint8_t { retry, dead, parked };
  int64_t id = 0;
  int bucket = 0;
  int64_t token = 0;
  To to = To::retry;
  int attempts = 0;
  milliseconds delay{0};  // until the retry, by the database's clock
  std::string error;
  std::string key;
};

struct ReadRequest {
  size_t max = 0;
  bool all_buckets = true;
  std::vector<int> buckets;            // unless all
  std::vector<std::string> busy_keys;  // not these: an earlier row of the key is under way
  std::vector<int64_t> busy_ids;       // not these: other rows under way
};

// One transaction, in this order.
struct DataTrip {
  std::vector<SentMark> sent;
  std::vector<FailedMark> failed;
  std::optional<ReadRequest> read;
  size_t purge = 0;  // delete at most so many old sent rows
};

struct ReleaseTrip {};  // give back all buckets, leave the circle of relays

struct RelayEffects {
  // Starts now; its answer is the next LeaseAnswer or DataAnswer. Never two at once.
  std::variant<std::monostate, LeaseRequest, DataTrip, ReleaseTrip> trip;
  std::vector<RelayRow> rows;              // the answer to Take, in the order to be sent
  bool ready = false;                      // a Take finds something
  bool finished = false;                   // stopped, everything settled, marked and given back
  SteadyTime wake_at = SteadyTime::max();  // the next Tick
};

class OutboxRelay {
 public:
  explicit OutboxRelay(RelayPolicy policy);
  RelayEffects step(RelayEvent event, SteadyTime now);

  size_t in_flight() const { return in_flight_.size(); }
  size_t buffered() const { return buffer_.size(); }
  bool paused(SteadyTime now) const { return now < pause_until_; }
  int held_buckets() const { return lease_.held(); }

 private:
  struct InFlight {
    int bucket;
    int64_t token;
    int attempts;
    std::string key;
  };
  enum class Trip : uint8_t { none, lease, data, release };

  void on(relay::Tick, SteadyTime, RelayEffects&) {}
  void on(relay::Woken, SteadyTime now, RelayEffects& out);
  void on(relay::Take take, SteadyTime now, RelayEffects& out);
  void on(relay::SettledAll settled, SteadyTime now, RelayEffects& out);
  void on(LeaseAnswer answer, SteadyTime now, RelayEffects& out);
  void on(relay::DataAnswer answer, SteadyTime now, RelayEffects& out);
  void on(relay::Stop, SteadyTime now, RelayEffects& out);
  void on(relay::Abandon, SteadyTime now, RelayEffects& out);

  void settle(relay::Settled settled, SteadyTime now);
  void fail(relay::Settled settled, InFlight row, SteadyTime now);
  void pause(milliseconds duration, SteadyTime now);
  void leave_bucket(int bucket, SteadyTime now);
  void drop_buffered(const std::string& key);
  void forget_bucket(int bucket);
  bool may_hand_out(SteadyTime now) const;
  bool any_free() const;
  bool holds_enough() const;
  void add_to_buffer(RelayRow row, SteadyTime now);
  void give_up_expired(RelayRow row, SteadyTime now);
  void plan(SteadyTime now, RelayEffects& out);
  bool marks_due(SteadyTime now) const;
  SteadyTime read_due() const;
  ReadRequest read_request() const;
  void start_data(DataTrip trip, SteadyTime now, RelayEffects& out);
  void database_failed(SteadyTime now);
  SteadyTime next_wake(SteadyTime now) const;

  RelayPolicy policy_;
  BucketLease lease_;
  std::deque<RelayRow> buffer_;  // read, not handed out; in id order
  std::unordered_map<int64_t, InFlight> in_flight_;
  std::unordered_map<std::string, int> keys_in_flight_;
  std::array<int, kLeaseBuckets> load_{};  // rows under way: handed out or waiting for their mark
  std::vector<SentMark> sent_;
  std::vector<FailedMark> failed_;
  SteadyTime marks_since_{};

  Trip trip_ = Trip::none;
  DataTrip under_way_;        // the marks of the trip, in case it fails
  bool read_around_ = false;  // the last read left out keys under way
  bool news_ = false;         // woken during a read
  int database_failures_ = 0;
  SteadyTime database_retry_at_ = SteadyTime::min();

  milliseconds idle_;
  SteadyTime next_read_at_ = SteadyTime::min();
  SteadyTime emptied_at_ = SteadyTime::min();  // when the buffer ran empty
  SteadyTime retry_at_ = SteadyTime::max();    // the earliest retry that we know of
  SteadyTime purge_at_ = SteadyTime::min();

  SteadyTime pause_until_ = SteadyTime::min();
  int pauses_ = 0;
  bool probing_ = false;  // after a pause one row goes first
  bool stopping_ = false;
  bool released_ = false;
};

}  // namespace drom
