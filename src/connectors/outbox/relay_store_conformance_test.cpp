// What every store of a relay must do, the simulated one included: a simulation proves something
// about the real stores only as long as its model passes what they pass.
#include <set>

#include "connectors/outbox/relay_store_fixture.hpp"

namespace drom::outbox {
namespace {

using To = FailedMark::To;
using Ids = std::vector<int64_t>;

std::map<int, int64_t> tokens(const LeaseAnswer& answer) {
  std::map<int, int64_t> out;
  for (const Holding& holding : answer.held) out[holding.bucket] = holding.token;
  return out;
}

// --- leases -------------------------------------------------------------------------------------

TEST_P(RelayStoreTest, ARelayGetsAsManyBucketsAsItAsksForAndKeepsThem) {
  const LeaseAnswer first = lease("a", 10);
  EXPECT_EQ(first.held.size(), 10u);
  EXPECT_EQ(tokens(first).size(), 10u);
  EXPECT_EQ(first.relays, 1);
  EXPECT_EQ(tokens(lease("a", 0)), tokens(first)) << "renewed under the same tokens";
  EXPECT_EQ(lease("a", 100).held.size(), static_cast<size_t>(kLeaseBuckets));
}

TEST_P(RelayStoreTest, NobodyGetsWhatAnotherHolds) {
  const LeaseAnswer a = lease("a", 40);
  const LeaseAnswer b = lease("b", kLeaseBuckets);
  EXPECT_EQ(b.held.size(), 24u);
  EXPECT_EQ(b.relays, 2);
  for (const Holding& holding : b.held) EXPECT_FALSE(tokens(a).contains(holding.bucket));
  EXPECT_EQ(lease("a", 1).held.size(), 40u);
}

TEST_P(RelayStoreTest, WhatIsGivenBackIsFreeAtOnceUnderAHigherToken) {
  const LeaseAnswer a = lease("a", kLeaseBuckets);
  EXPECT_EQ(lease("a", 0, {3, 60}).held.size(), 62u);
  const LeaseAnswer b = lease("b", kLeaseBuckets);
  ASSERT_EQ(b.held.size(), 2u);
  for (const Holding& holding : b.held) {
    EXPECT_TRUE(holding.bucket == 3 || holding.bucket == 60);
    EXPECT_GT(holding.token, tokens(a).at(holding.bucket));
  }
}

TEST_P(RelayStoreTest, NobodyCanGiveBackWhatAnotherHolds) {
  lease("a", kLeaseBuckets);
  lease("b", 0, {1, 2, 3});
  EXPECT_EQ(lease("a", 0).held.size(), static_cast<size_t>(kLeaseBuckets));
}

TEST_P(RelayStoreTest, ALeaseThatHasRunOutGoesToWhoAsksUnderAHigherToken) {
  const LeaseAnswer a = lease("a", kLeaseBuckets);
  let_lease_run_out("a");
  const LeaseAnswer b = lease("b", 20);
  ASSERT_EQ(b.held.size(), 20u);
  EXPECT_EQ(b.relays, 1) << "the silent one is not counted";
  for (const Holding& holding : b.held) EXPECT_GT(holding.token, tokens(a).at(holding.bucket));
  const LeaseAnswer again = lease("a", 0);
  EXPECT_EQ(again.held.size(), 44u) << "what nobody has taken is still its own";
  for (const Holding& holding : again.held) EXPECT_EQ(holding.token, tokens(a).at(holding.bucket));
  EXPECT_EQ(again.relays, 2);
}

TEST_P(RelayStoreTest, WhoLeavesGivesBackEverythingAndIsNotCounted) {
  lease("a", kLeaseBuckets);
  lease("b", 0);
  leave("a");
  const LeaseAnswer b = lease("b", kLeaseBuckets);
  EXPECT_EQ(b.held.size(), static_cast<size_t>(kLeaseBuckets));
  EXPECT_EQ(b.relays, 1);
}

TEST_P(RelayStoreTest, TokensNeverComeAgain) {
  int64_t highest = 0;
  for (const char* owner : {"a", "b", "a", "c", "b"}) {
    const LeaseAnswer answer = lease(owner, kLeaseBuckets);
    ASSERT_EQ(answer.held.size(), static_cast<size_t>(kLeaseBuckets));
    int64_t top = highest;
    for (const Holding& holding : answer.held) {
      EXPECT_GT(holding.token, highest);
      top = std::max(top, holding.token);
    }
    highest = top;
    leave(owner);
  }
}

// --- reading ------------------------------------------------------------------------------------

TEST_P(RelayStoreTest, DueRowsComeInTheOrderOfTheirIdsAndNotMoreThanAskedFor) {
  lease("a", kLeaseBuckets);
  Ids all;
  for (int i = 0; i < 10; ++i) all.push_back(insert("k" + std::to_string(i % 3)));
  EXPECT_EQ(read("a"), all);
  EXPECT_EQ(read("a", everything(4)), Ids(all.begin(), all.begin() + 4));
  EXPECT_EQ(read("a"), all) << "a read changes nothing";
}

TEST_P(RelayStoreTest, OnlyTheBucketsAskedForAreRead) {
  for (int i = 0; i < 50; ++i) insert("k" + std::to_string(i));
  DataTrip trip;
  trip.read = everything();
  const relay::DataAnswer all = data("a", std::move(trip));
  ASSERT_EQ(all.rows.size(), 50u);
  ReadRequest some = everything();
  some.all_buckets = false;
  std::set<int> wanted;
  for (int b = 0; b < kLeaseBuckets; b += 2) wanted.insert(b);
  some.buckets.assign(wanted.begin(), wanted.end());
  Ids expected;
  for (const RelayRow& row : all.rows)
    if (wanted.contains(row.bucket)) expected.push_back(row.id);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(read("a", some), expected);
}

TEST_P(RelayStoreTest, RowsOfAKeyAreInOneBucket) {
  for (int i = 0; i < 20; ++i) insert(i % 2 ? "odd" : "even");
  DataTrip trip;
  trip.read = everything();
  std::map<std::string, std::set<int>> buckets;
  for (const RelayRow& row : data("a", std::move(trip)).rows) buckets[row.key].insert(row.bucket);
  EXPECT_EQ(buckets["odd"].size(), 1u);
  EXPECT_EQ(buckets["even"].size(), 1u);
}

TEST_P(RelayStoreTest, KeysAndRowsUnderWayAreLeftOut) {
  const int64_t a1 = insert("a"), b1 = insert("b"), a2 = insert("a"), c1 = insert("c"),
                none1 = insert(""), none2 = insert("");
  ReadRequest around = everything();
  around.busy_keys = {"a"};
  EXPECT_EQ(read("r", around), (Ids{b1, c1, none1, none2}));
  around.busy_keys.clear();
  around.busy_ids = {a1, none1};
  EXPECT_EQ(read("r", around), (Ids{b1, a2, c1, none2})) << "ids name rows, not their keys";
}

TEST_P(RelayStoreTest, ALateCommitIsFoundAlthoughLaterIdsWereSent) {
  if (!concurrent_writers()) GTEST_SKIP() << "one writer at a time";
  lease("a", kLeaseBuckets);
  const size_t late = begin_insert("k");
  const size_t lost = begin_insert("k");
  const int64_t later = insert("k");
  EXPECT_EQ(read("a"), Ids{later});
  EXPECT_EQ(mark_sent("a", later), 0u);
  EXPECT_EQ(read("a"), Ids{});
  roll_back(lost);
  commit(late);
  const Ids found = read("a");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LT(found[0], later);
}

TEST_P(RelayStoreTest, ARowForLaterWaitsAndHoldsUpNobody) {
  insert("k", {.available_in = std::chrono::hours(1)});
  const int64_t soon = insert("k", {.available_in = milliseconds(100)});
  const int64_t now = insert("k");
  EXPECT_EQ(read("a"), Ids{now});
  pass(milliseconds(200));
  EXPECT_EQ(read("a"), (Ids{soon, now}));
}

TEST_P(RelayStoreTest, ARowTellsHowLongItIsStillGood) {
  insert("k");
  insert("k", {.expires_in = std::chrono::hours(1)});
  insert("k", {.expires_in = milliseconds(1)});
  pass(milliseconds(20));
  DataTrip trip;
  trip.read = everything();
  const relay::DataAnswer answer = data("a", std::move(trip));
  ASSERT_EQ(answer.rows.size(), 3u) << "to give up a row is the relay's decision";
  EXPECT_FALSE(answer.rows[0].expires_in);
  ASSERT_TRUE(answer.rows[1].expires_in && answer.rows[2].expires_in);
  EXPECT_GT(*answer.rows[1].expires_in, std::chrono::minutes(50));
  EXPECT_LE(*answer.rows[1].expires_in, std::chrono::hours(1));
  EXPECT_LE(answer.rows[2].expires_in->count(), 0);
}

// --- marks --------------------------------------------------------------------------------------

TEST_P(RelayStoreTest, ASentRowIsMarkedOnceAndForAll) {
  lease("a", kLeaseBuckets);
  const int64_t id = insert("k");
  EXPECT_EQ(read("a"), Ids{id});
  EXPECT_EQ(mark_sent("a", id), 0u);
  const State sent{"sent", 0, "", false};
  EXPECT_EQ(state(id), sent);
  EXPECT_EQ(read("a"), Ids{});
  EXPECT_EQ(mark_sent("a", id), 1u) << "a second time changes nothing";
  EXPECT_EQ(mark_failed("a", id, To::dead), 1u) << "nor does a failure";
  EXPECT_EQ(state(id), sent);
}

TEST_P(RelayStoreTest, AMarkWithAStaleTokenChangesNothing) {
  lease("a", kLeaseBuckets);
  const int64_t one = insert("k"), two = insert("l");
  read("a");
  let_lease_run_out("a");
  lease("b", kLeaseBuckets);
  EXPECT_EQ(mark_sent("a", one), 1u);
  EXPECT_EQ(mark_failed("a", two, To::dead), 1u);
  EXPECT_EQ(state(one), (State{"due", 0, "", false}));
  EXPECT_EQ(state(two), (State{"due", 0, "", false}));
  EXPECT_EQ(mark_sent("b", one), 0u);
}

TEST_P(RelayStoreTest, TheOldTokenIsStaleAlsoForWhoHasTheBucketAgain) {
  lease("a", kLeaseBuckets);
  const int64_t id = insert("k");
  read("a");
  const SentMark old = sent_mark("a", id);
  leave("a");
  lease("b", kLeaseBuckets);
  leave("b");
  lease("a", kLeaseBuckets);
  DataTrip trip;
  trip.sent.push_back(old);
  EXPECT_EQ(data("a", std::move(trip)).refused, 1u);
  EXPECT_EQ(mark_sent("a", id), 0u);
}

TEST_P(RelayStoreTest, GoodAndStaleMarksInOneTripAreJudgedOneByOne) {
  lease("a", kLeaseBuckets);
  const int64_t one = insert("k"), two = insert("k"), three = insert("k"), four = insert("k");
  read("a");
  DataTrip trip;
  trip.sent = {sent_mark("a", one), sent_mark("a", two)};
  trip.sent[1].token -= 1;
  trip.failed = {failed_mark("a", three, To::dead), failed_mark("a", four, To::dead)};
  trip.failed[1].token -= 1;
  EXPECT_EQ(data("a", std::move(trip)).refused, 2u);
  EXPECT_EQ(state(one)->status, "sent");
  EXPECT_EQ(state(two)->status, "due");
  EXPECT_EQ(state(three)->status, "dead");
  EXPECT_EQ(state(four)->status, "due");
}

TEST_P(RelayStoreTest, ARowInBackoffHoldsUpTheLaterOnesOfItsKey) {
  lease("a", kLeaseBuckets);
  const int64_t k1 = insert("k"), k2 = insert("k"), k3 = insert("k"), other = insert("o");
  read("a");
  EXPECT_EQ(mark_failed("a", k2, To::retry, milliseconds(300)), 0u);
  EXPECT_EQ(state(k2), (State{"due", 1, "boom", true}));
  EXPECT_EQ(read("a"), (Ids{k1, other})) << "what comes before it goes on";
  pass(milliseconds(400));
  DataTrip trip;
  trip.read = everything();
  const relay::DataAnswer again = data("a", std::move(trip));
  EXPECT_EQ(ids(again), (Ids{k1, k2, k3, other}));
  EXPECT_EQ(again.rows[1].attempts, 1);
}

TEST_P(RelayStoreTest, MarksCountBeforeTheReadOfTheSameTrip) {
  lease("a", kLeaseBuckets);
  const int64_t k1 = insert("k"), l1 = insert("l"), k2 = insert("k"), l2 = insert("l");
  read("a");
  DataTrip trip;
  trip.sent.push_back(sent_mark("a", l1));
  trip.failed.push_back(failed_mark("a", k1, To::retry, std::chrono::hours(1)));
  trip.read = everything();
  EXPECT_EQ(ids(data("a", std::move(trip))), Ids{l2});
  EXPECT_EQ(state(k2)->status, "due");
}

TEST_P(RelayStoreTest, ADeadRowHoldsUpNobody) {
  lease("a", kLeaseBuckets);
  const int64_t bad = insert("k"), good = insert("k");
  read("a");
  EXPECT_EQ(mark_failed("a", bad, To::retry, std::chrono::hours(1)), 0u);
  EXPECT_EQ(mark_failed("a", bad, To::dead), 0u);
  EXPECT_EQ(state(bad), (State{"dead", 1, "boom", false}));
  EXPECT_EQ(read("a"), Ids{good});
  EXPECT_EQ(mark_sent("a", bad), 1u) << "dead is dead";
}

TEST_P(RelayStoreTest, AParkedRowHoldsUpItsKeyForEver) {
  lease("a", kLeaseBuckets);
  const int64_t bad = insert("k");
  insert("k");
  const int64_t other = insert("o");
  read("a");
  EXPECT_EQ(mark_failed("a", bad, To::parked), 0u);
  EXPECT_EQ(state(bad), (State{"parked", 1, "boom", true}));
  EXPECT_EQ(read("a"), Ids{other});
  EXPECT_EQ(mark_sent("a", bad), 1u);
}

TEST_P(RelayStoreTest, RowsWithoutAKeyWaitForNobody) {
  lease("a", kLeaseBuckets);
  const int64_t one = insert(""), two = insert("");
  read("a");
  mark_failed("a", one, To::retry, std::chrono::hours(1));
  EXPECT_EQ(read("a"), Ids{two});
}

TEST_P(RelayStoreTest, WithoutOrderNobodyWaits) {
  configure(Ordering::none);
  lease("a", kLeaseBuckets);
  const int64_t k1 = insert("k"), k2 = insert("k");
  read("a");
  mark_failed("a", k1, To::parked);
  EXPECT_EQ(read("a"), Ids{k2});
}

TEST_P(RelayStoreTest, InTotalOrderAllWaitForWhoIsInBackoffOrParked) {
  configure(Ordering::total);
  lease("a", kLeaseBuckets);
  const int64_t first = insert("k"), second = insert("l");
  insert("m");
  insert("");
  read("a");
  mark_failed("a", second, To::retry, std::chrono::hours(1));
  EXPECT_EQ(read("a"), Ids{first});
  mark_failed("a", first, To::parked);
  EXPECT_EQ(read("a"), Ids{});
}

// --- purge --------------------------------------------------------------------------------------

TEST_P(RelayStoreTest, PurgeLooksAtTheFrontAndTakesOldSentRowsOnly) {
  configure(Ordering::key, std::chrono::hours(1));
  lease("a", kLeaseBuckets);
  Ids all;
  for (int i = 0; i < 8; ++i) all.push_back(insert("k" + std::to_string(i)));
  read("a");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(mark_sent("a", all[static_cast<size_t>(i)]), 0u);
  mark_failed("a", all[6], To::dead);
  for (const size_t i : {0u, 1u, 2u, 4u}) make_old(all[i]);
  const auto purge = [&](size_t max) {
    DataTrip trip;
    trip.purge = max;
    return data("a", std::move(trip)).purged;
  };
  EXPECT_EQ(purge(2), 2u);
  EXPECT_FALSE(state(all[0]) || state(all[1]));
  EXPECT_EQ(purge(100), 2u);
  EXPECT_EQ(purge(100), 0u);
  for (const size_t i : {3u, 5u, 6u, 7u}) EXPECT_TRUE(state(all[i])) << i;
}

std::vector<StoreKind> kinds() {
  std::vector<StoreKind> out{StoreKind::simulated, StoreKind::sqlite};
#ifdef DROM_POSTGRES
  out.push_back(StoreKind::postgres);
#endif
#ifdef DROM_MYSQL
  out.push_back(StoreKind::mariadb);
#endif
  return out;
}

INSTANTIATE_TEST_SUITE_P(Stores, RelayStoreTest, ::testing::ValuesIn(kinds()), kind_name);

}  // namespace
}  // namespace drom::outbox
