#include "connectors/rabbitmq/options.hpp"

#include <algorithm>
#include <charconv>

#include "drom/config/location.hpp"
#include "spi/step_support.hpp"

namespace drom::rabbitmq {
namespace {

Result<Address> read_address(std::string_view text, int port) {
  Address out;
  out.port = port;
  const size_t colon = text.rfind(':');
  out.host = std::string(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
    if (error != std::errc() || end != digits.data() + digits.size()) out.port = 0;
  }
  if (out.host.empty() || out.port < 1 || out.port > 65535)
    return Error(ErrorKind::config, "addresses cannot hold '" + std::string(text) + "'",
                 "write host:port, several separated by commas");
  return out;
}

Result<void> read_broker(const Config& config, Broker& out) {
  if (config.has("virtualHost")) out.virtual_host = config.text("virtualHost");
  if (config.has("username")) out.username = config.text("username");
  if (config.has("password")) out.password = config.text("password");
  if (config.has("connectionName")) out.connection_name = config.text("connectionName");
  if (config.has("heartbeat"))
    out.heartbeat_s = static_cast<int>(
        std::chrono::ceil<std::chrono::seconds>(config.duration("heartbeat")).count());
  if (config.has("connectTimeout")) out.connect_timeout = config.duration("connectTimeout");
  if (config.has("sslEnabled")) out.tls = config.flag("sslEnabled");
  if (config.has("sslCaLocation")) out.ca_file = config.text("sslCaLocation");
  if (config.has("sslCertificateLocation"))
    out.certificate_file = config.text("sslCertificateLocation");
  if (config.has("sslKeyLocation")) out.key_file = config.text("sslKeyLocation");
  if (config.has("sslVerifyHostname")) out.verify_hostname = config.flag("sslVerifyHostname");
  if (out.certificate_file.empty() != out.key_file.empty())
    return Error(ErrorKind::config, "sslCertificateLocation and sslKeyLocation need each other");
  const int port = out.tls ? 5671 : 5672;
  if (config.has("addresses")) {
    out.addresses.clear();
    for (const std::string& text : config.list("addresses")) {
      Result<Address> address = read_address(text, port);
      if (!address) return address.error();
      out.addresses.push_back(std::move(*address));
    }
  }
  if (out.addresses.empty()) out.addresses.push_back({"localhost", port});
  return {};
}

Result<void> make_bean(const std::string& name, const Config& config, BuildContext& context) {
  auto broker = std::make_shared<Broker>();
  Result<void> read = read_broker(config, *broker);
  if (!read) return read;
  context.registry().bind<Broker>(name, std::move(broker));
  return {};
}

Result<Broker> find_broker(const Registry& registry, std::string_view reference) {
  Result<Broker*> found =
      named_or_only<Broker>(registry, reference, "drom.rabbitmq bean", "connectionFactory");
  if (!found) return found.error();
  return *found ? **found : Broker();
}

std::vector<std::string> option_names() {
  std::vector<std::string> out;
  for (const OptionSpec& option : endpoint_spec().options) out.push_back(option.name);
  return out;
}

Value argument_value(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return Value(number);
  if (text == "true" || text == "false") return Value(text == "true");
  return Value(text);
}

// Camel's own names among the arguments.
bool take_named(std::string_view name, const Value& value, bool& durable, bool& auto_delete,
                bool* exclusive) {
  bool* const flag = name == "durable"      ? &durable
                     : name == "autoDelete" ? &auto_delete
                     : name == "exclusive"  ? exclusive
                                            : nullptr;
  if (!flag || !value.as_bool()) return false;
  *flag = *value.as_bool();
  return true;
}

// arg.queue.x-max-length=100, arg.exchange.durable=false, arg.binding.x-match=any.
Result<void> read_arguments(const Config& config, Topology& out) {
  for (const auto& [name, text] : config.extra()) {
    const Value value = argument_value(text);
    const std::string_view rest = std::string_view(name).substr(std::min<size_t>(name.size(), 4));
    const size_t dot = rest.find('.');
    const std::string_view target = rest.substr(0, dot);
    const std::string_view key = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
    if (!name.starts_with("arg.") || key.empty() || key.size() > 255)
      return Error(ErrorKind::config, "unknown option '" + name + "' for rabbitmq",
                   did_you_mean(name, option_names()));
    if (target == "queue") {
      if (!take_named(key, value, out.durable, out.auto_delete, &out.exclusive))
        out.queue_arguments.set(key, value);
    } else if (target == "exchange") {
      if (!take_named(key, value, out.exchange_durable, out.exchange_auto_delete, nullptr))
        out.exchange_arguments.set(key, value);
    } else if (target == "binding") {
      out.binding_arguments.set(key, value);
    } else {
      return Error(ErrorKind::config, "unknown option '" + name + "' for rabbitmq",
                   "write arg.queue.NAME, arg.exchange.NAME or arg.binding.NAME");
    }
  }
  return {};
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    out.emplace_back(part);
  }
  return out;
}

// Names travel with their length in one byte.
Result<void> check_names(const Config& config) {
  std::vector<std::string> names = config.list("queues");
  for (std::string& key : split(config.text("routingKey"))) names.push_back(std::move(key));
  for (const char* option : {"exchangeName", "deadLetterExchange", "deadLetterQueue",
                             "deadLetterRoutingKey", "parkQueue", "virtualHost"})
    names.push_back(config.text(option));
  for (const std::string& name : names)
    if (name.size() > 255)
      return Error(ErrorKind::config, "'" + name.substr(0, 40) + "...' has " +
                                          std::to_string(name.size()) +
                                          " bytes, AMQP allows 255 for a name");
  return {};
}

Result<void> read_topology(const Config& config, bool declare, Topology& out) {
  const std::string& exchange = config.text("exchangeName");
  out.exchange = exchange == "default" ? "" : exchange;
  out.exchange_type = config.text("exchangeType");
  out.queues = config.list("queues");
  out.routing_keys = split(config.text("routingKey"));
  // The default exchange exists, and every queue is bound to it by its own name.
  const bool own = !out.exchange.empty();
  out.declare_exchange = own && declare && !config.flag("skipDeclareExchange");
  out.declare_queues = declare && !config.flag("skipDeclareQueue");
  out.bind = own && declare && !config.flag("skipBindQueue");
  Result<void> arguments = read_arguments(config, out);
  if (!arguments) return arguments;
  const Value* type = out.queue_arguments.find("x-queue-type");
  if (type && type->raw() == "quorum" && (!out.durable || out.exclusive || out.auto_delete))
    return Error(ErrorKind::config,
                 "a quorum queue is durable, and neither exclusive nor autoDelete");
  out.dead_letter_exchange = config.text("deadLetterExchange");
  out.dead_letter_exchange_type = config.text("deadLetterExchangeType");
  out.dead_letter_queue = config.text("deadLetterQueue");
  out.dead_letter_routing_key = config.text("deadLetterRoutingKey");
  if (out.dead_letter_exchange.empty() &&
      (!out.dead_letter_queue.empty() || !out.dead_letter_routing_key.empty()))
    return Error(ErrorKind::config,
                 "deadLetterQueue and deadLetterRoutingKey need deadLetterExchange");
  if (!out.dead_letter_exchange.empty()) {
    out.queue_arguments.set("x-dead-letter-exchange", Value(out.dead_letter_exchange));
    if (!out.dead_letter_routing_key.empty())
      out.queue_arguments.set("x-dead-letter-routing-key", Value(out.dead_letter_routing_key));
  }
  return {};
}

}  // namespace

Result<EndpointOptions> read_endpoint(const Config& config, const Registry& registry) {
  EndpointOptions out;
  out.uri = "rabbitmq:" + config.text("exchangeName");
  Result<Broker> broker = find_broker(registry, config.text("connectionFactory"));
  if (!broker) return broker.error();
  out.broker = std::move(*broker);
  if (config.given("sslEnabled") && !config.given("addresses") && out.broker.tls == false)
    out.broker.addresses.clear();  // the default port is another one
  if (Result<void> read = read_broker(config, out.broker); !read) return read.error();
  if (out.broker.connection_name.empty()) out.broker.connection_name = "drom " + out.uri;
  Result<void> read = check_names(config);
  if (read) read = read_topology(config, config.flag("autoDeclare"), out.topology);
  if (read) read = read_topology(config, config.flag("autoDeclareProducer"), out.producer_topology);
  if (!read) return read.error();
  out.routing_key = config.text("routingKey");

  ConsumerOptions& in = out.consumer;
  in.prefetch = static_cast<uint16_t>(config.integer("prefetchCount"));
  in.concurrent = static_cast<size_t>(config.integer("concurrentConsumers"));
  in.exclusive = config.flag("exclusive");
  in.no_local = config.flag("noLocal");
  in.replies = !config.flag("disableReplyTo");
  in.requeue_delay = config.duration("requeueDelay");
  in.has_dead_letters = out.topology.queue_arguments.find("x-dead-letter-exchange") != nullptr;
  if (config.given("rejectAndDontRequeue"))
    in.rejects = config.flag("rejectAndDontRequeue") ? Rejects::always : Rejects::never;

  ProducerOptions& to = out.producer;
  ExpressionError problem;
  to.routing_key = compile_expression("simple", out.routing_key, ExpressionUse::value, problem);
  if (!to.routing_key) return Error(ErrorKind::config, "routingKey: " + problem.what, problem.hint);
  to.message_id = config.expression("messageId");
  to.type = config.expression("type");
  to.content_type = config.expression("contentType");
  to.correlation_id = config.expression("correlationId");
  to.reply_to = config.expression("replyTo");
  to.expiration = config.expression("expiration");
  to.priority = config.expression("priority");
  to.persistent = config.flag("persistent");
  to.timestamp = config.flag("timestamp");
  to.mandatory = config.flag("mandatory");
  const std::string& unroutable = config.text("unroutable");
  to.unroutable = unroutable == "drop"   ? Unroutable::drop
                  : unroutable == "park" ? Unroutable::park
                                         : Unroutable::fail;
  if (to.unroutable == Unroutable::park)
    to.park_queue = config.has("parkQueue") ? config.text("parkQueue")
                                            : config.text("exchangeName") + ".unroutable";
  to.reply_timeout = config.duration("replyTimeout");
  to.window = static_cast<size_t>(config.integer("confirmWindow"));
  to.confirm_timeout = config.duration("confirmTimeout");
  to.transacted = config.flag("transacted");
  if (!to.mandatory && config.given("unroutable"))
    return Error(ErrorKind::config, "unroutable needs mandatory=true",
                 "without it the broker does not say what became of a message");
  return out;
}

BeanInfo broker_bean() { return {"drom.rabbitmq", broker_spec, make_bean, {}}; }

}  // namespace drom::rabbitmq
