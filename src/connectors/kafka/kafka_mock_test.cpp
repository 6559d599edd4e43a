// kafka: against librdkafka's own mock cluster, which can be told to fail. No server is needed.
#include "support/kafka_fixture.hpp"
// Must come after rdkafka.h.
#include <librdkafka/rdkafka_mock.h>

namespace drom {
namespace {

using testing::KafkaTest;
using Values = std::vector<std::string>;

constexpr int16_t kProduce = 0;
constexpr int16_t kOffsetCommit = 8;

class KafkaMock : public KafkaTest {
 protected:
  void SetUp() override {
    owner_ = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0);
    cluster = rd_kafka_mock_cluster_new(owner_, 1);
    brokers = rd_kafka_mock_cluster_bootstraps(cluster);
    register_kafka(harness.registry());
    name = "t";
    rd_kafka_mock_topic_create(cluster, name.c_str(), 1, 1);
  }
  void TearDown() override {
    KafkaTest::TearDown();
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(owner_);
  }
  Consumer& source() {
    return consumer(name, {{"groupId", "g"},
                           {"partitionNumber", "0"},
                           {"seekTo", "beginning"},
                           {"retryBackoffMs", "50"},
                           {"pollTimeoutMs", "100"}});
  }
  rd_kafka_mock_cluster_t* cluster = nullptr;

 private:
  rd_kafka_t* owner_ = nullptr;
};

TEST_F(KafkaMock, CaseC24ARefusedCommitSkipsNoFailedRecord) {
  write(name, {{"", "0"}, {"", "1"}, {"", "2"}, {"", "3"}, {"", "4"}});
  Consumer& from = source();
  rd_kafka_mock_push_request_errors(cluster, kOffsetCommit, 1,
                                    RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
  Values seen;
  int failures = 1;
  while (seen.size() < 6) {
    std::optional<Exchange> one = next(from);
    ASSERT_TRUE(one);
    seen.push_back(text(*one));
    const bool fails = text(*one) == "2" && failures-- > 0;
    settle(from, std::move(*one), fails ? Outcome::failed : Outcome::done);
    harness.run(harness.clock().sleep(milliseconds(150)));  // each with its own commit
  }
  EXPECT_EQ(seen, (Values{"0", "1", "2", "2", "3", "4"}));
  EXPECT_TRUE(until([&] { return committed("g", name) == 5; }));
}

TEST_F(KafkaMock, ASendSurvivesWhatABrokerMayAnswerForAWhile) {
  Producer& to = producer(name, {{"recordMetadata", "true"}});
  rd_kafka_mock_push_request_errors(
      cluster, kProduce, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
  const Exchange sent = send(to, with_body("x"));
  ASSERT_FALSE(sent.failed()) << sent.error->message();
  EXPECT_EQ(*sent.message.headers.find("kafka.sent.offset"), Value(0));
}

TEST_F(KafkaMock, ABrokerThatIsAwayIsToldAndItsReturnEndsTheTrouble) {
  write(name, {{"", "0"}});
  Consumer& from = source();
  settle(from, std::move(*next(from)));
  rd_kafka_mock_broker_set_down(cluster, 1);
  EXPECT_TRUE(until([&] {
    const Result<Batch> batch = harness.run(from.poll(1));
    return !batch.ok() && batch.error().retryable();
  }));
  rd_kafka_mock_broker_set_up(cluster, 1);
  EXPECT_TRUE(until([&] {
    const Result<Batch> batch = harness.run(from.poll(1));
    return batch.ok();
  }));
  write(name, {{"", "1"}});
  EXPECT_EQ(text(*next(from)), "1");
}

}  // namespace
}  // namespace drom
