#ifdef DROM_KAFKA
#include <librdkafka/rdkafka.h>
#endif
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "chaos/child.hpp"
#include "chaos/fault_proxy.hpp"
#include "chaos/http_io.hpp"
#include "conformance/connectors/connector.hpp"
#include "drom/rt/random.hpp"

namespace drom::conformance {
namespace {

// Kills the server whose process id is in the file that the variable names, and waits until it is
// there again: with_servers.sh starts it again.
[[maybe_unused]] void restart_by(const char* pid_variable, const std::function<bool()>& answers) {
  pid_t pid = 0;
  std::ifstream(std::getenv(pid_variable)) >> pid;
  if (pid > 1) ::kill(pid, SIGKILL);
  chaos::sleep_for(milliseconds(500));
  for (int i = 0; i < 900 && !answers(); ++i) chaos::sleep_for(milliseconds(100));
}

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
    return "platform-http:/" + queue + "?maxBodySize=16MB";
  }
  std::string sink(const std::string& queue) const override {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + queue +
           "?httpMethod=POST&responseTimeout=30s&maxResponseSize=16MB";
  }

 private:
  uint16_t port_ = chaos::free_port();
};

#ifdef DROM_RABBITMQ
class Rabbit final : public Connector {
 public:
  std::string name() const override { return "rabbitmq"; }
  Features features() const override {
    return {.keeps = true,
            .again = true,
            .bytes = true,
            .bounded = true,
            .cuttable = true,
            .restarts = true};
  }
  std::optional<std::string> missing() const override {
    if (std::getenv("DROM_TEST_RABBITMQ")) return std::nullopt;
    return "DROM_TEST_RABBITMQ is not set";
  }
  void create(const std::string&) override {
    const std::string url = std::getenv("DROM_TEST_RABBITMQ");
    port_ = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    proxy_ = std::make_unique<chaos::FaultProxy>(port_);
  }
  void prepare(Routes& routes, const std::string&) override {
    routes.bean("broker", "drom.rabbitmq",
                {{"addresses", "127.0.0.1:" + std::to_string(proxy_->port())}});
  }
  // Both ends declare the queue: a message may be sent before the source is there.
  std::string source(const std::string& queue) const override {
    return "rabbitmq:default?requeueDelay=50ms&queues=" + queue;
  }
  std::string sink(const std::string& queue) const override {
    return "rabbitmq:default?autoDeclareProducer=true&queues=" + queue + "&routingKey=" + queue;
  }
  void cut() override { proxy_->set({.mode = chaos::ProxyMode::down}); }
  void heal() override { proxy_->heal(); }
  void restart_server() override {
    restart_by("DROM_TEST_RABBITMQ_PID",
               [this] { return chaos::Socket::connect(port_, milliseconds(500)).valid(); });
  }

 private:
  uint16_t port_ = 0;
  std::unique_ptr<chaos::FaultProxy> proxy_;
};
#endif

#ifdef DROM_KAFKA
class Kafka final : public Connector {
 public:
  std::string name() const override { return "kafka"; }
  Features features() const override {
    return {.keeps = true,
            .again = true,
            .bytes = true,
            .bounded = true,
            .cuttable = true,
            .restarts = true};
  }
  std::optional<std::string> missing() const override {
    if (std::getenv("DROM_TEST_KAFKA")) return std::nullopt;
    return "DROM_TEST_KAFKA is not set";
  }
  void create(const std::string& queue) override {
    proxy_ = std::make_unique<chaos::FaultProxy>(port_in("DROM_TEST_KAFKA_BEHIND"),
                                                 port_in("DROM_TEST_KAFKA_PROXY"));
    make_topic(std::getenv("DROM_TEST_KAFKA"), queue);
  }
  void prepare(Routes& routes, const std::string&) override {
    routes.bean("cluster", "drom.kafka",
                {{"brokers", std::getenv("DROM_TEST_KAFKA_PROXY")},
                 {"maxRequestSize", "16MB"},
                 {"reconnectBackoffMaxMs", "500ms"},
                 {"messageTimeoutMs", "20s"},
                 {"sessionTimeoutMs", "6s"},
                 {"heartbeatIntervalMs", "500ms"}});
  }
  std::string source(const std::string& queue) const override {
    return "kafka:" + queue + "?groupId=" + queue +
           "&connectionFactory=cluster&autoOffsetReset=earliest&retryBackoffMs=50ms&"
           "retryBackoffMaxMs=200ms";
  }
  std::string sink(const std::string& queue) const override {
    return "kafka:" + queue + "?connectionFactory=cluster&key=${header.key}&lingerMs=0ms";
  }
  void cut() override { proxy_->set({.mode = chaos::ProxyMode::down}); }
  void heal() override { proxy_->heal(); }
  void restart_server() override {
    restart_by("DROM_TEST_KAFKA_PIDFILE", [] {
      return chaos::Socket::connect(port_in("DROM_TEST_KAFKA"), milliseconds(500)).valid();
    });
  }

 private:
  static uint16_t port_in(const char* variable) {
    const std::string address = std::getenv(variable);
    return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  static void make_topic(const std::string& brokers, const std::string& name) {
    std::array<char, 256> trouble{};
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), nullptr, 0);
    rd_kafka_t* const client =
        rd_kafka_new(RD_KAFKA_PRODUCER, conf, trouble.data(), trouble.size());
    rd_kafka_NewTopic_t* topic =
        rd_kafka_NewTopic_new(name.c_str(), 1, 1, trouble.data(), trouble.size());
    rd_kafka_NewTopic_set_config(topic, "max.message.bytes", "16000000");
    rd_kafka_queue_t* const queue = rd_kafka_queue_new(client);
    rd_kafka_CreateTopics(client, &topic, 1, nullptr, queue);
    rd_kafka_event_t* const done = rd_kafka_queue_poll(queue, 30'000);
    EXPECT_TRUE(done && rd_kafka_event_error(done) == RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(done);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_destroy(client);
  }
  std::unique_ptr<chaos::FaultProxy> proxy_;
};
#endif

template <class T>
std::unique_ptr<Connector> make() {
  return std::make_unique<T>();
}

}  // namespace

const std::vector<std::pair<std::string, ConnectorFactory>>& connectors() {
  static const std::vector<std::pair<std::string, ConnectorFactory>> all = {
      {"seda", make<Seda>},       {"outbox", make<Outbox>}, {"http", make<Http>},
#ifdef DROM_RABBITMQ
      {"rabbitmq", make<Rabbit>},
#endif
#ifdef DROM_KAFKA
      {"kafka", make<Kafka>},
#endif
  };
  return all;
}

}  // namespace drom::conformance
