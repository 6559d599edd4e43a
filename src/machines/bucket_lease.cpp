#include "machines/bucket_lease.hpp"

#include <algorithm>

#include "drom/base/assert.hpp"

namespace drom {
namespace {

// A relay that could serve more buckets asks again this soon.
constexpr milliseconds kClaimRetry{1000};

}  // namespace

std::optional<int64_t> BucketLease::token(int bucket) const {
  const int64_t held = held_[at(bucket)].token;
  return held ? std::optional(held) : std::nullopt;
}

std::vector<int> BucketLease::serving() const {
  std::vector<int> out;
  for (int bucket = 0; bucket < kLeaseBuckets; ++bucket)
    if (serves(bucket)) out.push_back(bucket);
  return out;
}

int BucketLease::held() const {
  return static_cast<int>(
      std::ranges::count_if(held_, [](const Bucket& b) { return b.token != 0; }));
}

LeaseRequest BucketLease::request(const std::array<int, kLeaseBuckets>& load) {
  LeaseRequest out;
  int surplus = held() - share();
  for (int bucket = kLeaseBuckets - 1; bucket >= 0; --bucket) {
    Bucket& b = held_[at(bucket)];
    if (!b.token) continue;
    // Highest first, so that the relays do not swap buckets without end.
    b.draining = surplus-- > 0;
    if (b.draining && load[at(bucket)] == 0) {
      out.release.push_back(bucket);
      b = Bucket();
    }
  }
  out.claim = std::max(0, share() - held());
  return out;
}

std::vector<int> BucketLease::granted(const LeaseAnswer& answer, SteadyTime now) {
  DROM_ASSERT(answer.ok);
  relays_ = std::max(1, answer.relays);
  std::array<int64_t, kLeaseBuckets> tokens{};
  for (const Holding& holding : answer.held)
    if (holding.bucket >= 0 && holding.bucket < kLeaseBuckets)
      tokens[at(holding.bucket)] = holding.token;

  std::vector<int> lost;
  for (int bucket = 0; bucket < kLeaseBuckets; ++bucket) {
    Bucket& b = held_[at(bucket)];
    const int64_t token = tokens[at(bucket)];
    if (b.token == token) continue;
    if (b.token) lost.push_back(bucket);
    b = Bucket{token, false};
  }
  until_ = answer.asked + relied_on(duration_);
  const milliseconds third = duration_ / 3;
  due_ = now + (held() < share() ? std::min(third, kClaimRetry) : third);
  // A surplus is given back at once, not at the next renewal.
  if (held() > share() && std::ranges::none_of(held_, [](const Bucket& b) { return b.draining; }))
    due_ = now;
  return lost;
}

void BucketLease::clear() {
  held_ = {};
  until_ = SteadyTime::min();
}

}  // namespace drom
