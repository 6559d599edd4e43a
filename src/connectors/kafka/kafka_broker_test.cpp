// kafka: against a real broker.
#include <array>

#include "support/kafka_fixture.hpp"

namespace drom {
namespace {

using testing::KafkaTest;
using testing::Options;
using testing::Read;
using Values = std::vector<std::string>;

const Options kReader = {{"groupId", "g"}, {"autoOffsetReset", "earliest"}};

Options reader(const std::string& group, Options more = {}) {
  more.emplace_back("groupId", group);
  more.emplace_back("autoOffsetReset", "earliest");
  return more;
}

TEST_F(KafkaTest, ASendEndsWhenTheBrokerHasTheRecord) {
  const std::string topic = make_topic();
  Producer& to = producer(topic, {{"key", "${header.id}"}, {"recordMetadata", "true"}});
  Exchange exchange = with_body("hello");
  exchange.message.headers.set("id", 7);
  exchange.message.headers.set("traceparent", "00-4bf9-01");
  exchange.message.headers.set("kafka.offset", 99);
  exchange.message.headers.set("Authorization", "Bearer x");
  const Exchange sent = send(to, std::move(exchange));
  ASSERT_FALSE(sent.failed()) << sent.error->message();
  EXPECT_EQ(*sent.message.headers.find("kafka.sent.topic"), Value(topic));
  EXPECT_EQ(*sent.message.headers.find("kafka.sent.partition"), Value(0));
  EXPECT_EQ(*sent.message.headers.find("kafka.sent.offset"), Value(0));
  EXPECT_GT(sent.message.headers.find("kafka.sent.timestamp")->to_int().value_or(0), 0);
  const std::vector<Read> records = read(topic);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].key, "7");
  EXPECT_EQ(records[0].value, "hello");
  using Wire = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(records[0].headers, (Wire{{"id", "7"}, {"traceparent", "00-4bf9-01"}}));
}

TEST_F(KafkaTest, NullIsATombstoneOrEmptyAndAListIsARecordEach) {
  const std::string topic = make_topic(2);
  send(producer(topic, {{"partitionNumber", "1"}}), with_body(Value()));
  Producer& empty = producer(topic, {{"nullBody", "empty"}, {"partitionKey", "${header.p}"}});
  Exchange exchange = with_body(Value());
  exchange.message.headers.set("p", 1);
  send(empty, std::move(exchange));
  Object document;
  document.set("a", 1);
  send(producer(topic, {{"partitionNumber", "1"}}),
       with_body(Value(List{Value("x"), Value(document), Value(12)})));
  const std::vector<Read> records = read(topic, 2);
  ASSERT_EQ(records.size(), 5u);
  EXPECT_TRUE(records[0].tombstone);
  EXPECT_FALSE(records[1].tombstone);
  EXPECT_EQ(records[2].value, "x");
  EXPECT_EQ(records[3].value, "{\"a\":1}");
  EXPECT_EQ(records[4].value, "12");
  for (const Read& one : records) EXPECT_EQ(one.partition, 1);
}

TEST_F(KafkaTest, ManySendsAtOnceKeepTheirOrderThroughASmallBuffer) {
  const std::string topic = make_topic();
  Producer& to = producer(topic, {{"bufferMemorySize", "4096"}, {"lingerMs", "1"}});
  Values expected;
  Batch batch;
  for (int i = 0; i < 300; ++i) {
    expected.push_back(std::to_string(i) + std::string(200, 'x'));
    batch.push_back(with_body(expected.back()));
  }
  Scope scope = harness.real_scope();
  harness.run(to.run(batch, scope));
  for (const Exchange& one : batch) EXPECT_FALSE(one.failed());
  EXPECT_EQ(values(topic), expected);
}

TEST_F(KafkaTest, ARecordBecomesAnExchangeWithItsMetadata) {
  const std::string topic = make_topic();
  write(topic, {{"k", "one"}, {"", "two"}, {"k", "", RD_KAFKA_PARTITION_UA, true}});
  Consumer& from = consumer(topic, kReader);
  std::optional<Exchange> first = next(from);
  ASSERT_TRUE(first);
  EXPECT_EQ(text(*first), "one");
  EXPECT_EQ(first->key, "k");
  EXPECT_EQ(*first->message.headers.find("kafka.topic"), Value(topic));
  EXPECT_EQ(*first->message.headers.find("kafka.partition"), Value(0));
  EXPECT_EQ(*first->message.headers.find("kafka.offset"), Value(0));
  EXPECT_EQ(*first->message.headers.find("kafka.key"), Value("k"));
  EXPECT_GT(first->message.headers.find("kafka.timestamp")->to_int().value_or(0), 0);
  settle(from, std::move(*first));
  std::optional<Exchange> second = next(from);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->key, "");
  EXPECT_FALSE(second->message.headers.find("kafka.key"));
  settle(from, std::move(*second));
  std::optional<Exchange> third = next(from);
  ASSERT_TRUE(third);
  EXPECT_TRUE(third->message.body.is_null());
  settle(from, std::move(*third));
  EXPECT_TRUE(until([&] { return committed("g", topic) == 3; }));
  EXPECT_TRUE(harness.captured.contains("leader 1"));
}

TEST_F(KafkaTest, CaseC19OnlyWhatTheRouteHasDoneIsCommitted) {
  const std::string topic = make_topic();
  std::vector<testing::Written> ten;
  for (int i = 0; i < 10; ++i) ten.push_back({"", std::to_string(i)});
  write(topic, ten);
  Consumer& from = consumer(topic, reader(name, {{"maxPollRecords", "4"}}));
  std::optional<Exchange> batch = next(from);
  ASSERT_TRUE(batch);
  ASSERT_TRUE(batch->message.body.is_list());
  EXPECT_EQ(batch->message.body.as_list()->size(), 4u);
  EXPECT_EQ(*batch->message.headers.find("kafka.batchSize"), Value(4));
  settle(from, std::move(*batch));
  EXPECT_TRUE(until([&] { return committed(name, topic) == 4; }));
  close(from);
  EXPECT_EQ(committed(name, topic), 4);
  Consumer& again = consumer(topic, reader(name, {{"maxPollRecords", "100"}}));
  std::optional<Exchange> rest = next(again);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->message.body.as_list()->front().raw(), "4");
}

// In place of the aggregator: a source whose exchanges are held back.
TEST_F(KafkaTest, CaseC20AnUndeliveredGroupHoldsTheOffset) {
  const std::string topic = make_topic();
  write(topic, {{"", "0"}, {"", "1"}, {"", "2"}, {"", "3"}});
  Consumer& from = consumer(topic, reader(name, {{"retryBackoffMs", "50"}}));
  Batch held;
  while (held.size() < 4)
    for (Exchange& one : poll(from, 4 - held.size())) held.push_back(std::move(one));
  settle(from, std::move(held[1]));
  settle(from, std::move(held[2]));
  settle(from, std::move(held[0]), Outcome::failed);
  std::optional<Exchange> again = next(from);
  ASSERT_TRUE(again);
  EXPECT_EQ(text(*again), "0");
  EXPECT_EQ(committed(name, topic), -1);
  settle(from, std::move(*again));
  EXPECT_TRUE(until([&] { return committed(name, topic) == 3; }));
  close(from);
  EXPECT_EQ(committed(name, topic), 3);
}

TEST_F(KafkaTest, CaseC21ABatchOverPartitionsCommitsEachOfThem) {
  const std::string topic = make_topic(3);
  write(topic, {{"", "a", 2}, {"", "b", 2}, {"", "c", 1}, {"", "d", 0}, {"", "e", 0}});
  Consumer& from = consumer(topic, reader(name, {{"maxPollRecords", "5"},
                                                 {"batchingIntervalMs", "5s"},
                                                 {"recordMetadata", "true"}}));
  std::optional<Exchange> batch = next(from);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->message.body.as_list()->size(), 5u);
  const Value* records = batch->message.headers.find("kafka.records");
  ASSERT_TRUE(records && records->is_list());
  EXPECT_EQ(records->as_list()->size(), 5u);
  EXPECT_TRUE(records->as_list()->front().as_object()->find("offset"));
  settle(from, std::move(*batch));
  close(from);
  EXPECT_EQ(committed(name, topic, 0), 2);
  EXPECT_EQ(committed(name, topic, 1), 1);
  EXPECT_EQ(committed(name, topic, 2), 2);
}

TEST_F(KafkaTest, AFailedRecordIsTriedAgainInPlaceAndOthersFlow) {
  const std::string topic = make_topic(2);
  write(topic, {{"", "bad", 0}, {"", "later", 0}, {"", "other", 1}});
  Consumer& from = consumer(topic, reader(name, {{"retryBackoffMs", "300"}}));
  Values seen;
  int failures = 2;
  while (seen.size() < 5) {
    std::optional<Exchange> one = next(from);
    ASSERT_TRUE(one);
    seen.push_back(text(*one));
    const bool fails = text(*one) == "bad" && failures-- > 0;
    settle(from, std::move(*one), fails ? Outcome::failed : Outcome::done);
  }
  std::erase(seen, "other");
  EXPECT_EQ(seen, (Values{"bad", "bad", "bad", "later"}));
  close(from);
  EXPECT_EQ(committed(name, topic, 0), 2);
  EXPECT_EQ(committed(name, topic, 1), 1);
}

TEST_F(KafkaTest, SeekToBeginsWhereItSaysWhateverIsCommitted) {
  const std::string topic = make_topic();
  write(topic, {{"", "0"}, {"", "1"}, {"", "2"}});
  Consumer& first = consumer(topic, reader(name, {{"seekTo", "beginning"}}));
  for (int i = 0; i < 3; ++i) settle(first, std::move(*next(first)));
  close(first);
  EXPECT_EQ(committed(name, topic), 3);
  Consumer& again = consumer(topic, reader(name, {{"seekTo", "beginning"}}));
  EXPECT_EQ(text(*next(again)), "0");
  close(again);
  Consumer& at = consumer(topic, reader(name, {{"seekTo", "2"}, {"partitionNumber", "0"}}));
  EXPECT_EQ(text(*next(at)), "2");
  close(at);
  Consumer& since = consumer(topic, reader(name, {{"seekTo", "2020-01-01T00:00:00Z"}}));
  EXPECT_EQ(text(*next(since)), "0");
  close(since);
  Consumer& end = consumer(topic, reader(name, {{"seekTo", "end"}, {"pollTimeoutMs", "100"}}));
  EXPECT_TRUE(poll(end, 1, std::chrono::seconds(3)).empty());
  write(topic, {{"", "3"}});
  EXPECT_EQ(text(*next(end)), "3");
}

TEST_F(KafkaTest, SeveralTopicsAndPatternsAreRead) {
  const std::string a = make_topic(1, "a");
  const std::string b = make_topic(1, "b");
  write(a, {{"", "of a"}});
  write(b, {{"", "of b"}});
  for (const bool pattern : {false, true}) {
    Options options = reader(name + (pattern ? "p" : "l"));
    if (pattern) options.emplace_back("topicIsPattern", "true");
    Consumer& from = consumer(pattern ? name + "[ab]" : a + "," + b, options);
    std::set<std::string> seen;
    while (seen.size() < 2) {
      std::optional<Exchange> one = next(from);
      ASSERT_TRUE(one);
      seen.insert(text(*one));
      settle(from, std::move(*one));
    }
    EXPECT_EQ(seen, (std::set<std::string>{"of a", "of b"}));
    close(from);
  }
}

TEST_F(KafkaTest, AFullWindowPausesAndTheGroupStillHearsFromUs) {
  const std::string topic = make_topic();
  std::vector<testing::Written> many;
  for (int i = 0; i < 200; ++i) many.push_back({"", std::to_string(i)});
  write(topic, many);
  Consumer& from = consumer(topic, reader(name, {{"window", "10"},
                                                 {"sessionTimeoutMs", "1500ms"},
                                                 {"heartbeatIntervalMs", "300"},
                                                 {"maxPollIntervalMs", "1500ms"}}));
  Batch held = poll(from, 5);
  harness.run(harness.clock().sleep(milliseconds(4000)));
  Values seen;
  for (Exchange& one : held) {
    seen.push_back(text(one));
    settle(from, std::move(one));
  }
  while (seen.size() < 200) {
    for (Exchange& one : poll(from, 20)) {
      seen.push_back(text(one));
      settle(from, std::move(one));
    }
  }
  for (int i = 0; i < 200; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], std::to_string(i));
  EXPECT_FALSE(harness.captured.contains("the group has taken our partitions"));
  EXPECT_FALSE(harness.captured.contains("has lost"));
}

// More than librdkafka reads ahead: it stops fetching, and is woken when we have caught up.
TEST_F(KafkaTest, ALongBacklogBehindASmallWindowComesOnceAndInOrder) {
  const std::string topic = make_topic(2);
  constexpr int kEach = 75'000;
  for (const int32_t partition : {0, 1}) {
    std::vector<testing::Written> many;
    for (int i = 0; i < kEach; ++i) many.push_back({"", std::to_string(i), partition});
    write(topic, many);
  }
  Consumer& from = consumer(topic, reader(name, {{"window", "1000"}, {"recordMetadata", "true"}}));
  std::array<int, 2> next{};
  while (next[0] + next[1] < 2 * kEach) {
    Batch batch = poll(from, 1000);
    ASSERT_FALSE(batch.empty()) << next[0] << " and " << next[1];
    std::vector<Receipt> receipts;
    for (Exchange& one : batch) {
      const auto partition =
          static_cast<size_t>(one.message.headers.find("kafka.partition")->to_int().value());
      ASSERT_EQ(text(one), std::to_string(next[partition]++));
      receipts.push_back(Receipt{std::move(one), Outcome::done});
    }
    EXPECT_TRUE(harness.run(from.settle(std::move(receipts))).ok());
  }
  close(from);
  EXPECT_EQ(committed(name, topic, 0), kEach);
  EXPECT_EQ(committed(name, topic, 1), kEach);
}

}  // namespace
}  // namespace drom
