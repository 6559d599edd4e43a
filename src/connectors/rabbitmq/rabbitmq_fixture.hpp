// What the tests against a real broker share (DROM_TEST_RABBITMQ, see servers/rabbitmq.sh): a
// client of the bare library, a proxy that cuts connections, endpoints on a real clock. Tests only.
#pragma once

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "chaos/fault_proxy.hpp"
#include "connectors/rabbitmq/message.hpp"
#include "connectors/rabbitmq/rabbitmq.hpp"
#include "drom/rt/random.hpp"
#include "rt/real_clock.hpp"
#include "support/endpoints.hpp"

namespace drom::testing {

// The place in "amqp://user:password@host:port/".
struct BrokerPlace {
  std::string host;
  int port = 0;
};
inline BrokerPlace place_of(const std::string& url) {
  const size_t at = url.rfind('@');
  const size_t colon = url.find(':', at);
  return {url.substr(at + 1, colon - at - 1), std::atoi(url.c_str() + colon + 1)};
}

using chaos::FaultProxy;
using chaos::ProxyMode;
inline std::string address_of(const FaultProxy& proxy) {
  return "127.0.0.1:" + std::to_string(proxy.port());
}

struct Got {
  Message message;
  bool redelivered = false;
  uint64_t timestamp = 0;
};

// A client by hand, on a connection of its own.
class Peer {
 public:
  explicit Peer(const BrokerPlace& place) : state_(amqp_new_connection()) {
    amqp_socket_t* socket = amqp_tcp_socket_new(state_);
    EXPECT_EQ(amqp_socket_open(socket, place.host.c_str(), place.port), AMQP_STATUS_OK);
    good(amqp_login(state_, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest"));
    amqp_channel_open(state_, 1);
    good(amqp_get_rpc_reply(state_));
  }
  ~Peer() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }
  Peer(const Peer&) = delete;

  void exchange(const std::string& name, const std::string& type = "direct") {
    amqp_exchange_declare(state_, 1, rabbitmq::bytes(name), rabbitmq::bytes(type), 0, 0, 1, 0,
                          amqp_empty_table);
    good(amqp_get_rpc_reply(state_));
  }
  void queue(const std::string& name, const Headers& arguments = {}, bool durable = true) {
    rabbitmq::Table table(arguments);
    amqp_queue_declare(state_, 1, rabbitmq::bytes(name), 0, durable ? 1 : 0, 0, 0, *table.get());
    good(amqp_get_rpc_reply(state_));
  }
  void bind(const std::string& queue, const std::string& exchange, const std::string& key) {
    amqp_queue_bind(state_, 1, rabbitmq::bytes(queue), rabbitmq::bytes(exchange),
                    rabbitmq::bytes(key), amqp_empty_table);
    good(amqp_get_rpc_reply(state_));
  }
  void remove(const std::string& queue) {
    amqp_queue_delete(state_, 1, rabbitmq::bytes(queue), 0, 0);
    good(amqp_get_rpc_reply(state_));
  }
  size_t count(const std::string& queue) {
    const auto* ok =
        amqp_queue_declare(state_, 1, rabbitmq::bytes(queue), 1, 0, 0, 0, amqp_empty_table);
    good(amqp_get_rpc_reply(state_));
    return ok ? ok->message_count : 0;
  }
  void publish(const std::string& exchange, const std::string& key, const std::string& body,
               const rabbitmq::Outgoing& properties = {}) {
    rabbitmq::Table table(properties.headers);
    const amqp_basic_properties_t wire = rabbitmq::to_properties(properties, table);
    EXPECT_EQ(amqp_basic_publish(state_, 1, rabbitmq::bytes(exchange), rabbitmq::bytes(key), 0, 0,
                                 &wire, rabbitmq::bytes(body)),
              AMQP_STATUS_OK);
  }
  std::optional<Got> get(const std::string& queue) {
    amqp_maybe_release_buffers(state_);
    const amqp_rpc_reply_t reply = amqp_basic_get(state_, 1, rabbitmq::bytes(queue), 1);
    good(reply);
    if (reply.reply.id != AMQP_BASIC_GET_OK_METHOD) return std::nullopt;
    Got out;
    out.redelivered = static_cast<amqp_basic_get_ok_t*>(reply.reply.decoded)->redelivered != 0;
    amqp_message_t message;
    good(amqp_read_message(state_, 1, &message, 0));
    out.message.headers = rabbitmq::from_properties(message.properties);
    out.message.body = Value(rabbitmq::view(message.body));
    out.timestamp = message.properties.timestamp;
    amqp_destroy_message(&message);
    return out;
  }

 private:
  static void good(const amqp_rpc_reply_t& reply) {
    EXPECT_EQ(reply.reply_type, AMQP_RESPONSE_NORMAL);
  }
  amqp_connection_state_t state_;
};

class RabbitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* url = std::getenv("DROM_TEST_RABBITMQ");
    if (!url) {
      if (std::getenv("DROM_CI")) FAIL() << "DROM_TEST_RABBITMQ is not set, but DROM_CI is";
      GTEST_SKIP() << "DROM_TEST_RABBITMQ is not set";
    }
    place = place_of(url);
    peer = std::make_unique<Peer>(place);
    clock = make_real_clock(harness.io());
    harness.real_clock = clock.get();
    register_rabbitmq(harness.registry());
  }

  // A name that no other test has.
  static std::string fresh(const std::string& what) {
    return what + "." + std::to_string(entropy_seed());
  }
  Options with_broker(Options options) const {
    for (const auto& [name, text] : options)
      if (name == "addresses") return options;
    options.emplace_back("addresses", place.host + ":" + std::to_string(place.port));
    return options;
  }
  std::unique_ptr<Endpoint> endpoint(const std::string& exchange, Options options) {
    options = with_broker(std::move(options));
    options.emplace_back("exchangeName", exchange);
    return make_endpoint(harness, "rabbitmq", options);
  }
  std::unique_ptr<Producer> producer(const std::string& exchange, Options options) {
    endpoints_.push_back(endpoint(exchange, std::move(options)));
    Result<std::unique_ptr<Producer>> made = endpoints_.back()->make_producer();
    EXPECT_TRUE(made.ok());
    const Result<void> opened = harness.run((*made)->open());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message());
    return std::move(*made);
  }
  std::unique_ptr<Consumer> consumer(const std::string& exchange, Options options) {
    endpoints_.push_back(endpoint(exchange, std::move(options)));
    Result<std::unique_ptr<Consumer>> made = endpoints_.back()->make_consumer();
    EXPECT_TRUE(made.ok());
    const Result<void> opened = harness.run((*made)->open());
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message());
    return std::move(*made);
  }
  void close(Producer& producer) { harness.run(producer.close()); }
  void close(Consumer& consumer) {
    consumer.stop();
    harness.run(consumer.close());
  }

  static Exchange exchange_of(Value body, Headers headers = {}) {
    return Exchange(Message{std::move(body), std::move(headers)});
  }
  // Sends it and gives it back.
  Exchange sent(Producer& producer, Exchange exchange) {
    send(harness, producer, exchange);
    return exchange;
  }
  void run(Producer& producer, Batch& batch) {
    Scope scope = harness.scope();
    harness.run(producer.run(batch, scope));
  }
  // As many as wanted, in as many polls as it takes.
  Batch polled(Consumer& consumer, size_t count) {
    Batch out;
    while (out.size() < count) {
      Result<Batch> batch = harness.run(consumer.poll(count - out.size()));
      EXPECT_TRUE(batch.ok()) << (batch.ok() ? "" : batch.error().message());
      if (!batch) break;
      for (Exchange& exchange : *batch) out.push_back(std::move(exchange));
    }
    return out;
  }
  void settle(Consumer& consumer, Exchange exchange, Outcome outcome = Outcome::done) {
    std::vector<Receipt> receipts;
    receipts.push_back(Receipt{std::move(exchange), outcome});
    EXPECT_TRUE(harness.run(consumer.settle(std::move(receipts))).ok());
  }
  void settle(Consumer& consumer, Batch batch) {
    std::vector<Receipt> receipts;
    for (Exchange& exchange : batch)
      receipts.push_back(Receipt{std::move(exchange), Outcome::done});
    EXPECT_TRUE(harness.run(consumer.settle(std::move(receipts))).ok());
  }
  // Lets everything go on until `done`, at most twenty seconds.
  bool until(const std::function<bool()>& done) {
    const SteadyTime deadline = clock->steady() + std::chrono::seconds(20);
    while (!done()) {
      if (clock->steady() >= deadline) return false;
      harness.run(clock->sleep(milliseconds(5)));
    }
    return true;
  }
  std::optional<Got> get(const std::string& queue) {
    std::optional<Got> out;
    until([&] {
      out = peer->get(queue);
      return out.has_value();
    });
    return out;
  }

  BrokerPlace place;
  Harness harness;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Peer> peer;

 private:
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

inline std::string body_of(const Exchange& exchange) { return exchange.message.body.to_text(); }
inline std::string error_of(const Exchange& exchange) {
  return exchange.error ? exchange.error->message() : std::string();
}

}  // namespace drom::testing
