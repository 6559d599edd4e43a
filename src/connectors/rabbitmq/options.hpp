// What the bean and the endpoints of RabbitMQ say, read and checked. Plain data; load time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drom/config/config.hpp"
#include "drom/model/headers.hpp"
#include "drom/spi/build_context.hpp"

namespace drom::rabbitmq {

struct Address {
  std::string host;
  int port = 5672;
};

// The connection factory, bound in the registry by the bean drom.rabbitmq.
struct Broker {
  std::vector<Address> addresses;  // tried in this order
  std::string virtual_host = "/";
  std::string username = "guest";
  std::string password = "guest";
  std::string connection_name;
  int heartbeat_s = 30;  // 0: none
  milliseconds connect_timeout{10000};
  bool tls = false;
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  bool verify_hostname = true;
};

struct Topology {
  std::string exchange;  // "": the default exchange
  std::string exchange_type = "direct";
  std::vector<std::string> queues;
  std::vector<std::string> routing_keys;
  bool declare_exchange = false;
  bool declare_queues = false;
  bool bind = false;
  bool exchange_durable = true;
  bool exchange_auto_delete = false;
  bool durable = true;  // this and the following: of the queues
  bool auto_delete = false;
  bool exclusive = false;
  Headers queue_arguments;
  Headers exchange_arguments;
  Headers binding_arguments;
  std::string dead_letter_exchange;
  std::string dead_letter_exchange_type = "direct";
  std::string dead_letter_queue;
  std::string dead_letter_routing_key;
};

enum class Rejects : uint8_t { by_kind, always, never };

struct ConsumerOptions {
  uint16_t prefetch = 250;
  size_t concurrent = 1;
  bool exclusive = false;  // of the subscription
  bool no_local = false;
  Rejects rejects = Rejects::by_kind;
  bool has_dead_letters = false;
  bool replies = true;
  milliseconds requeue_delay{1000};
};

enum class Unroutable : uint8_t { fail, park, drop };

struct ProducerOptions {
  ExpressionPtr routing_key;
  ExpressionPtr message_id;
  ExpressionPtr type;
  ExpressionPtr content_type;
  ExpressionPtr correlation_id;
  ExpressionPtr reply_to;
  ExpressionPtr expiration;
  ExpressionPtr priority;
  bool persistent = true;
  bool timestamp = true;
  bool mandatory = true;
  Unroutable unroutable = Unroutable::fail;
  std::string park_queue;  // only when unroutable is park
  size_t window = 1000;
  milliseconds confirm_timeout{30000};
  milliseconds reply_timeout{30000};
  bool transacted = true;
};

struct EndpointOptions {
  std::string uri;  // without secrets
  Broker broker;
  Topology topology;  // as the consumer declares it
  Topology producer_topology;
  std::string routing_key;
  ConsumerOptions consumer;
  ProducerOptions producer;
};

ConfigSpec broker_spec();
ConfigSpec endpoint_spec();
Result<EndpointOptions> read_endpoint(const Config& config, const Registry& registry);
BeanInfo broker_bean();

}  // namespace drom::rabbitmq
