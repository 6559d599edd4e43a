#include "chaos/history.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "chaos/tiny_relay.hpp"

namespace drom::chaos {
namespace {

constexpr uint64_t kSeeds = 8;

std::string told(const Verdict& verdict) {
  std::string out = verdict.summary();
  for (const std::string& text : verdict.examples) out += "\n  " + text;
  return out;
}

TEST(HistoryChecker, PassesASystemThatIsRight) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const History history = TinyRelay(Mistake::none, seed).run();
    const Verdict verdict = check(history);
    EXPECT_TRUE(verdict.clean()) << "seed " << seed << ": " << told(verdict);
    EXPECT_GT(verdict.events, 200u);
    EXPECT_GT(verdict.duplicates, 0u);
    EXPECT_GT(verdict.rolled_back, 0u);
    EXPECT_GT(verdict.dead, 0u);
  }
}

// By what each mistake is caught.
struct Planted {
  Mistake mistake;
  const char* name;
  size_t Verdict::* count;
};

constexpr Planted kPlanted[] = {
    {Mistake::mark_before_publish, "mark before publish", &Verdict::lost},
    {Mistake::ack_before_commit, "ack before commit", &Verdict::missing_effects},
    {Mistake::cursor_by_id, "cursor by id", &Verdict::stuck},
    {Mistake::no_fencing, "no fencing", &Verdict::wrongly_dead},
    {Mistake::unordered_retry, "unordered retry", &Verdict::reordered},
    {Mistake::lost_last_batch_on_sigterm, "lost last batch on SIGTERM", &Verdict::lost},
    {Mistake::inbox_outside_the_transaction, "inbox outside the transaction",
     &Verdict::duplicate_effects},
    {Mistake::dedup_key_without_consumer, "dedup key without consumer", &Verdict::missing_effects},
    {Mistake::payload_truncated, "payload truncated", &Verdict::corrupt},
    {Mistake::dead_letter_dropped, "dead letter dropped", &Verdict::torn},
    {Mistake::retry_with_new_id, "retry with new id", &Verdict::phantom},
    {Mistake::skip_on_nack, "skip on nack", &Verdict::lost},
    {Mistake::publish_before_commit, "publish before commit", &Verdict::phantom},
    {Mistake::gives_up_after_an_outage, "gives up after an outage", &Verdict::stuck},
    {Mistake::half_a_transaction, "half a transaction", &Verdict::torn},
};

TEST(HistoryChecker, CatchesEveryPlantedMistake) {
  size_t caught = 0;
  for (const Planted& planted : kPlanted) {
    bool all = true;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Verdict verdict = check(TinyRelay(planted.mistake, seed).run());
      all = all && !verdict.clean() && verdict.*planted.count > 0;
      EXPECT_GT(verdict.*planted.count, 0u)
          << planted.name << ", seed " << seed << ": " << told(verdict);
    }
    if (all) ++caught;
  }
  EXPECT_EQ(caught, std::size(kPlanted));
}

TEST(HistoryChecker, CountsDuplicatesThatNoFaultExplains) {
  History history;
  history.destination = "sink";
  history.inbox = false;
  Truth truth;
  truth.event = "e";
  truth.key = "k";
  truth.seq = 1;
  truth.status = "sent";
  history.truth.push_back(truth);
  Delivered delivered;
  delivered.event = "e";
  delivered.key = "k";
  delivered.seq = 1;
  delivered.destination = "sink";
  history.delivered = {delivered, delivered};
  EXPECT_EQ(check(history).unexplained, 1u);
  history.faults.push_back({"kill", 0});
  EXPECT_TRUE(check(history).clean());
  history.delivered[1].destination = "elsewhere";
  EXPECT_EQ(check(history).corrupt, 1u);
}

TEST(HistoryChecker, ReadsWhatItWrote) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("drom-history-" + std::to_string(::getpid())))
          .string();
  std::filesystem::create_directories(folder);
  History history = TinyRelay(Mistake::skip_on_nack, 3).run();
  ASSERT_TRUE(write_history(history, folder).ok());
  Result<History> read = read_history(folder);
  ASSERT_TRUE(read.ok()) << read.error().message();
  read->destination = history.destination;
  read->in_flight_max = history.in_flight_max;
  EXPECT_EQ(told(check(*read)), told(check(history)));
  EXPECT_EQ(read->intents.size(), history.intents.size());
  EXPECT_EQ(read->faults.size(), history.faults.size());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace drom::chaos
