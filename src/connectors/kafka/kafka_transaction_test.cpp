// kafka: consume, process, produce in one Kafka transaction, on a real broker.
#include "observe/source_lag.hpp"
#include "support/kafka_fixture.hpp"

namespace drom {
namespace {

using testing::KafkaTest;
using testing::Options;
using Values = std::vector<std::string>;

class KafkaTransaction : public KafkaTest {
 protected:
  void SetUp() override {
    KafkaTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    in = make_topic(1, "in");
    out = make_topic(1, "out");
    audit = make_topic(1, "audit");
  }
  Options transactional() { return {{"transactionalIdPrefix", name}}; }
  Consumer& source() {
    return consumer(in, {{"groupId", name},
                         {"autoOffsetReset", "earliest"},
                         {"retryBackoffMs", "50"},
                         {"pollTimeoutMs", "100"}});
  }
  std::string in, out, audit;
};

TEST_F(KafkaTransaction, OutputsAndOffsetBecomeVisibleTogether) {
  write(in, {{"", "a"}, {"", "b"}});
  Producer& first = producer(out, transactional());
  Producer& second = producer(audit, transactional());
  Consumer& from = source();
  std::optional<Exchange> one = next(from);
  ASSERT_TRUE(one);
  Exchange exchange = send(second, send(first, std::move(*one)));
  ASSERT_FALSE(exchange.failed()) << exchange.error->message();
  // Written, but not committed: no reader of committed records sees it.
  EXPECT_EQ(read(out, 1, true).size(), 1u);
  EXPECT_EQ(committed(name, in), -1);
  settle(from, std::move(exchange));
  EXPECT_EQ(values(out), (Values{"a"}));
  EXPECT_EQ(values(audit), (Values{"a"}));
  EXPECT_EQ(committed(name, in), 1);
  one = next(from);
  ASSERT_TRUE(one);
  settle(from, send(first, std::move(*one)));
  EXPECT_EQ(values(out), (Values{"a", "b"}));
  EXPECT_EQ(committed(name, in), 2);
}

TEST_F(KafkaTransaction, AFailureAbortsAllAndTheRecordComesAgain) {
  write(in, {{"", "a"}, {"", "b"}});
  Producer& to = producer(out, transactional());
  Consumer& from = source();
  std::optional<Exchange> one = next(from);
  ASSERT_TRUE(one);
  Exchange exchange = send(to, std::move(*one));
  exchange.fail(Error(ErrorKind::data, "a later step failed"));
  settle(from, std::move(exchange), Outcome::failed);
  EXPECT_EQ(read(out, 1, true).size(), 1u);
  EXPECT_TRUE(values(out).empty());
  EXPECT_EQ(committed(name, in), -1);
  for (const char* expected : {"a", "b"}) {
    one = next(from);
    ASSERT_TRUE(one);
    EXPECT_EQ(text(*one), expected);
    settle(from, send(to, std::move(*one)));
  }
  EXPECT_EQ(values(out), (Values{"a", "b"}));
  EXPECT_EQ(committed(name, in), 2);
}

TEST_F(KafkaTransaction, CaseC60TheLagReachesZeroBehindCommitAndAbortMarkers) {
  Producer& to = producer(out, transactional());
  ASSERT_FALSE(send(to, with_body(Value("kept"))).failed());  // offset 0, its marker 1
  write(in, {{"", "undone"}});
  Consumer& undone = source();
  std::optional<Exchange> one = next(undone);
  ASSERT_TRUE(one);
  Exchange exchange = send(to, std::move(*one));  // offset 2
  exchange.fail(Error(ErrorKind::data, "aborts the transaction"));
  settle(undone, std::move(exchange), Outcome::failed);  // its marker 3
  close(undone);
  ASSERT_EQ(read(out, 1, true).size(), 2u);

  const std::string group = name + "-reader";
  Consumer& reader = consumer(
      out, {{"groupId", group}, {"autoOffsetReset", "earliest"}, {"pollTimeoutMs", "100"}});
  one = next(reader);
  ASSERT_TRUE(one);
  EXPECT_EQ(text(*one), "kept");
  const auto lag = [&] {
    const auto make = [] { return std::make_shared<SourceLagBoard>(); };
    int64_t records = -1;
    for (const auto& [uri, lags] : harness.shared<SourceLagBoard>(make).read())
      for (const SourceLag& of : lags)
        if (of.topic == out) records = of.records;
    return records;
  };
  const auto idle = [&](int64_t wanted) {
    return until([&] {
      EXPECT_TRUE(poll(reader, 10, milliseconds(50)).empty()) << "an aborted record was read";
      return lag() == wanted;
    });
  };
  // While the one record is worked on it counts, and nothing is committed.
  EXPECT_TRUE(idle(4)) << lag();
  EXPECT_EQ(committed(group, out), -1);
  settle(reader, std::move(*one));
  EXPECT_TRUE(idle(0)) << lag();
}

TEST_F(KafkaTransaction, ASendThatFailsAbortsAndLaterSendsOfTheRecordFailToo) {
  write(in, {{"", "a"}});
  Producer& to = producer(out, transactional());
  Options bad = transactional();
  bad.emplace_back("partitionKey", "${header.none}x");
  Producer& refusing = producer(audit, bad);
  Consumer& from = source();
  std::optional<Exchange> one = next(from);
  ASSERT_TRUE(one);
  Exchange exchange = send(refusing, send(to, std::move(*one)));
  ASSERT_TRUE(exchange.failed());
  exchange.catch_error();  // the route handles it, and sends again
  exchange = send(to, std::move(exchange));
  ASSERT_TRUE(exchange.failed());
  EXPECT_NE(exchange.error->what.find("aborted before"), std::string::npos);
  settle(from, std::move(exchange), Outcome::failed);
  EXPECT_TRUE(values(out).empty());
  one = next(from);
  ASSERT_TRUE(one);
  settle(from, send(to, std::move(*one)));
  EXPECT_EQ(values(out), (Values{"a"}));
}

// The process hung in the middle of a transaction; its successor has the same transactional id.
TEST_F(KafkaTransaction, AZombieIsFencedAndItsOutputIsNeverSeen) {
  write(in, {{"", "a"}});
  Producer& zombie = producer(out, transactional());
  Consumer& from = source();
  std::optional<Exchange> one = next(from);
  ASSERT_TRUE(one);
  Exchange late = send(zombie, std::move(*one));
  ASSERT_FALSE(late.failed());

  testing::KafkaHarness successor;
  register_kafka(successor.registry());
  const Options options = {{"topic", out}, {"brokers", brokers}, {"transactionalIdPrefix", name}};
  const auto endpoint = testing::make_endpoint(successor, "kafka", options);
  std::unique_ptr<Producer> fresh = std::move(*endpoint->make_producer());
  Exchange exchange = with_body("from the successor");
  Scope scope = successor.real_scope();
  successor.run(run_one(*fresh, exchange, scope));
  EXPECT_FALSE(exchange.failed()) << exchange.error->message();
  EXPECT_EQ(values(out), (Values{"from the successor"}));
  successor.run(fresh->close());

  settle(from, std::move(late));
  EXPECT_EQ(committed(name, in), -1);
  EXPECT_EQ(values(out), (Values{"from the successor"}));
  // The record is worked on again, by a client made anew.
  Batch again = poll(from, 1);
  if (again.empty()) {
    close(from);
    EXPECT_TRUE(harness.run(from.open()).ok());
    again = poll(from, 1);
  }
  ASSERT_EQ(again.size(), 1u);
  settle(from, send(zombie, std::move(again.front())));
  EXPECT_EQ(values(out), (Values{"from the successor", "a"}));
  EXPECT_EQ(committed(name, in), 1);
}

TEST_F(KafkaTransaction, ABatchIsOneTransaction) {
  write(in, {{"", "a"}, {"", "b"}, {"", "c"}});
  Producer& to = producer(out, transactional());
  Consumer& from = consumer(in, {{"groupId", name},
                                 {"autoOffsetReset", "earliest"},
                                 {"maxPollRecords", "10"},
                                 {"batchingIntervalMs", "2s"}});
  std::optional<Exchange> batch = next(from);
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->message.body.as_list()->size(), 3u);
  Exchange exchange = send(to, std::move(*batch));
  EXPECT_TRUE(values(out).empty());
  settle(from, std::move(exchange));
  EXPECT_EQ(values(out), (Values{"a", "b", "c"}));
  EXPECT_EQ(committed(name, in), 3);
}

TEST_F(KafkaTransaction, WithoutAKafkaSourceEveryMessageIsATransaction) {
  Producer& to = producer(out, transactional());
  const Exchange sent = send(to, with_body(Value(List{Value("x"), Value("y")})));
  ASSERT_FALSE(sent.failed()) << sent.error->message();
  EXPECT_EQ(values(out), (Values{"x", "y"}));
}

}  // namespace
}  // namespace drom
