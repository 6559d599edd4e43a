// What a consumer of a partitioned log (Kafka) decides without I/O: which record goes to the route
// next, which one is tried again and when, and up to where each partition may be committed. Only
// the contiguous done prefix of a partition is ever committed, a failed record stays until it is
// done, and what was handed out before a revocation is ignored when it ends after it. Pure; owned
// by the consumer. Pattern: acknowledgement window.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "drom/base/time.hpp"
#include "machines/backoff.hpp"

namespace drom {

struct WindowPolicy {
  // A failed record holds up the later ones of its partition; else they pass it, and only the
  // committed offset waits.
  bool stop_at_failure = true;
  Backoff retry{std::chrono::seconds(1), 2, std::chrono::seconds(30), 0.2};
};

class PartitionWindow {
 public:
  // A small number that the shell gives to a partition and never reuses for another one.
  using Partition = uint32_t;
  // What the shell keeps of a record until it is done: enough to hand it out again.
  using Payload = std::unique_ptr<void, void (*)(void*)>;
  enum class Fate : uint8_t { done, failed, released };

  struct Taken {
    uint64_t handle = 0;
    Partition partition = 0;
    int64_t offset = 0;
    void* payload = nullptr;  // valid until the record is settled as done, or revoked
    int attempts = 0;         // that failed before
  };
  struct Commit {
    Partition partition = 0;
    int64_t offset = 0;  // of the next record to read
    uint64_t epoch = 0;
  };

  explicit PartitionWindow(WindowPolicy policy) : policy_(policy) {}

  void assign(Partition partition);
  // Drops the records of the partition. Those that are on their way settle into nothing.
  void revoke(Partition partition);
  // Nothing more is received or handed out; what is on its way may still end and be committed.
  void retire(Partition partition);
  bool assigned(Partition partition) const;

  // False: refused, because the partition is not ours or the offset has been seen.
  bool receive(Partition partition, int64_t offset, Payload payload);
  // The log has been read up to `offset` (exclusive); behind the last record there may be some that
  // no reader gets (transaction markers).
  void reached_end(Partition partition, int64_t offset);

  // Appends at most `max` records to `out`, in the order of each partition.
  void take(size_t max, SteadyTime now, std::vector<Taken>& out);
  // False: of an earlier assignment, nothing has changed.
  bool settle(uint64_t handle, Fate fate, SteadyTime now, uint64_t dice);
  // The record belongs to the assignment that is in force.
  bool current(uint64_t handle) const;

  // The commits that would be right if these records were done; nothing when one of them is of an
  // earlier assignment, or an undone record stands before one of them.
  std::optional<std::vector<Commit>> commits_with(const std::vector<uint64_t>& handles) const;

  // Prefixes that nobody has committed yet; they count as being committed from now on.
  std::vector<Commit> take_commits();
  bool has_commits() const;
  void commit_ended(const Commit& commit, bool ok);
  // The offset up to which everything is done, from the first record on.
  std::optional<int64_t> done_prefix(Partition partition) const;
  std::optional<int64_t> committed(Partition partition) const;

  size_t held() const { return held_; }  // received and not done
  size_t out() const { return out_; }    // of these, on their way through the route
  bool ready(SteadyTime now) const;      // take() would give something
  SteadyTime next_retry() const;         // when a failed record is due again; max(): none waits
  size_t out(Partition partition) const;
  // Records of the partition that are kept or whose end is remembered, behind the first undone one.
  size_t span(Partition partition) const;
  bool failing(Partition partition) const;
  size_t failing() const;  // records that failed and are not done

 private:
  enum class State : uint8_t { waiting, out, done };
  struct Entry {
    int64_t offset;
    Payload payload;
    SteadyTime retry_at{};
    int attempts = 0;
    State state = State::waiting;
  };
  struct Slot {
    bool assigned = false;
    bool retired = false;
    size_t out = 0;
    bool active = false;         // stands in active_
    uint64_t epoch = 0;          // counts assignments
    uint64_t base = 1;           // sequence number of entries.front(); numbers are never reused
    uint64_t scan = 1;           // no entry before this one waits
    std::deque<Entry> entries;   // from the first one that is not done
    std::set<uint64_t> failing;  // sequence numbers
    int64_t received = -1;       // highest offset
    int64_t end = -1;
    int64_t prefix = -1;  // everything before is done
    int64_t sent = -1;    // handed out for commit
    int64_t acked = -1;
  };

  Slot* slot_of(uint64_t handle);
  const Entry* find(uint64_t handle) const;
  bool may_take(const Slot& slot, const Entry& entry, SteadyTime now) const;
  // The end of what may be handed out of the slot (sequence number, exclusive).
  uint64_t limit(const Slot& slot) const;
  void take_from(Partition partition, Slot& slot, size_t max, SteadyTime now,
                 std::vector<Taken>& out);
  void activate(Partition partition, Slot& slot);
  void shrink(Slot& slot);

  WindowPolicy policy_;
  std::deque<Slot> slots_;        // a deque never moves them
  std::deque<Partition> active_;  // may have something to hand out, in turn
  size_t held_ = 0;
  size_t out_ = 0;
};

}  // namespace drom
