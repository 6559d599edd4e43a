#include "connectors/rabbitmq/options.hpp"

#include <algorithm>
#include <charconv>

#include "drom/config/location.hpp"
#include "spi/step_support.hpp"

namespace drom::rabbitmq {
namespace {

OptionSpec option(std::string name, OptionType type, std::string doc, std::string fallback = {},
                  std::string example = {}) {
  OptionSpec out;
  out.name = std::move(name);
  out.type = type;
  out.doc = std::move(doc);
  out.fallback = std::move(fallback);
  out.example = std::move(example);
  return out;
}
OptionSpec bounded(OptionSpec out, int64_t minimum, int64_t maximum) {
  out.minimum = minimum;
  out.maximum = maximum;
  return out;
}
OptionSpec one_of(OptionSpec out, std::vector<std::string> values) {
  out.values = std::move(values);
  return out;
}

constexpr int64_t kDay = 86'400'000;

// The bean's, and the endpoint's, where they win.
std::vector<OptionSpec> broker_options() {
  std::vector<OptionSpec> out = {
      option("addresses", OptionType::list,
             "Hosts of the broker with their ports, tried in this order (default localhost:5672, "
             "with sslEnabled port 5671).",
             "", "mq1:5672,mq2:5672"),
      option("virtualHost", OptionType::text, "The virtual host (default /).", "", "shop"),
      option("username", OptionType::text, "The user (default guest).", "", "app"),
      option("password", OptionType::text, "The password of the user.", "", "{{env:MQ_PASSWORD}}"),
      option("connectionName", OptionType::text,
             "The name that the broker's lists show for the connection; by default the endpoint.",
             "", "shop-orders"),
      bounded(option("heartbeat", OptionType::duration,
                     "How often both sides say that they are alive (default 30s); 0 never.", "",
                     "10s"),
              0, 3'600'000),
      bounded(option("connectTimeout", OptionType::duration,
                     "How long a connection to one address may take (default 10s)."),
              1, 3'600'000),
      option("sslEnabled", OptionType::boolean, "Whether the connection uses TLS (default false)."),
      option("sslCaLocation", OptionType::text,
             "File with the certificates of the authorities to trust instead of the system's.", "",
             "/etc/ssl/shop-ca.pem"),
      option("sslCertificateLocation", OptionType::text,
             "File with our own certificate, for brokers that ask for one.", "",
             "/etc/ssl/drom.pem"),
      option("sslKeyLocation", OptionType::text, "File with the key of our certificate.", "",
             "/etc/ssl/drom.key"),
      option("sslVerifyHostname", OptionType::boolean,
             "Whether the broker's certificate must name its host (default true)."),
  };
  out[3].secret = true;
  return out;
}

Result<Address> read_address(std::string_view text, int port) {
  Address out;
  out.port = port;
  const size_t colon = text.rfind(':');
  out.host = std::string(text.substr(0, colon));
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
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

ConfigSpec bean_spec() {
  ConfigSpec spec;
  spec.name = "drom.rabbitmq";
  spec.title = "RabbitMQ connection factory";
  spec.doc =
      "How to reach a RabbitMQ broker. Endpoints use the only one without naming it, and may say "
      "each of its options themselves.";
  spec.options = broker_options();
  spec.example =
      "- beans:\n"
      "    - name: broker\n"
      "      type: drom.rabbitmq\n"
      "      properties:\n"
      "        addresses: mq1:5672,mq2:5672\n"
      "        username: app\n"
      "        password: \"{{env:MQ_PASSWORD:guest}}\"\n";
  return spec;
}

Result<void> make_bean(const std::string& name, const Config& config, BuildContext& context) {
  auto broker = std::make_shared<Broker>();
  Result<void> read = read_broker(config, *broker);
  if (!read) return read;
  context.registry().bind<Broker>(name, std::move(broker));
  return {};
}

Result<Broker> find_broker(const Registry& registry, std::string_view reference) {
  const std::vector<std::string> names = registry.names<Broker>();
  if (!reference.empty()) {
    const std::string_view name = bean_name(reference);
    if (const Broker* broker = registry.find<Broker>(name)) return *broker;
    return Error(ErrorKind::config, "there is no drom.rabbitmq bean '" + std::string(name) + "'",
                 did_you_mean(name, names));
  }
  if (names.size() == 1) return *registry.find<Broker>(names.front());
  if (names.empty()) return Broker();
  return Error(ErrorKind::config, "there are several drom.rabbitmq beans and none is named",
               "choose one with connectionFactory=#" + names.front());
}

Value argument_value(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return Value(number);
  if (text == "true" || text == "false") return Value(text == "true");
  return Value(text);
}

// "queue.x-max-length=100", "exchange.alternate-exchange=spare", "binding.x-match=any".
Result<void> read_arguments(const std::vector<std::string>& list, Topology& out) {
  for (const std::string& text : list) {
    const size_t dot = text.find('.');
    const size_t equals = text.find('=');
    const std::string_view target = std::string_view(text).substr(0, dot);
    Headers* const table = target == "queue"      ? &out.queue_arguments
                           : target == "exchange" ? &out.exchange_arguments
                           : target == "binding"  ? &out.binding_arguments
                                                  : nullptr;
    if (!table || equals == std::string::npos || equals < dot + 2)
      return Error(ErrorKind::config, "args cannot hold '" + text + "'",
                   "write queue.NAME=value, exchange.NAME=value or binding.NAME=value");
    table->set(text.substr(dot + 1, equals - dot - 1), argument_value(text.substr(equals + 1)));
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

Result<void> read_topology(const Config& config, Topology& out) {
  const std::string& exchange = config.text("exchangeName");
  out.exchange = exchange == "default" ? "" : exchange;
  out.exchange_type = config.text("exchangeType");
  out.queues = config.list("queues");
  out.routing_keys = split(config.text("routingKey"));
  const bool declare = config.flag("autoDeclare");
  // The default exchange exists, and every queue is bound to it by its own name.
  const bool own = !out.exchange.empty();
  out.declare_exchange = own && (declare || config.flag("autoDeclareProducer")) &&
                         !config.flag("skipDeclareExchange");
  out.declare_queues = declare && !config.flag("skipDeclareQueue");
  out.bind = own && declare && !config.flag("skipBindQueue");
  out.durable = config.flag("durable");
  out.auto_delete = config.flag("autoDelete");
  out.exclusive = config.flag("exclusiveQueue");
  Result<void> arguments = read_arguments(config.list("args"), out);
  if (!arguments) return arguments;
  if (config.text("queueType") == "quorum") {
    if (!out.durable || out.exclusive || out.auto_delete)
      return Error(ErrorKind::config,
                   "a quorum queue is durable, and neither exclusive nor autoDelete");
    out.queue_arguments.set("x-queue-type", Value("quorum"));
  }
  if (config.has("messageTtl"))
    out.queue_arguments.set("x-message-ttl", Value(int64_t{config.duration("messageTtl").count()}));
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

ConfigSpec endpoint_spec() {
  ConfigSpec spec;
  spec.name = "rabbitmq";
  spec.title = "RabbitMQ";
  spec.doc =
      "Sends to an exchange of a RabbitMQ broker and takes from its queues (AMQP 0-9-1). A send "
      "ends well when the broker has confirmed the message and it has reached a queue. A message "
      "is acknowledged after its route, with everything that the route has committed; it may come "
      "again after a crash, so give the receiver an idempotentConsumer.";
  spec.syntax = "rabbitmq:exchangeName";
  spec.consumes = spec.produces = true;
  using enum OptionType;
  OptionSpec exchange = option(
      "exchangeName", text, "The exchange; `default` is the broker's own, which routes by queue "
                            "name.", "", "orders");
  exchange.required = exchange.path = true;
  spec.options = {
      exchange,
      option("connectionFactory", reference,
             "The drom.rabbitmq bean with the broker; not needed when there is only one.", "",
             "#broker"),
      option("routingKey", text,
             "From: the keys that bind the queues, separated by commas. To: the key of each "
             "message, with simple expressions.",
             "", "order.${header.region}"),
      one_of(option("exchangeType", enumeration, "The type of a declared exchange.", "direct"),
             {"direct", "topic", "fanout", "headers"}),
      option("queues", list, "From: the queues to take from.", "", "orders,returns"),
      option("autoDeclare", boolean,
             "From: whether exchange, queues and bindings are declared at every connect.", "true"),
      option("autoDeclareProducer", boolean,
             "To: whether the exchange is declared at every connect.", "false"),
      option("skipDeclareExchange", boolean, "Whether the exchange is left as it is.", "false"),
      option("skipDeclareQueue", boolean, "Whether the queues are left as they are.", "false"),
      option("skipBindQueue", boolean, "Whether the bindings are left as they are.", "false"),
      option("durable", boolean,
             "Whether a declared exchange or queue survives a restart of the broker.", "true"),
      option("autoDelete", boolean,
             "Whether a declared queue goes with its last consumer, and a declared exchange with "
             "its last binding.",
             "false"),
      option("exclusiveQueue", boolean,
             "Whether a declared queue belongs to this connection and goes with it.", "false"),
      one_of(option("queueType", enumeration, "The type of a declared queue.", "classic"),
             {"classic", "quorum"}),
      bounded(option("messageTtl", duration,
                     "How long a message may wait in a declared queue; then it is dead.", "", "1h"),
              0, INT32_MAX),
      option("args", list,
             "Further arguments of what is declared: queue.NAME=value, exchange.NAME=value, "
             "binding.NAME=value.",
             "", "queue.x-max-length=10000"),
      option("deadLetterExchange", text,
             "Where a declared queue sends dead messages; it is declared too.", "", "orders.dead"),
      one_of(option("deadLetterExchangeType", enumeration, "The type of deadLetterExchange.",
                    "direct"),
             {"direct", "topic", "fanout", "headers"}),
      option("deadLetterQueue", text, "A queue to declare and bind to deadLetterExchange.", "",
             "orders.dead"),
      option("deadLetterRoutingKey", text,
             "The key of dead messages; by default they keep their own.", "", "dead"),
      bounded(option("prefetchCount", integer,
                     "From: how many unacknowledged messages of each queue the broker hands out.", "250"),
              1, 65535),
      bounded(option("concurrentConsumers", integer,
                     "From: how many messages the route works on at once; more than one gives up "
                     "their order.",
                     "1"),
              1, 65535),
      option("exclusive", boolean, "From: whether nobody else may take from the queues.", "false"),
      option("noLocal", boolean,
             "From: whether messages sent by this connection are left out, where the broker can.",
             "false"),
      one_of(option("acknowledgeMode", enumeration,
                    "From: AUTO acknowledges when the route has ended; there is no other mode.",
                    "AUTO"),
             {"AUTO"}),
      option("rejectAndDontRequeue", boolean,
             "From: whether a failed message is rejected, so that the broker dead-letters or "
             "drops it; false puts it back. By default one that cannot succeed is rejected when "
             "deadLetterExchange is given, and everything else is put back."),
      bounded(option("requeueDelay", duration,
                     "From: how long a failed message is held before it is put back.", "1s"),
              0, 3'600'000),
      option("messageId", expression,
             "To: the message id; by default the outbox's event id, or the header eventId."),
      option("type", expression, "To: the type property.", "", "OrderPlaced"),
      option("contentType", expression,
             "To: the content type; by default the header Content-Type, or what fits the body.", "",
             "application/json"),
      option("correlationId", expression, "To: the correlation id.", "", "${header.order}"),
      option("replyTo", expression, "To: where a receiver may answer.", "", "orders.replies"),
      option("expiration", expression,
             "To: after how many milliseconds a waiting message is dead.", "", "60000"),
      option("priority", expression, "To: the priority, 0 to 255.", "", "5"),
      option("persistent", boolean, "To: whether the broker keeps messages on disk.", "true"),
      option("timestamp", boolean, "To: whether the time of sending goes with it.", "true"),
      option("mandatory", boolean,
             "To: whether a message that reaches no queue comes back; false loses it silently.",
             "true"),
      one_of(option("unroutable", enumeration,
                    "To: whether a message that came back fails or counts as sent.", "fail"),
             {"fail", "drop"}),
      bounded(option("confirmWindow", integer,
                     "To: how many messages may wait for the broker's confirm at once.", "1000"),
              1, 100'000),
      bounded(option("confirmTimeout", duration,
                     "To: how long a send may take until its confirm.", "30s"),
              1, kDay),
      option("transacted", boolean,
             "To: whether a send inside a transacted block waits for the commit; false sends at "
             "once.",
             "true"),
  };
  for (OptionSpec& shared : broker_options()) spec.options.push_back(std::move(shared));
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: rabbitmq:orders\n"
      "      parameters: {queues: orders.new, routingKey: order.placed, queueType: quorum}\n"
      "      steps:\n"
      "        - to: \"rabbitmq:invoices?routingKey=new\"\n";
  return spec;
}

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
  if (Result<void> read = read_topology(config, out.topology); !read) return read.error();
  out.routing_key = config.text("routingKey");

  ConsumerOptions& in = out.consumer;
  in.prefetch = static_cast<uint16_t>(config.integer("prefetchCount"));
  in.concurrent = static_cast<size_t>(config.integer("concurrentConsumers"));
  in.exclusive = config.flag("exclusive");
  in.no_local = config.flag("noLocal");
  in.requeue_delay = config.duration("requeueDelay");
  in.has_dead_letters = out.topology.queue_arguments.find("x-dead-letter-exchange") != nullptr;
  if (config.given("rejectAndDontRequeue"))
    in.rejects = config.flag("rejectAndDontRequeue") ? Rejects::always : Rejects::never;

  ProducerOptions& to = out.producer;
  ExpressionError problem;
  to.routing_key =
      compile_expression("simple", out.routing_key, ExpressionUse::value, problem);
  if (!to.routing_key)
    return Error(ErrorKind::config, "routingKey: " + problem.what, problem.hint);
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
  to.unroutable = config.text("unroutable") == "drop" ? Unroutable::drop : Unroutable::fail;
  to.window = static_cast<size_t>(config.integer("confirmWindow"));
  to.confirm_timeout = config.duration("confirmTimeout");
  to.transacted = config.flag("transacted");
  if (!to.mandatory && config.given("unroutable"))
    return Error(ErrorKind::config, "unroutable needs mandatory=true",
                 "without it the broker does not say what became of a message");
  return out;
}

BeanInfo broker_bean() { return {"drom.rabbitmq", bean_spec, make_bean, {}}; }

}  // namespace drom::rabbitmq
