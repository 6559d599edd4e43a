// kafka: partitions that move, and slow routes, on a real broker.
#include <set>

#include "support/kafka_fixture.hpp"

namespace drom {
namespace {

using testing::KafkaTest;
using testing::Options;
using Values = std::vector<std::string>;

class KafkaGroup : public KafkaTest {
 protected:
  Options member(Options more = {}) {
    more.emplace_back("groupId", name);
    more.emplace_back("autoOffsetReset", "earliest");
    more.emplace_back("sessionTimeoutMs", "2s");
    more.emplace_back("heartbeatIntervalMs", "200");
    more.emplace_back("pollTimeoutMs", "50");
    more.emplace_back("retryBackoffMs", "100");
    return more;
  }
  size_t given_up() const {
    size_t out = 0;
    for (const auto& line : harness.captured.lines)
      if (line.message.find("given up") != std::string::npos) ++out;
    return out;
  }
};

TEST_F(KafkaGroup, CaseC22ALateEndAfterARevocationCommitsNothing) {
  const std::string topic = make_topic();
  write(topic, {{"", "0"}, {"", "1"}});
  Consumer& a = consumer(topic, member({{"groupInstanceId", "a"}}));
  Batch slow = poll(a, 1);
  ASSERT_EQ(slow.size(), 1u);
  // The one partition goes to one of the two: close and open until the other one has it.
  Consumer& b = consumer(topic, member());
  const SteadyTime limit = harness.clock().steady() + std::chrono::seconds(20);
  Values seen;
  while (seen.size() < 2 && harness.clock().steady() < limit) {
    for (Exchange& one : poll(b, 10, milliseconds(200))) {
      seen.push_back(text(one));
      settle(b, std::move(one));
    }
    if (seen.empty() && given_up() > 0) {
      // Both members were asked again; when it came back to A, let A leave while it is busy.
      EXPECT_TRUE(harness.run(a.poll(0)).ok());
    }
    if (seen.empty() && harness.clock().steady() > limit - std::chrono::seconds(14)) {
      harness.run(a.close());
    }
  }
  EXPECT_EQ(seen, (Values{"0", "1"}));
  EXPECT_TRUE(until([&] { return committed(name, topic) == 2; }));
  settle(a, std::move(slow.front()));
  close(a);
  close(b);
  EXPECT_EQ(committed(name, topic), 2);
}

TEST_F(KafkaGroup, CaseC25ABufferedBatchSurvivesACooperativeRevocation) {
  const std::string topic = make_topic(2);
  const Options batch = member({{"partitionAssignmentStrategy", "cooperativeSticky"},
                                {"maxPollRecords", "10"},
                                {"batchingIntervalMs", "4s"},
                                {"recordMetadata", "true"}});
  for (const int32_t p : {0, 1}) write(topic, {{"", "0", p}, {"", "1", p}, {"", "2", p}});
  Consumer& a = consumer(topic, batch);
  harness.spawn([](Consumer& one) -> async<> {
    const Result<Batch> polled = co_await one.poll(1);  // buffers
    EXPECT_TRUE(polled.ok());
  }(a));
  harness.run(harness.clock().sleep(milliseconds(1500)));
  Consumer& b = consumer(topic, batch);
  for (const int32_t p : {0, 1}) write(topic, {{"", "3", p}, {"", "4", p}});
  std::set<std::string> seen;
  const SteadyTime limit = harness.clock().steady() + std::chrono::seconds(40);
  while (seen.size() < 10 && harness.clock().steady() < limit) {
    for (Consumer* one : {&a, &b}) {
      Batch got = poll(*one, 1, milliseconds(300));
      if (got.empty()) continue;
      for (const Value& record : *got.front().message.headers.find("kafka.records")->as_list())
        seen.insert(record.as_object()->find("partition")->to_text() + "/" +
                    record.as_object()->find("offset")->to_text());
      settle(*one, std::move(got.front()));
    }
  }
  EXPECT_EQ(seen.size(), 10u);
  close(a);
  close(b);
  EXPECT_EQ(committed(name, topic, 0), 5);
  EXPECT_EQ(committed(name, topic, 1), 5);
}

TEST_F(KafkaGroup, CaseC27ARetryThatTakesLongerThanThePollIntervalCostsNoRebalance) {
  const std::string topic = make_topic(2);
  write(topic, {{"", "bad", 0}, {"", "a", 1}, {"", "b", 1}});
  Options options = member({{"maxPollIntervalMs", "2s"}});
  for (auto& [option, value] : options)
    if (option == "retryBackoffMs") value = "1500";
  Consumer& from = consumer(topic, options);
  int attempts = 0;
  std::set<std::string> others;
  while (attempts < 3 || others.size() < 2) {
    Batch batch = poll(from, 1);
    ASSERT_EQ(batch.size(), 1u);
    Exchange one = std::move(batch.front());
    if (text(one) != "bad") {
      others.insert(text(one));
      settle(from, std::move(one));
      continue;
    }
    ++attempts;
    if (attempts == 1) harness.run(harness.clock().sleep(milliseconds(2500)));  // a slow handler
    settle(from, std::move(one), attempts < 3 ? Outcome::failed : Outcome::done);
  }
  close(from);
  EXPECT_EQ(committed(name, topic, 0), 1);
  EXPECT_EQ(committed(name, topic, 1), 2);
  EXPECT_EQ(given_up(), 1u);  // when it was closed
  EXPECT_FALSE(harness.captured.contains("the group has taken"));
}

TEST_F(KafkaGroup, TwoMembersShareThePartitionsAndNothingIsLostWhenOneLeaves) {
  const std::string topic = make_topic(4);
  std::vector<testing::Written> records;
  for (int i = 0; i < 40; ++i) records.push_back({"", std::to_string(i), i % 4});
  write(topic, records);
  Consumer& a = consumer(topic, member());
  Consumer& b = consumer(topic, member());
  std::set<std::string> seen;
  const SteadyTime limit = harness.clock().steady() + std::chrono::seconds(30);
  bool closed = false;
  while (seen.size() < 40 && harness.clock().steady() < limit) {
    for (Consumer* one : {&a, &b}) {
      if (one == &b && closed) continue;
      for (Exchange& exchange : poll(*one, 3, milliseconds(200))) {
        seen.insert(text(exchange));
        settle(*one, std::move(exchange));
      }
    }
    if (seen.size() > 10 && !std::exchange(closed, true)) close(b);
  }
  EXPECT_EQ(seen.size(), 40u);
  close(a);
  for (int p = 0; p < 4; ++p) EXPECT_EQ(committed(name, topic, p), 10);
}

}  // namespace
}  // namespace drom
