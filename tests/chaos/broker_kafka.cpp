#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

#include "chaos/broker.hpp"
#include "support/kafka_admin.hpp"

namespace drom::chaos {
namespace {

constexpr const char* kTopic = "chaos";
constexpr int kPartitions = 3;
constexpr int kTimeoutMs = 10'000;

using Handle = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;

uint16_t port_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text)
    throw std::runtime_error(std::string(variable) + " is not set; run me by with_servers.sh");
  const std::string address = text;
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

class Kafka final : public Broker {
 public:
  Kafka()
      : Broker("DROM_TEST_KAFKA_PIDFILE"),
        direct_("127.0.0.1:" + std::to_string(port_in("DROM_TEST_KAFKA"))),
        behind_(port_in("DROM_TEST_KAFKA_BEHIND")),
        proxy_(port_in("DROM_TEST_KAFKA_PROXY")) {}

  std::string name() const override { return "kafka"; }
  uint16_t port() const override { return behind_; }
  uint16_t proxy_port() const override { return proxy_; }

  void create() override { testing::make_kafka_topic(direct_, kTopic, kPartitions); }

  bool answers() override {
    const Handle client = make(RD_KAFKA_PRODUCER);
    const rd_kafka_metadata_t* metadata = nullptr;
    const bool fine =
        rd_kafka_metadata(client.get(), 1, nullptr, &metadata, 2000) == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (metadata) rd_kafka_metadata_destroy(metadata);
    return fine;
  }

  std::vector<Delivered> delivered() override {
    const Handle client = make(RD_KAFKA_CONSUMER);
    rd_kafka_topic_partition_list_t* parts = rd_kafka_topic_partition_list_new(kPartitions);
    std::array<int64_t, kPartitions> end{};
    for (int p = 0; p < kPartitions; ++p) {
      rd_kafka_topic_partition_list_add(parts, kTopic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
      int64_t low = 0;
      if (rd_kafka_query_watermark_offsets(client.get(), kTopic, p, &low, &end[p], kTimeoutMs) !=
          RD_KAFKA_RESP_ERR_NO_ERROR)
        throw std::runtime_error("the topic cannot be read");
    }
    rd_kafka_assign(client.get(), parts);
    rd_kafka_topic_partition_list_destroy(parts);
    std::vector<Delivered> out;
    std::array<int64_t, kPartitions> next{};
    while (next != end) {
      rd_kafka_message_t* const message = rd_kafka_consumer_poll(client.get(), kTimeoutMs);
      if (!message) throw std::runtime_error("the topic gives no more records");
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        out.push_back(read(*message));
        next[message->partition] = message->offset + 1;
      }
      rd_kafka_message_destroy(message);
    }
    return out;
  }

  std::string sink() const override {
    return "uri: kafka:chaos\n            parameters: { brokers: \"127.0.0.1:{{broker}}\", key: "
           "\"${header.outbox.key}\", lingerMs: 0ms, requestTimeoutMs: 2s, messageTimeoutMs: 5s, "
           "socketTimeoutMs: 3s, reconnectBackoffMs: 20ms, reconnectBackoffMaxMs: 300ms }";
  }
  std::string source() const override {
    return "uri: kafka:chaos\n      parameters: { brokers: \"127.0.0.1:{{broker}}\", groupId: "
           "apply, groupInstanceId: \"engine-{{engine}}\", autoOffsetReset: earliest, "
           "sessionTimeoutMs: 6s, heartbeatIntervalMs: 500ms, socketTimeoutMs: 3s, "
           "reconnectBackoffMs: 20ms, reconnectBackoffMaxMs: 300ms, retryBackoffMs: 50ms, "
           "retryBackoffMaxMs: 500ms }";
  }

 private:
  Handle make(rd_kafka_type_t type) const {
    std::array<char, 512> trouble{};
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", direct_.c_str(), nullptr, 0);
    rd_kafka_conf_set(conf, "log_level", "0", nullptr, 0);
    rd_kafka_conf_set(conf, "group.id", "judge", nullptr, 0);
    rd_kafka_conf_set(conf, "enable.auto.commit", "false", nullptr, 0);
    rd_kafka_t* const made = rd_kafka_new(type, conf, trouble.data(), trouble.size());
    if (!made) throw std::runtime_error(trouble.data());
    if (type == RD_KAFKA_CONSUMER) rd_kafka_poll_set_consumer(made);
    return {made, rd_kafka_destroy};
  }

  Delivered read(const rd_kafka_message_t& message) const {
    std::string seq;
    rd_kafka_headers_t* headers = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
        rd_kafka_header_get_last(headers, "seq", &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR)
      seq.assign(static_cast<const char*>(value), size);
    Delivered out = delivered_of({static_cast<const char*>(message.payload), message.len}, seq);
    if (std::string_view(static_cast<const char*>(message.key), message.key_len) != out.key)
      out.key = "the record's key differs from " + out.key;
    return out;
  }

  std::string direct_;
  uint16_t behind_;
  uint16_t proxy_;
};

}  // namespace

std::unique_ptr<Broker> open_kafka() { return std::make_unique<Kafka>(); }

}  // namespace drom::chaos
