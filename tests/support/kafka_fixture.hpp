// A real Kafka broker for tests: named by DROM_TEST_KAFKA (skipped without it, failed when DROM_CI
// is set). Topics are made fresh, records are written and read by a client of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/kafka/kafka.hpp"
#include "rt/real_clock.hpp"
#include "support/endpoints.hpp"
#include "support/kafka_admin.hpp"

namespace drom::testing {

// Harness with real time, for the broker has it too.
class KafkaHarness : public Harness {
 public:
  KafkaHarness() : real(make_real_clock(io())) {}
  Clock& clock() override { return *real; }
  Scope real_scope() { return Scope{*real, captured, rng(), *this, "test", "step", nullptr}; }
  std::unique_ptr<Clock> real;
};

struct Written {
  std::string key;
  std::string value;
  int32_t partition = RD_KAFKA_PARTITION_UA;
  bool tombstone = false;
};

struct Read {
  std::string key;
  std::string value;
  int32_t partition = 0;
  int64_t offset = 0;
  bool tombstone = false;
  std::vector<std::pair<std::string, std::string>> headers;
};

class KafkaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::getenv("DROM_TEST_KAFKA")) {
      if (std::getenv("DROM_CI")) FAIL() << "DROM_TEST_KAFKA is not set, but DROM_CI is";
      GTEST_SKIP() << "DROM_TEST_KAFKA is not set";
    }
    brokers = std::getenv("DROM_TEST_KAFKA");
    register_kafka(harness.registry());
    name = "t" + std::to_string(entropy_seed());
  }
  void TearDown() override {
    for (const auto& consumer : consumers_) harness.run(consumer->close());
    for (const auto& producer : producers_) harness.run(producer->close());
    consumers_.clear();
    producers_.clear();
    endpoints_.clear();
  }

  // A fresh topic; its name.
  std::string make_topic(int partitions = 1, const std::string& suffix = "") {
    const std::string topic = name + suffix;
    make_kafka_topic(brokers, topic, partitions);
    return topic;
  }

  // Written and acknowledged, in order.
  void write(const std::string& topic, const std::vector<Written>& records) {
    Handle producer(rd_kafka_new(RD_KAFKA_PRODUCER,
                                 settings({{"linger.ms", "1"}, {"enable.idempotence", "true"}}),
                                 nullptr, 0));
    rd_kafka_topic_t* to = rd_kafka_topic_new(producer.get(), topic.c_str(), nullptr);
    for (const Written& one : records) {
      void* value = one.tombstone ? nullptr : const_cast<char*>(one.value.data());
      const void* key = one.key.empty() ? nullptr : one.key.data();
      EXPECT_EQ(rd_kafka_produce(to, one.partition, RD_KAFKA_MSG_F_COPY, value, one.value.size(),
                                 key, one.key.size(), nullptr),
                0);
    }
    EXPECT_EQ(rd_kafka_flush(producer.get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_destroy(to);
  }

  // Everything committed that is in the topic now (`uncommitted`: that was written at all).
  std::vector<Read> read(const std::string& topic, int partitions = 1, bool uncommitted = false) {
    Handle consumer(rd_kafka_new(
        RD_KAFKA_CONSUMER,
        settings({{"group.id", "reader"},
                  {"enable.auto.commit", "false"},
                  {"enable.partition.eof", "true"},
                  {"isolation.level", uncommitted ? "read_uncommitted" : "read_committed"}}),
        nullptr, 0));
    rd_kafka_poll_set_consumer(consumer.get());
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(partitions);
    for (int p = 0; p < partitions; ++p)
      rd_kafka_topic_partition_list_add(list, topic.c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(consumer.get(), list);
    rd_kafka_topic_partition_list_destroy(list);
    std::vector<Read> out;
    for (int ends = 0; ends < partitions;) {
      rd_kafka_message_t* record = rd_kafka_consumer_poll(consumer.get(), 20'000);
      if (!record) {
        ADD_FAILURE() << "the topic cannot be read to its end";
        break;
      }
      if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ends;
      if (!record->err) out.push_back(to_read(*record));
      rd_kafka_message_destroy(record);
    }
    rd_kafka_consumer_close(consumer.get());
    return out;
  }
  std::vector<std::string> values(const std::string& topic, int partitions = 1) {
    std::vector<std::string> out;
    for (const Read& one : read(topic, partitions)) out.push_back(one.value);
    return out;
  }

  // What the group has committed; -1: nothing.
  int64_t committed(const std::string& group, const std::string& topic, int32_t partition = 0) {
    Handle consumer(rd_kafka_new(RD_KAFKA_CONSUMER, settings({{"group.id", group}}), nullptr, 0));
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic.c_str(), partition);
    EXPECT_EQ(rd_kafka_committed(consumer.get(), list, 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
    const int64_t out = list->elems[0].offset < 0 ? -1 : list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    return out;
  }

  Consumer& consumer(const std::string& topic, Options options) {
    endpoints_.push_back(endpoint(topic, std::move(options)));
    Result<std::unique_ptr<Consumer>> made = endpoints_.back()->make_consumer();
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    consumers_.push_back(std::move(*made));
    const Result<void> opened = harness.run(consumers_.back()->open());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message());
    return *consumers_.back();
  }
  Producer& producer(const std::string& topic, Options options) {
    endpoints_.push_back(endpoint(topic, std::move(options)));
    Result<std::unique_ptr<Producer>> made = endpoints_.back()->make_producer();
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    producers_.push_back(std::move(*made));
    EXPECT_TRUE(harness.run(producers_.back()->open()).ok());
    return *producers_.back();
  }
  void close(Consumer& one) { harness.run(one.close()); }

  // The next exchange, at most within ten seconds.
  std::optional<Exchange> next(Consumer& one) {
    Batch batch = poll(one, 1);
    if (batch.empty()) {
      ADD_FAILURE() << "an exchange was expected";
      return std::nullopt;
    }
    return std::move(batch.front());
  }
  // At least one exchange, or nothing after `limit`.
  Batch poll(Consumer& one, size_t max, milliseconds limit = std::chrono::seconds(20)) {
    const SteadyTime deadline = harness.clock().steady() + limit;
    while (harness.clock().steady() < deadline) {
      Result<Batch> batch = harness.run(one.poll(max));
      if (!batch.ok()) {
        errors.push_back(batch.error());
        continue;
      }
      if (!batch->empty()) return std::move(*batch);
    }
    return {};
  }
  // The first error that polling tells.
  std::optional<Error> poll_error(Consumer& one) {
    for (int i = 0; i < 20; ++i) {
      Result<Batch> batch = harness.run(one.poll(1));
      if (!batch.ok()) return batch.error();
    }
    return std::nullopt;
  }
  void settle(Consumer& one, Exchange exchange, Outcome outcome = Outcome::done) {
    std::vector<Receipt> receipts;
    receipts.push_back(Receipt{std::move(exchange), outcome});
    EXPECT_TRUE(harness.run(one.settle(std::move(receipts))).ok());
  }
  Exchange send(Producer& to, Exchange exchange) {
    Scope scope = harness.real_scope();
    harness.run(run_one(to, exchange, scope));
    return exchange;
  }
  static Exchange with_body(Value body) {
    Exchange out;
    out.message.body = std::move(body);
    return out;
  }
  // Lets everything go on until `done`, at most twenty seconds.
  bool until(const std::function<bool()>& done) {
    const SteadyTime deadline = harness.clock().steady() + std::chrono::seconds(20);
    while (!done()) {
      if (harness.clock().steady() >= deadline) return false;
      harness.run(harness.clock().sleep(milliseconds(10)));
    }
    return true;
  }
  static std::string text(const Exchange& exchange) {
    return std::string(exchange.message.body.raw());
  }

  KafkaHarness harness;
  std::string brokers;
  std::string name;
  std::vector<Error> errors;  // that poll() met

 protected:
  std::unique_ptr<Endpoint> endpoint(const std::string& topic, Options options) {
    options.emplace_back("topic", topic);
    bool named = false;
    for (const auto& [option, value] : options)
      named = named || option == "brokers" || option == "connectionFactory";
    if (!named) options.emplace_back("brokers", brokers);
    return make_endpoint(harness, "kafka", options);
  }

 private:
  struct Closer {
    void operator()(rd_kafka_t* handle) const { rd_kafka_destroy(handle); }
  };
  using Handle = std::unique_ptr<rd_kafka_t, Closer>;

  rd_kafka_conf_t* settings(const std::vector<std::pair<std::string, std::string>>& more) const {
    rd_kafka_conf_t* out = rd_kafka_conf_new();
    rd_kafka_conf_set(out, "bootstrap.servers", brokers.c_str(), nullptr, 0);
    for (const auto& [key, value] : more)
      rd_kafka_conf_set(out, key.c_str(), value.c_str(), nullptr, 0);
    return out;
  }
  static Read to_read(const rd_kafka_message_t& record) {
    Read out;
    out.key.assign(static_cast<const char*>(record.key), record.key_len);
    out.value.assign(static_cast<const char*>(record.payload), record.len);
    out.tombstone = record.payload == nullptr;
    out.partition = record.partition;
    out.offset = record.offset;
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&record, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const char* header = nullptr;
      const void* value = nullptr;
      size_t size = 0;
      for (size_t i = 0; !rd_kafka_header_get_all(headers, i, &header, &value, &size); ++i)
        out.headers.emplace_back(header, std::string(static_cast<const char*>(value), size));
    }
    return out;
  }

  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::vector<std::unique_ptr<Producer>> producers_;
};

}  // namespace drom::testing
