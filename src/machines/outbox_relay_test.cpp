#include "machines/outbox_relay.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace drom {
namespace {

using std::chrono::seconds;

RelayRow row(int64_t id, std::string key, int attempts = 0) {
  RelayRow out;
  out.id = id;
  out.key = std::move(key);
  out.bucket = static_cast<int>(std::hash<std::string>()(out.key) % kLeaseBuckets);
  out.attempts = attempts;
  return out;
}

std::vector<int64_t> ids(const std::vector<RelayRow>& rows) {
  std::vector<int64_t> out;
  for (const RelayRow& r : rows) out.push_back(r.id);
  return out;
}

// A relay that holds all buckets, with the answers written by hand.
struct Bench {
  RelayPolicy policy;
  SteadyTime now{seconds(100)};
  std::unique_ptr<OutboxRelay> relay;
  RelayEffects last;
  int64_t token = 7;

  void start() {
    relay = std::make_unique<OutboxRelay>(policy);
    step(relay::Tick());
    ASSERT_TRUE(std::holds_alternative<LeaseRequest>(last.trip));
    grant();
  }
  void step(RelayEvent event) { last = relay->step(std::move(event), now); }
  void grant(int relays = 1) {
    LeaseAnswer answer;
    answer.ok = true;
    answer.asked = now;
    answer.relays = relays;
    for (int b = 0; b < kLeaseBuckets; ++b) answer.held.push_back({b, token});
    step(std::move(answer));
  }
  const DataTrip* data() const { return std::get_if<DataTrip>(&last.trip); }
  bool reads() const { return data() && data()->read; }
  void answer(std::vector<RelayRow> rows) {
    relay::DataAnswer a;
    a.ok = true;
    a.rows = std::move(rows);
    step(std::move(a));
  }
  std::vector<int64_t> take(size_t max = 100) {
    step(relay::Take{max});
    return ids(last.rows);
  }
  void settle(int64_t id, relay::Fate fate, ErrorKind kind = ErrorKind::transient) {
    relay::SettledAll all;
    relay::Settled s;
    s.id = id;
    s.fate = fate;
    s.kind = kind;
    s.error = "boom";
    all.rows.push_back(std::move(s));
    step(std::move(all));
  }
  void pass(milliseconds duration) {
    now += duration;
    step(relay::Tick());
  }
};

TEST(OutboxRelay, ReadsAsSoonAsItHoldsBuckets) {
  Bench b;
  b.start();
  ASSERT_TRUE(b.reads());
  EXPECT_TRUE(b.data()->read->all_buckets);
  EXPECT_TRUE(b.data()->read->busy_keys.empty());
}

TEST(OutboxRelay, MarksAndReadsInOneTripWhenTheBufferIsDone) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "b"), row(3, "")});
  EXPECT_TRUE(b.last.ready);
  EXPECT_EQ(b.take(), (std::vector<int64_t>{1, 2, 3}));
  b.settle(1, relay::Fate::done);
  EXPECT_EQ(b.data(), nullptr);
  b.settle(3, relay::Fate::done);
  EXPECT_EQ(b.data(), nullptr);
  b.settle(2, relay::Fate::done);
  ASSERT_TRUE(b.reads());
  ASSERT_EQ(b.data()->sent.size(), 3u);
  EXPECT_EQ(b.data()->sent[0].token, 7);
}

TEST(OutboxRelay, IsNotReadyWhileEveryBufferedKeyIsUnderWay) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "a"), row(3, "a")});
  EXPECT_EQ(b.take(4), std::vector<int64_t>{1}) << "a quarter of the window for one key";
  EXPECT_FALSE(b.last.ready);
  EXPECT_TRUE(b.take(4).empty());
  EXPECT_FALSE(b.last.ready);
  b.settle(1, relay::Fate::done);
  EXPECT_TRUE(b.last.ready);
  EXPECT_EQ(b.take(4), std::vector<int64_t>{2});
}

TEST(OutboxRelay, WithoutOrderRowsOfOneKeyGoTogetherAndAFailureDropsNone) {
  Bench b;
  b.policy.ordering = Ordering::none;
  b.start();
  b.answer({row(1, "a"), row(2, "a"), row(3, "a")});
  EXPECT_EQ(b.take(2), (std::vector<int64_t>{1, 2}));
  b.settle(1, relay::Fate::failed);
  EXPECT_EQ(b.take(2), std::vector<int64_t>{3});
  b.pass(b.policy.mark_delay);
  ASSERT_TRUE(b.reads());
  EXPECT_TRUE(b.data()->read->busy_keys.empty());
  EXPECT_EQ(b.data()->read->busy_ids.size(), 2u);
}

TEST(OutboxRelay, InTotalOrderItWaitsForAllBucketsAndForEveryRow) {
  Bench b;
  b.policy.ordering = Ordering::total;
  b.relay = std::make_unique<OutboxRelay>(b.policy);
  b.step(relay::Tick());
  LeaseAnswer some;
  some.ok = true;
  some.asked = b.now;
  some.relays = 2;
  for (int bucket = 1; bucket < kLeaseBuckets; ++bucket) some.held.push_back({bucket, b.token});
  b.step(some);
  EXPECT_FALSE(b.reads()) << "one bucket is not ours";
  b.pass(seconds(1));
  const auto* again = std::get_if<LeaseRequest>(&b.last.trip);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->release.empty()) << "it shares with nobody";
  EXPECT_EQ(again->claim, 1);
  b.grant(2);
  ASSERT_TRUE(b.reads());
  b.answer({row(1, "a"), row(2, "b"), row(3, "")});
  EXPECT_EQ(b.take(), std::vector<int64_t>{1});
  EXPECT_FALSE(b.last.ready);
  b.settle(1, relay::Fate::done);
  EXPECT_EQ(b.take(), std::vector<int64_t>{2});
  b.settle(2, relay::Fate::failed);
  EXPECT_TRUE(b.take().empty()) << "3 waits for 2, and the table says when";
}

TEST(OutboxRelay, InTotalOrderNothingIsReadAroundTheRowUnderWay) {
  Bench b;
  b.policy.ordering = Ordering::total;
  b.start();
  b.answer({row(1, "a")});
  EXPECT_EQ(b.take(), std::vector<int64_t>{1});
  b.pass(seconds(1));
  EXPECT_FALSE(b.reads()) << "it would find 2, which then passes 1 when that fails";
  b.settle(1, relay::Fate::done);
  EXPECT_TRUE(b.reads());
}

TEST(OutboxRelay, ALeaseIsSafeWithAClockThatIsAnEighthTooSlow) {
  Bench b;
  b.start();
  b.answer({row(1, "a")});
  ASSERT_TRUE(b.last.ready);
  b.pass(b.policy.lease * 7 / 8 - milliseconds(1));
  EXPECT_TRUE(b.last.ready);
  b.pass(milliseconds(1));
  EXPECT_FALSE(b.last.ready) << "the whole time of the lease may have passed";
}

TEST(OutboxRelay, ARowThatExpiresInTheBufferIsGivenUpAndItsKeyGoesOn) {
  Bench b;
  b.start();
  RelayRow first = row(1, "a"), second = row(2, "a"), third = row(3, "a");
  second.expires_in = milliseconds(50);
  third.expires_in = milliseconds(500);
  b.answer({first, second, third});
  EXPECT_EQ(b.take(4), std::vector<int64_t>{1});
  b.pass(milliseconds(60));
  b.settle(1, relay::Fate::done);
  EXPECT_EQ(b.take(4), std::vector<int64_t>{3});
  b.settle(3, relay::Fate::done);
  ASSERT_TRUE(b.data());
  ASSERT_EQ(b.data()->failed.size(), 1u);
  EXPECT_EQ(b.data()->failed[0].id, 2);
  EXPECT_EQ(b.data()->failed[0].to, FailedMark::To::dead);
  EXPECT_EQ(b.data()->failed[0].attempts, 0) << "it was never tried";
  EXPECT_EQ(b.data()->sent.size(), 2u);
}

TEST(OutboxRelay, MarksDoNotWaitLongForASlowRow) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "b")});
  b.take();
  b.settle(1, relay::Fate::done);
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_LE(b.last.wake_at, b.now + b.policy.mark_delay);
  b.pass(b.policy.mark_delay);
  ASSERT_TRUE(b.data());
  EXPECT_EQ(b.data()->sent.size(), 1u);
}

TEST(OutboxRelay, ReadsAroundASlowRowButNotItsKey) {
  Bench b;
  b.start();
  b.answer({row(1, "slow"), row(2, ""), row(3, "b")});
  b.take();
  b.settle(3, relay::Fate::done);
  b.pass(b.policy.mark_delay);
  ASSERT_TRUE(b.reads());
  EXPECT_EQ(b.data()->read->busy_keys, std::vector<std::string>{"slow"});
  EXPECT_EQ(b.data()->read->busy_ids, std::vector<int64_t>{2});
}

TEST(OutboxRelay, HandsOutALaterRowOfAKeyOnlyWhenTheEarlierOnesAreSettled) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "a"), row(3, "b"), row(4, "a")});
  EXPECT_EQ(b.take(1), std::vector<int64_t>{1});
  EXPECT_EQ(b.take(8), std::vector<int64_t>{3});
  b.settle(1, relay::Fate::done);
  EXPECT_EQ(b.take(8), (std::vector<int64_t>{2, 4}));
}

TEST(OutboxRelay, AHotKeyTakesAtMostAQuarterOfTheWindow) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "a"), row(3, "a"), row(4, "a"), row(5, "b"), row(6, "c")});
  EXPECT_EQ(b.take(8), (std::vector<int64_t>{1, 2, 5, 6}));
}

TEST(OutboxRelay, AFailureHoldsTheKeyBackAndCountsAnAttempt) {
  Bench b;
  b.policy.retry.jitter = 0;
  b.start();
  b.answer({row(1, "a", 2), row(2, "a"), row(3, "b"), row(4, "a")});
  b.take(12);
  b.settle(1, relay::Fate::failed);
  b.settle(2, relay::Fate::released);
  b.settle(4, relay::Fate::released);
  b.settle(3, relay::Fate::done);
  ASSERT_TRUE(b.reads());
  ASSERT_EQ(b.data()->failed.size(), 1u);
  const FailedMark& mark = b.data()->failed[0];
  EXPECT_EQ(mark.id, 1);
  EXPECT_EQ(mark.attempts, 3);
  EXPECT_EQ(mark.to, FailedMark::To::retry);
  EXPECT_EQ(mark.delay, milliseconds(4000));
  EXPECT_EQ(mark.error, "boom");
  EXPECT_EQ(b.data()->sent.size(), 1u);
}

TEST(OutboxRelay, LaterBufferedRowsOfAFailedKeyAreForgotten) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "a"), row(3, "b")});
  EXPECT_EQ(b.take(1), std::vector<int64_t>{1});
  b.settle(1, relay::Fate::failed);
  EXPECT_EQ(b.take(8), std::vector<int64_t>{3});
}

TEST(OutboxRelay, TheLastAttemptOrABadPayloadMakesTheRowDead) {
  Bench b;
  b.policy.attempts_max = 3;
  b.start();
  b.answer({row(1, "a", 2), row(2, "b", 0), row(3, "c", 0)});
  b.take();
  b.settle(1, relay::Fate::failed);
  b.settle(2, relay::Fate::failed, ErrorKind::data);
  b.settle(3, relay::Fate::failed, ErrorKind::rejected);
  ASSERT_TRUE(b.data());
  ASSERT_EQ(b.data()->failed.size(), 3u);
  for (const FailedMark& mark : b.data()->failed) EXPECT_EQ(mark.to, FailedMark::To::dead);
}

TEST(OutboxRelay, ThePolicyParksOrBlocksInstead) {
  for (const auto& [policy, to] : {std::pair(OnExhausted::park, FailedMark::To::parked),
                                   std::pair(OnExhausted::block, FailedMark::To::retry)}) {
    Bench b;
    b.policy.on_exhausted = policy;
    b.start();
    b.answer({row(1, "a", 40)});
    b.take();
    b.settle(1, relay::Fate::failed, ErrorKind::data);
    ASSERT_TRUE(b.data());
    EXPECT_EQ(b.data()->failed[0].to, to);
  }
}

TEST(OutboxRelay, AnUnreachableTargetCostsNoAttemptAndPausesEverything) {
  Bench b;
  b.policy.pause.jitter = 0;
  b.start();
  b.answer({row(1, "a"), row(2, "b"), row(3, "c")});
  EXPECT_EQ(b.take(2), (std::vector<int64_t>{1, 2}));
  b.settle(1, relay::Fate::failed, ErrorKind::not_connected);
  b.settle(2, relay::Fate::failed, ErrorKind::not_connected);
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_FALSE(b.last.ready);
  EXPECT_TRUE(b.take().empty());
  b.pass(milliseconds(200));
  EXPECT_TRUE(b.last.ready);
  // One row probes; the others follow when it has succeeded.
  EXPECT_EQ(b.take(), std::vector<int64_t>{3});
  b.settle(3, relay::Fate::failed, ErrorKind::not_connected);
  b.pass(milliseconds(200));
  EXPECT_EQ(b.data(), nullptr) << "the second pause is longer";
  b.pass(milliseconds(200));
  ASSERT_TRUE(b.reads());
  EXPECT_TRUE(b.data()->failed.empty());
}

TEST(OutboxRelay, ARefusedMarkAsksForTheLeaseAtOnce) {
  Bench b;
  b.start();
  b.answer({row(1, "a")});
  b.take();
  b.settle(1, relay::Fate::done);
  relay::DataAnswer answer;
  answer.ok = true;
  answer.refused = 1;
  b.step(std::move(answer));
  EXPECT_TRUE(std::holds_alternative<LeaseRequest>(b.last.trip));
}

TEST(OutboxRelay, AfterALostLeaseNothingIsHandedOutAndLateReceiptsChangeNothing) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "b")});
  EXPECT_EQ(b.take(1), std::vector<int64_t>{1});
  b.now += b.policy.lease;  // paused for longer than the lease
  EXPECT_TRUE(b.take().empty());
  ASSERT_TRUE(std::holds_alternative<LeaseRequest>(b.last.trip));
  b.token = 9;  // somebody else had the buckets in between
  b.grant();
  ASSERT_TRUE(b.reads());
  EXPECT_EQ(b.data()->read->busy_keys, std::vector<std::string>{"a"});
  b.settle(1, relay::Fate::done);
  b.answer({});
  b.pass(b.policy.mark_delay);
  EXPECT_TRUE(!b.data() || b.data()->sent.empty());
}

TEST(OutboxRelay, MarksOfAFailedTripAreTriedAgain) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "b")});
  b.take();
  b.settle(1, relay::Fate::done);
  b.settle(2, relay::Fate::failed);
  ASSERT_TRUE(b.data());
  b.step(relay::DataAnswer());
  EXPECT_EQ(b.data(), nullptr) << "not in a tight loop";
  b.pass(milliseconds(100));
  ASSERT_TRUE(b.data());
  EXPECT_EQ(b.data()->sent.size(), 1u);
  EXPECT_EQ(b.data()->failed.size(), 1u);
}

TEST(OutboxRelay, IdlePollingSlowsDownUntilWoken) {
  Bench b;
  b.start();
  b.answer({});
  EXPECT_EQ(b.last.wake_at, b.now + milliseconds(50));
  b.pass(milliseconds(50));
  b.answer({});
  EXPECT_EQ(b.last.wake_at, b.now + milliseconds(100));
  for (int i = 0; i < 8; ++i) {
    b.now = b.last.wake_at;
    b.step(relay::Tick());
    if (b.reads())
      b.answer({});
    else
      b.grant();
  }
  EXPECT_LE(b.last.wake_at, b.now + milliseconds(1000));
  b.step(relay::Woken());
  EXPECT_TRUE(b.reads());
}

TEST(OutboxRelay, AWakeDuringAReadIsNotLost) {
  Bench b;
  b.start();
  ASSERT_TRUE(b.reads());
  b.step(relay::Woken());
  b.answer({});
  EXPECT_TRUE(b.reads());
}

TEST(OutboxRelay, StopsWhenEverythingIsSettledMarkedAndGivenBack) {
  Bench b;
  b.start();
  b.answer({row(1, "a"), row(2, "b")});
  EXPECT_EQ(b.take(1), std::vector<int64_t>{1});
  b.step(relay::Stop());
  EXPECT_TRUE(b.take().empty());
  EXPECT_FALSE(b.last.finished);
  b.settle(1, relay::Fate::done);
  ASSERT_TRUE(b.data());
  EXPECT_FALSE(b.data()->read);
  b.answer({});
  ASSERT_TRUE(std::holds_alternative<ReleaseTrip>(b.last.trip));
  b.grant();
  EXPECT_TRUE(b.last.finished);
}

TEST(OutboxRelay, ASurplusIsGivenBackBucketByBucketAsTheyBecomeIdle) {
  Bench b;
  b.start();
  b.answer({row(1, "a")});
  b.take();
  b.pass(b.policy.lease / 3);
  ASSERT_TRUE(std::holds_alternative<LeaseRequest>(b.last.trip));
  b.grant(2);
  ASSERT_TRUE(std::holds_alternative<LeaseRequest>(b.last.trip)) << "at once";
  const auto& request = std::get<LeaseRequest>(b.last.trip);
  const int busy = row(1, "a").bucket;
  EXPECT_EQ(request.release.size(), busy >= 32 ? 31u : 32u);
  EXPECT_EQ(request.claim, 0);
  EXPECT_EQ(std::ranges::count(request.release, busy), 0);
}

TEST(Backoff, NeverOverflowsAndNeverExceedsTheMaximum) {  // C47
  const Backoff plain{milliseconds(5000), 2, milliseconds(60'000), 0};
  const int64_t expected[] = {5000, 10'000, 20'000, 40'000, 60'000, 60'000};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(plain.delay(i + 1, 0).count(), expected[i]);
  const Backoff jittered{milliseconds(5000), 2, milliseconds(60'000), 0.5};
  for (int attempt = 0; attempt <= 200; ++attempt) {
    EXPECT_GE(plain.delay(attempt, UINT64_MAX).count(), 5000);
    EXPECT_LE(plain.delay(attempt, UINT64_MAX).count(), 60'000);
    EXPECT_GE(jittered.delay(attempt, UINT64_MAX).count(), 2500);
    EXPECT_LE(jittered.delay(attempt, 0).count(), 60'000);
  }
}

}  // namespace
}  // namespace drom
