#ifdef DROM_KAFKA
#include <librdkafka/rdkafka.h>
#endif

#include <cstdlib>
#include <filesystem>

#include "chaos/http_io.hpp"
#include "conformance/connectors/connector.hpp"
#include "drom/rt/random.hpp"

namespace drom::conformance {
namespace {

class Seda final : public Connector {
 public:
  std::string name() const override { return "seda"; }
  Features features() const override { return {.bytes = true, .bounded = true}; }
  std::string source(const std::string& queue) const override { return "seda:" + queue; }
  std::string sink(const std::string& queue) const override {
    return "seda:" + queue + "?blockWhenFull=true";
  }
};

class Outbox final : public Connector {
 public:
  Outbox()
      : folder_(std::filesystem::temp_directory_path() /
                ("drom-conformance-" + Rng(entropy_seed()).uuid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Outbox() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string name() const override { return "outbox"; }
  Features features() const override { return {.keeps = true, .again = true, .bounded = true}; }
  void prepare(Routes& routes, const std::string& queue) override {
    routes.bean("db", "drom.sqlite", {{"file", (folder_ / (queue + ".db")).string()}});
  }
  std::string source(const std::string& queue) const override {
    return "outbox:" + queue + "?initialDelay=50ms&maxDelay=200ms&maxPollDelay=50ms&lease=1s";
  }
  std::string sink(const std::string& queue) const override {
    return "outbox:" + queue + "?key=${header.key}";
  }

 private:
  std::filesystem::path folder_;
};

class Http final : public Connector {
 public:
  std::string name() const override { return "http"; }
  Features features() const override {
    return {.again = true, .unicode_headers = false, .bounded = true};
  }
  std::vector<std::pair<std::string, std::string>> properties() const override {
    return {{"drom.http.host", "127.0.0.1"}, {"drom.http.port", std::to_string(port_)}};
  }
  std::string source(const std::string& queue) const override {
    return "platform-http:/" + queue + "";
  }
  std::string sink(const std::string& queue) const override {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + queue +
           "?httpMethod=POST&responseTimeout=30s";
  }

 private:
  uint16_t port_ = chaos::free_port();
};

#ifdef DROM_KAFKA
class Kafka final : public Connector {
 public:
  std::string name() const override { return "kafka"; }
  Features features() const override {
    return {.keeps = true, .again = true, .bytes = true, .bounded = true};
  }
  std::optional<std::string> missing() const override {
    if (std::getenv("DROM_TEST_KAFKA")) return std::nullopt;
    return "DROM_TEST_KAFKA is not set";
  }
  void create(const std::string& queue) override {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", std::getenv("DROM_TEST_KAFKA"), nullptr, 0);
    rd_kafka_t* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(queue.c_str(), 2, 1, nullptr, 0);
    rd_kafka_NewTopic_set_config(topic, "max.message.bytes", "20000000");
    rd_kafka_queue_t* answers = rd_kafka_queue_new(client);
    rd_kafka_CreateTopics(client, &topic, 1, nullptr, answers);
    if (rd_kafka_event_t* answer = rd_kafka_queue_poll(answers, 20'000))
      rd_kafka_event_destroy(answer);
    rd_kafka_queue_destroy(answers);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_destroy(client);
  }
  void prepare(Routes& routes, const std::string&) override {
    routes.bean("cluster", "drom.kafka",
                {{"brokers", std::getenv("DROM_TEST_KAFKA")}, {"maxRequestSize", "20000000"}});
  }
  std::string source(const std::string& queue) const override {
    return "kafka:" + queue + "?connectionFactory=cluster&groupId=" + queue +
           "&autoOffsetReset=earliest&retryBackoffMs=50&consumersCount=4";
  }
  std::string sink(const std::string& queue) const override {
    return "kafka:" + queue + "?connectionFactory=cluster&lingerMs=1&key=${header.key}";
  }
};
#endif

template <class T>
std::unique_ptr<Connector> make() {
  return std::make_unique<T>();
}

}  // namespace

const std::vector<std::pair<std::string, ConnectorFactory>>& connectors() {
  static const std::vector<std::pair<std::string, ConnectorFactory>> all = {
      {"seda", make<Seda>},
      {"outbox", make<Outbox>},
      {"http", make<Http>},
#ifdef DROM_KAFKA
      {"kafka", make<Kafka>},
#endif
  };
  return all;
}

}  // namespace drom::conformance
