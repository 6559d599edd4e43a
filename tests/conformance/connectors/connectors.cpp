#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "chaos/child.hpp"
#include "chaos/fault_proxy.hpp"
#include "chaos/http_io.hpp"
#include "conformance/connectors/connector.hpp"
#include "drom/rt/random.hpp"
#ifdef DROM_KAFKA
#include "support/kafka_admin.hpp"
#endif

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
    return "platform-http:/" + queue + "?maxBodySize=16MB";
  }
  std::string sink(const std::string& queue) const override {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + queue +
           "?httpMethod=POST&responseTimeout=30s&maxResponseSize=16MB";
  }

 private:
  uint16_t port_ = chaos::free_port();
};

// A connector with a server of its own, named by an environment variable, behind a proxy.
class OnServer : public Connector {
 public:
  OnServer(const char* variable, const char* pid_variable)
      : variable_(variable), pid_variable_(pid_variable) {}
  Features features() const override {
    return {.keeps = true,
            .again = true,
            .bytes = true,
            .bounded = true,
            .cuttable = true,
            .restarts = true};
  }
  std::optional<std::string> missing() const override {
    if (std::getenv(variable_)) return std::nullopt;
    return std::string(variable_) + " is not set";
  }
  void cut() override { proxy_->set({.mode = chaos::ProxyMode::down}); }
  void heal() override { proxy_->heal(); }
  // with_servers.sh starts it again.
  void restart_server() override {
    pid_t pid = 0;
    std::ifstream(std::getenv(pid_variable_)) >> pid;
    if (pid > 1) ::kill(pid, SIGKILL);
    chaos::sleep_for(milliseconds(500));
    for (int i = 0; i < 900 && !answers(); ++i) chaos::sleep_for(milliseconds(100));
  }

 protected:
  // In "host:port", or at the end of a URL.
  static uint16_t port_in(const char* variable) {
    const std::string address = std::getenv(variable);
    return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  std::unique_ptr<chaos::FaultProxy> proxy_;  // made by create()

 private:
  bool answers() const {
    return chaos::Socket::connect(port_in(variable_), milliseconds(500)).valid();
  }
  const char* variable_;
  const char* pid_variable_;
};

#ifdef DROM_RABBITMQ
class Rabbit final : public OnServer {
 public:
  Rabbit() : OnServer("DROM_TEST_RABBITMQ", "DROM_TEST_RABBITMQ_PID") {}
  std::string name() const override { return "rabbitmq"; }
  void create(const std::string&) override {
    proxy_ = std::make_unique<chaos::FaultProxy>(port_in("DROM_TEST_RABBITMQ"));
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
};
#endif

#ifdef DROM_KAFKA
class Kafka final : public OnServer {
 public:
  Kafka() : OnServer("DROM_TEST_KAFKA", "DROM_TEST_KAFKA_PIDFILE") {}
  std::string name() const override { return "kafka"; }
  void create(const std::string& queue) override {
    proxy_ = std::make_unique<chaos::FaultProxy>(port_in("DROM_TEST_KAFKA_BEHIND"),
                                                 port_in("DROM_TEST_KAFKA_PROXY"));
    testing::make_kafka_topic(std::getenv("DROM_TEST_KAFKA"), queue, 1, 16'000'000);
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
           "&autoOffsetReset=earliest&retryBackoffMs=50ms&"
           "retryBackoffMaxMs=200ms";
  }
  std::string sink(const std::string& queue) const override {
    return "kafka:" + queue + "?key=${header.key}&lingerMs=0ms";
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
