#include "machines/partition_window.hpp"

#include <gtest/gtest.h>

#include <map>

#include "drom/rt/random.hpp"

namespace drom {
namespace {

using Fate = PartitionWindow::Fate;
using Taken = PartitionWindow::Taken;
using std::chrono::seconds;

PartitionWindow::Payload payload() {
  return {new int(0), [](void* p) { delete static_cast<int*>(p); }};
}

class Window : public ::testing::Test {
 protected:
  void receive(PartitionWindow::Partition partition, std::initializer_list<int64_t> offsets) {
    for (const int64_t offset : offsets)
      EXPECT_TRUE(window.receive(partition, offset, payload())) << offset;
  }
  std::vector<Taken> take(size_t max = 100) {
    std::vector<Taken> out;
    window.take(max, now, out);
    return out;
  }
  std::vector<int64_t> offsets(const std::vector<Taken>& taken) {
    std::vector<int64_t> out;
    for (const Taken& t : taken) out.push_back(t.offset);
    return out;
  }
  bool settle(const Taken& taken, Fate fate) { return window.settle(taken.handle, fate, now, 0); }
  // partition -> offset
  std::map<uint32_t, int64_t> commits() {
    std::map<uint32_t, int64_t> out;
    for (const auto& commit : window.take_commits()) {
      out[commit.partition] = commit.offset;
      window.commit_ended(commit, true);
    }
    return out;
  }
  using Commits = std::map<uint32_t, int64_t>;
  using Offsets = std::vector<int64_t>;

  PartitionWindow window{WindowPolicy()};
  SteadyTime now{};
};

TEST_F(Window, WhatIsDoneIsKnownFromTheFirstRecordOn) {
  window.assign(0);
  EXPECT_EQ(window.done_prefix(0), std::nullopt);
  receive(0, {7, 8});
  EXPECT_EQ(window.done_prefix(0), 7);
  settle(take().front(), Fate::failed);
  EXPECT_EQ(window.done_prefix(0), 7);
}

TEST_F(Window, CommitsOnlyTheContiguousDonePrefix) {
  window.assign(0);
  receive(0, {0, 1, 2, 3});
  const auto taken = take();
  settle(taken[1], Fate::done);
  settle(taken[3], Fate::done);
  EXPECT_FALSE(window.has_commits());
  settle(taken[0], Fate::done);
  EXPECT_EQ(commits(), (Commits{{0, 2}}));
  settle(taken[2], Fate::done);
  EXPECT_EQ(commits(), (Commits{{0, 4}}));
  EXPECT_FALSE(window.has_commits());
  EXPECT_EQ(window.held(), 0u);
}

TEST_F(Window, CaseC19PrefetchedRecordsAreNotCommittedByTheirPosition) {
  window.assign(0);
  receive(0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const Taken& t : take(4)) settle(t, Fate::done);
  EXPECT_EQ(commits(), (Commits{{0, 4}}));
}

TEST_F(Window, CaseC21AMixedBatchCommitsEveryPartition) {
  for (const uint32_t p : {0u, 1u, 2u}) window.assign(p);
  receive(2, {300, 301});
  receive(1, {200});
  receive(0, {100, 101});
  const auto taken = take();
  EXPECT_EQ(offsets(taken), (Offsets{300, 301, 200, 100, 101}));
  for (const Taken& t : taken) settle(t, Fate::done);
  EXPECT_EQ(commits(), (Commits{{0, 102}, {1, 201}, {2, 302}}));
}

TEST_F(Window, CaseC22ALateEndAfterARevocationIsDropped) {
  window.assign(0);
  receive(0, {10});
  const auto late = take();
  window.revoke(0);
  window.assign(0);
  receive(0, {50});
  EXPECT_FALSE(window.current(late[0].handle));
  EXPECT_FALSE(settle(late[0], Fate::done));
  EXPECT_FALSE(window.has_commits());
  const auto taken = take();
  EXPECT_EQ(offsets(taken), (Offsets{50}));
  settle(taken[0], Fate::done);
  EXPECT_EQ(commits(), (Commits{{0, 51}}));
}

TEST_F(Window, CaseC24ARefusedCommitIsDueAgainAndSkipsNothing) {
  window.assign(0);
  receive(0, {0, 1, 2, 3, 4});
  const auto taken = take();
  settle(taken[0], Fate::done);
  settle(taken[1], Fate::done);
  settle(taken[2], Fate::failed);
  settle(taken[3], Fate::released);
  settle(taken[4], Fate::released);
  const auto refused = window.take_commits();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].offset, 2);
  EXPECT_FALSE(window.has_commits());
  window.commit_ended(refused[0], false);
  EXPECT_TRUE(window.has_commits());
  now += seconds(10);
  EXPECT_EQ(offsets(take()), (Offsets{2}));
  EXPECT_EQ(commits(), (Commits{{0, 2}}));
}

TEST_F(Window, AFailedRecordHoldsUpItsPartitionOnly) {
  window.assign(0);
  window.assign(1);
  receive(0, {0, 1, 2});
  receive(1, {7});
  const auto first = take(1);
  settle(first[0], Fate::failed);
  EXPECT_EQ(offsets(take()), (Offsets{7}));
  EXPECT_FALSE(window.ready(now));
  EXPECT_GT(window.next_retry(), now);
  now = window.next_retry();
  EXPECT_TRUE(window.ready(now));
  const auto again = take();
  ASSERT_EQ(offsets(again), (Offsets{0}));
  EXPECT_EQ(again[0].attempts, 1);
  EXPECT_EQ(take().size(), 0u);
  settle(again[0], Fate::done);
  EXPECT_EQ(offsets(take()), (Offsets{1, 2}));
}

TEST_F(Window, WithoutStopLaterRecordsPassAndTheCommitWaits) {
  WindowPolicy policy;
  policy.stop_at_failure = false;
  window = PartitionWindow(policy);
  window.assign(0);
  receive(0, {0, 1, 2});
  settle(take(1)[0], Fate::failed);
  const auto passing = take();
  EXPECT_EQ(offsets(passing), (Offsets{1, 2}));
  for (const Taken& t : passing) settle(t, Fate::done);
  EXPECT_FALSE(window.has_commits());
  now = window.next_retry();
  settle(take()[0], Fate::done);
  EXPECT_EQ(commits(), (Commits{{0, 3}}));
}

TEST_F(Window, ReleasedRecordsComeAgainInTheirOrder) {
  window.assign(0);
  receive(0, {0, 1, 2});
  const auto taken = take();
  settle(taken[2], Fate::released);
  settle(taken[1], Fate::released);
  settle(taken[0], Fate::done);
  EXPECT_EQ(offsets(take()), (Offsets{1, 2}));
}

TEST_F(Window, ATransactionCommitsNoOffsetBehindAnUndoneRecord) {
  window.assign(0);
  receive(0, {4, 5, 7});
  const auto taken = take();
  EXPECT_FALSE(window.commits_with({taken[1].handle}));
  const auto both = window.commits_with({taken[1].handle, taken[0].handle});
  ASSERT_TRUE(both);
  ASSERT_EQ(both->size(), 1u);
  EXPECT_EQ(both->front().offset, 6);
  settle(taken[0], Fate::done);
  EXPECT_TRUE(window.commits_with({taken[1].handle}));
  window.revoke(0);
  EXPECT_FALSE(window.commits_with({taken[1].handle}));
}

TEST_F(Window, ARetiredPartitionEndsWhatIsOnItsWayAndStartsNothing) {
  window.assign(0);
  receive(0, {0, 1, 2});
  const auto taken = take(2);
  window.retire(0);
  EXPECT_FALSE(window.receive(0, 3, payload()));
  EXPECT_EQ(take().size(), 0u);
  EXPECT_FALSE(window.ready(now));
  EXPECT_EQ(window.out(0), 2u);
  settle(taken[0], Fate::done);
  settle(taken[1], Fate::failed);
  EXPECT_EQ(window.out(0), 0u);
  EXPECT_EQ(window.next_retry(), SteadyTime::max());
  EXPECT_EQ(commits(), (Commits{{0, 1}}));
}

TEST_F(Window, MarkersBehindTheLastRecordCountAsDone) {
  window.assign(0);
  window.reached_end(0, 5);
  EXPECT_EQ(window.done_prefix(0), 5);
  receive(0, {6});
  window.reached_end(0, 8);
  EXPECT_EQ(window.done_prefix(0), 5);
  settle(take()[0], Fate::done);
  EXPECT_EQ(window.done_prefix(0), 8);
}

TEST_F(Window, RefusesWhatItHasSeenAndWhatIsNotOurs) {
  EXPECT_FALSE(window.receive(3, 0, payload()));
  window.assign(0);
  receive(0, {4});
  EXPECT_FALSE(window.receive(0, 4, payload()));
  window.revoke(0);
  EXPECT_FALSE(window.receive(0, 5, payload()));
  EXPECT_EQ(window.held(), 0u);
}

// A broker with a committed offset per partition, two members that come and go, records that fail
// at times. Checked: nothing is committed that was not done, every record is done in the end, and
// with stop_at_failure each assignment sees its offsets in order.
class Simulation {
 public:
  explicit Simulation(uint64_t seed) : rng_(seed) {
    policy_.stop_at_failure = rng_.between(0, 1) == 0;
    for (int i = 0; i < 2; ++i) members_.emplace_back(policy_);
  }
  void run() {
    for (int step = 0; step < 1200; ++step) act();
    for (int step = 0; step < 20000 && !finished(); ++step) {
      calm_ = true;
      act();
    }
    EXPECT_TRUE(finished());
    for (int p = 0; p < kPartitions; ++p) EXPECT_EQ(committed_[p], kRecords);
  }

 private:
  static constexpr int kPartitions = 4;
  static constexpr int64_t kRecords = 40;

  bool finished() const {
    for (int p = 0; p < kPartitions; ++p)
      if (committed_[p] < kRecords) return false;
    return true;
  }
  void act() {
    now_ += milliseconds(rng_.between(0, 3000));
    const auto p = static_cast<uint32_t>(rng_.between(0, kPartitions - 1));
    PartitionWindow& member = members_[owner_[p]];
    switch (rng_.between(0, calm_ ? 4 : 6)) {
      case 0:
      case 1: read(p, member); break;
      case 2: hand_out(); break;
      case 3: finish(); break;
      case 4: commit(); break;
      case 5: move(p); break;
      case 6: settle_twice(); break;
    }
  }
  void read(uint32_t p, PartitionWindow& member) {
    if (!member.assigned(p)) {
      member.assign(p);
      position_[p] = committed_[p];
      ++epoch_[p];
    }
    for (int n = 0; n < 5 && position_[p] < kRecords; ++n)
      EXPECT_TRUE(member.receive(p, position_[p]++, payload()));
  }
  void hand_out() {
    const auto who = static_cast<size_t>(rng_.between(0, 1));
    std::vector<Taken> taken;
    members_[who].take(static_cast<size_t>(rng_.between(1, 8)), now_, taken);
    for (const Taken& t : taken) out_.push_back({who, t});
  }
  // One of them will come too late and must do no harm.
  void settle_twice() {
    if (out_.empty()) return;
    const auto copy = out_.front();
    out_.push_back(copy);
  }
  void finish() {
    if (out_.empty()) return;
    const auto at = static_cast<size_t>(rng_.between(0, static_cast<int64_t>(out_.size()) - 1));
    const auto [who, taken] = out_[at];
    out_.erase(out_.begin() + static_cast<std::ptrdiff_t>(at));
    const int64_t dice = rng_.between(0, 9);
    const Fate fate = dice < 7 ? Fate::done : dice < 9 ? Fate::failed : Fate::released;
    // The route has done its work also when the consumer no longer wants to know.
    if (fate == Fate::done) done_[taken.partition].insert(taken.offset);
    members_[who].settle(taken.handle, fate, now_, rng_.next());
  }
  void commit() {
    for (auto& member : members_) {
      for (const auto& c : member.take_commits()) {
        const bool ok = rng_.between(0, 3) > 0;
        if (ok) store(c.partition, c.offset);
        member.commit_ended(c, ok);
      }
    }
  }
  void store(uint32_t p, int64_t offset) {
    EXPECT_GE(offset, committed_[p]);
    for (int64_t o = committed_[p]; o < offset; ++o)
      EXPECT_TRUE(done_[p].contains(o)) << "partition " << p << " offset " << o;
    committed_[p] = offset;
  }
  void move(uint32_t p) {
    PartitionWindow& from = members_[owner_[p]];
    if (from.assigned(p) && rng_.between(0, 1) == 0) commit();
    from.revoke(p);
    owner_[p] = 1 - owner_[p];
  }

  Rng rng_;
  WindowPolicy policy_;
  std::deque<PartitionWindow> members_;
  std::vector<std::pair<size_t, Taken>> out_;
  std::map<uint32_t, std::set<int64_t>> done_;
  int64_t committed_[kPartitions] = {};
  int64_t position_[kPartitions] = {};
  uint64_t epoch_[kPartitions] = {};
  size_t owner_[kPartitions] = {};
  SteadyTime now_{};
  bool calm_ = false;
};

TEST(PartitionWindowSim, NothingIsCommittedThatWasNotDoneAndAllIsDoneInTheEnd) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation(seed).run();
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace drom
