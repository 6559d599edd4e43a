#include <cstdlib>
#include <filesystem>

#include "chaos/http_io.hpp"
#include "conformance/connectors/connector.hpp"
#include "drom/rt/random.hpp"
#include "support/cut_proxy.hpp"

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
    proxy_ = std::make_unique<testing::CutProxy>(std::atoi(url.c_str() + url.rfind(':') + 1));
  }
  void prepare(Routes& routes, const std::string&) override {
    routes.bean("broker", "drom.rabbitmq", {{"addresses", proxy_->address()}});
  }
  // Both ends declare the queue: a message may be sent before the source is there.
  std::string source(const std::string& queue) const override {
    return "rabbitmq:default?requeueDelay=50ms&queues=" + queue;
  }
  std::string sink(const std::string& queue) const override {
    return "rabbitmq:default?autoDeclareProducer=true&queues=" + queue + "&routingKey=" + queue;
  }
  void cut() override { proxy_->refuse(true); }
  void heal() override { proxy_->refuse(false); }
  void restart_server() override {
    const std::string ctl = std::getenv("DROM_TEST_RABBITMQ_CTL");
    for (const char* verb : {" stop_app", " start_app"})
      if (std::system((ctl + verb + " >/dev/null 2>&1").c_str()) != 0) std::abort();
  }

 private:
  std::unique_ptr<testing::CutProxy> proxy_;
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
#ifdef DROM_RABBITMQ
      {"rabbitmq", make<Rabbit>},
#endif
  };
  return all;
}

}  // namespace drom::conformance
