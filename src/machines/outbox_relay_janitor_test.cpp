// Old sent rows are deleted by one relay among many, in bounded chunks with a pause between them.
#include <gtest/gtest.h>

#include "machines/outbox_relay.hpp"

namespace drom {
namespace {

using std::chrono::seconds;

struct Relay {
  explicit Relay(int first_bucket) : first(first_bucket) { policy.purge_max = 100; }

  // Answers everything that the relay asks for a while; returns the purges, with their times.
  std::vector<std::pair<SteadyTime, size_t>> work(seconds duration, size_t purged) {
    std::vector<std::pair<SteadyTime, size_t>> out;
    OutboxRelay relay(policy);
    const SteadyTime end = now + duration;
    RelayEffects effects = relay.step(relay::Tick(), now);
    while (now < end) {
      if (std::holds_alternative<LeaseRequest>(effects.trip)) {
        LeaseAnswer answer;
        answer.ok = true;
        answer.asked = now;
        answer.relays = 2;
        for (int b = first; b < first + kLeaseBuckets / 2; ++b) answer.held.push_back({b, 1});
        effects = relay.step(std::move(answer), now);
      } else if (const auto* trip = std::get_if<DataTrip>(&effects.trip)) {
        relay::DataAnswer answer;
        answer.ok = true;
        if (trip->purge > 0) {
          out.emplace_back(now, trip->purge);
          answer.purged = purged;
        }
        effects = relay.step(std::move(answer), now);
      } else {
        now = std::max(now + milliseconds(1), effects.wake_at);
        effects = relay.step(relay::Tick(), now);
      }
    }
    return out;
  }

  int first;
  RelayPolicy policy;
  SteadyTime now{seconds(100)};
};

TEST(OutboxRelayJanitor, OnlyTheHolderOfBucketZeroPurges) {
  EXPECT_FALSE(Relay(0).work(seconds(300), 0).empty());
  EXPECT_TRUE(Relay(kLeaseBuckets / 2).work(seconds(300), 0).empty());
}

TEST(OutboxRelayJanitor, FullChunksFollowEachOtherAfterAPauseAndTheLastOneEndsThem) {
  const auto busy = Relay(0).work(seconds(10), 100);
  ASSERT_GT(busy.size(), 2u);
  for (size_t i = 1; i < busy.size(); ++i) {
    EXPECT_EQ(busy[i].second, 100u);
    EXPECT_GE(busy[i].first - busy[i - 1].first, milliseconds(100));
  }
  const auto idle = Relay(0).work(seconds(300), 99);
  ASSERT_GT(idle.size(), 1u);
  for (size_t i = 1; i < idle.size(); ++i)
    EXPECT_GE(idle[i].first - idle[i - 1].first, seconds(60));
}

}  // namespace
}  // namespace drom
