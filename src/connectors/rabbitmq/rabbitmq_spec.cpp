// The options of the bean and of the endpoints.
#include "connectors/rabbitmq/options.hpp"
#include "spi/step_support.hpp"

namespace drom::rabbitmq {
namespace {

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
      bounded(
          option("heartbeat", OptionType::duration,
                 "How often both sides say that they are alive (default 30s); 0 never.", "", "10s"),
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

}  // namespace

ConfigSpec broker_spec() {
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

ConfigSpec endpoint_spec() {
  ConfigSpec spec;
  spec.name = "rabbitmq";
  spec.title = "RabbitMQ";
  spec.doc =
      "Sends to an exchange of a RabbitMQ broker and takes from its queues (AMQP 0-9-1). A send "
      "ends well when the broker has confirmed the message and it has reached a queue. A message "
      "is acknowledged after its route, with everything that the route has committed; it may come "
      "again after a crash, so give the receiver an idempotentConsumer. What is declared is "
      "durable "
      "and takes further arguments as parameters: arg.queue.NAME, arg.exchange.NAME, "
      "arg.binding.NAME, with Camel's durable, autoDelete and exclusive among the names.";
  spec.syntax = "rabbitmq:exchangeName";
  spec.consumes = spec.produces = true;
  spec.free_parameters = true;  // arg.queue.NAME and the like
  using enum OptionType;
  OptionSpec exchange = option("exchangeName", text,
                               "The exchange; `default` is the broker's own, which routes by queue "
                               "name.",
                               "", "orders");
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
                     "From: how many unacknowledged messages of each queue the broker hands out.",
                     "250"),
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
      option("disableReplyTo", boolean,
             "From: whether no reply is sent to messages that ask for one.", "false"),
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
      option("expiration", expression, "To: after how many milliseconds a waiting message is dead.",
             "", "60000"),
      option("priority", expression, "To: the priority, 0 to 255.", "", "5"),
      option("persistent", boolean, "To: whether the broker keeps messages on disk.", "true"),
      option("timestamp", boolean, "To: whether the time of sending goes with it.", "true"),
      option("mandatory", boolean,
             "To: whether a message that reaches no queue comes back; false loses it silently.",
             "true"),
      one_of(option("unroutable", enumeration,
                    "To: what becomes of a message that reached no queue: fail, for good; park, "
                    "in parkQueue; drop, which counts as sent.",
                    "fail"),
             {"fail", "park", "drop"}),
      option("parkQueue", text,
             "To: the durable queue for unroutable messages, declared when unroutable=park; by "
             "default the exchange and .unroutable.",
             "", "orders.unroutable"),
      bounded(option("confirmWindow", integer,
                     "To: how many messages may wait for the broker's confirm at once.", "1000"),
              1, 100'000),
      bounded(option("confirmTimeout", duration, "To: how long a send may take until its confirm.",
                     "30s"),
              1, kDay),
      bounded(option("replyTimeout", duration,
                     "To: how long an InOut exchange waits for its reply.", "30s"),
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
      "      parameters: {queues: orders.new, routingKey: order.placed, arg.queue.x-queue-type: "
      "quorum}\n"
      "      steps:\n"
      "        - to: \"rabbitmq:invoices?routingKey=new\"\n";
  return spec;
}

}  // namespace drom::rabbitmq
