// Which hash buckets of one resource this relay may serve. Buckets are leased for a time and carry
// a fencing token that grows with every change of hands; several relays share them evenly by giving
// back their surplus. Pure: the shell executes the requests, the database's clock judges expiry,
// and this side stops early by its own steady clock. Owned by the machine that works under the
// lease. Pattern: Lease with Fencing Token.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "drom/base/time.hpp"

namespace drom {

inline constexpr int kLeaseBuckets = 64;

// How long the holder relies on a lease of this duration: less than the database grants, because
// its steady clock may run more slowly than the database's, by an eighth at most.
constexpr milliseconds relied_on(milliseconds lease) { return lease - lease / 8; }

struct Holding {
  int bucket = 0;
  int64_t token = 0;
};

// One trip to the lease table, in this order: give back, renew what is held, claim up to `claim`
// further buckets that are free or expired, count the relays that are alive.
struct LeaseRequest {
  std::vector<int> release;
  int claim = 0;
};

struct LeaseAnswer {
  bool ok = false;            // false: the trip failed, nothing is known
  SteadyTime asked{};         // before the trip began
  std::vector<Holding> held;  // renewed and claimed
  int relays = 1;
};

class BucketLease {
 public:
  // Undivided: one relay takes all buckets, and the others stand by.
  explicit BucketLease(milliseconds duration, bool undivided = false)
      : duration_(duration), undivided_(undivided) {}

  // Held with this token, as far as we know. The database has the last word.
  bool owns(int bucket, int64_t token) const { return held_[at(bucket)].token == token; }
  std::optional<int64_t> token(int bucket) const;
  // Held and not about to be given back.
  bool serves(int bucket) const { return held_[at(bucket)].token && !held_[at(bucket)].draining; }
  std::vector<int> serving() const;
  int held() const;
  // False once the lease may have run out: hand out nothing any more.
  bool valid(SteadyTime now) const { return now < until_; }
  SteadyTime due() const { return due_; }
  // Asks again at once: a mark was refused, so somebody else may have taken over.
  void check(SteadyTime now) { due_ = now; }
  // A bucket that was waiting to be given back has become idle.
  void drained(SteadyTime now) { due_ = now; }
  bool draining(int bucket) const { return held_[at(bucket)].draining; }

  // What to ask now. `load` counts the rows of each bucket that are still under way.
  LeaseRequest request(const std::array<int, kLeaseBuckets>& load);
  // Takes the answer in; returns the buckets that we held before and no longer hold (or hold under
  // a new token, which is the same for rows under way).
  std::vector<int> granted(const LeaseAnswer& answer, SteadyTime now);
  void retry_at(SteadyTime at) { due_ = at; }
  // Everything given back.
  void clear();

 private:
  struct Bucket {
    int64_t token = 0;  // 0 = not held
    bool draining = false;
  };
  static size_t at(int bucket) { return static_cast<size_t>(bucket); }
  int share() const { return undivided_ ? kLeaseBuckets : (kLeaseBuckets + relays_ - 1) / relays_; }

  milliseconds duration_;
  bool undivided_;
  std::array<Bucket, kLeaseBuckets> held_{};
  SteadyTime until_ = SteadyTime::min();
  SteadyTime due_ = SteadyTime::min();
  int relays_ = 1;
};

}  // namespace drom
