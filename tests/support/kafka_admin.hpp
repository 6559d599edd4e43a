// Topics of a real Kafka broker, made past the engine. Tests only.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace drom::testing {

// Throws std::runtime_error. `bytes_max` is the largest record, 0: the broker's default.
inline void make_kafka_topic(const std::string& brokers, const std::string& name, int partitions,
                             size_t bytes_max = 0) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), nullptr, 0);
  const std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)> client(
      rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0), rd_kafka_destroy);
  rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, 1, nullptr, 0);
  if (bytes_max > 0)
    rd_kafka_NewTopic_set_config(topic, "max.message.bytes", std::to_string(bytes_max).c_str());
  rd_kafka_queue_t* const queue = rd_kafka_queue_new(client.get());
  rd_kafka_CreateTopics(client.get(), &topic, 1, nullptr, queue);
  rd_kafka_event_t* const event = rd_kafka_queue_poll(queue, 30'000);
  const bool made = event && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR;
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_NewTopic_destroy(topic);
  if (!made) throw std::runtime_error("the topic " + name + " could not be made");
}

}  // namespace drom::testing
