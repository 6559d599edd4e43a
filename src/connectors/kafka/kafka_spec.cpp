#include "connectors/kafka/kafka_options.hpp"

namespace drom::kafka {
namespace {

OptionSpec text(std::string name, std::string doc, std::string example = {}) {
  return {.name = std::move(name), .doc = std::move(doc), .example = std::move(example)};
}
OptionSpec secret(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .secret = true};
}
OptionSpec wait(std::string name, std::string doc, std::string fallback, int64_t minimum = 1) {
  return {.name = std::move(name),
          .type = OptionType::duration,
          .doc = std::move(doc),
          .fallback = std::move(fallback),
          .minimum = minimum,
          .maximum = 86'400'000};
}
OptionSpec flag(std::string name, std::string doc, std::string fallback) {
  return {.name = std::move(name),
          .type = OptionType::boolean,
          .doc = std::move(doc),
          .fallback = std::move(fallback)};
}
OptionSpec number(std::string name, std::string doc, std::string fallback, int64_t minimum,
                  int64_t maximum) {
  return {.name = std::move(name),
          .type = OptionType::integer,
          .doc = std::move(doc),
          .fallback = std::move(fallback),
          .minimum = minimum,
          .maximum = maximum};
}
OptionSpec size(std::string name, std::string doc, std::string fallback, int64_t minimum) {
  return {.name = std::move(name),
          .type = OptionType::size,
          .doc = std::move(doc),
          .fallback = std::move(fallback),
          .minimum = minimum,
          .maximum = 1'000'000'000};
}
OptionSpec choice(std::string name, std::string doc, std::string fallback,
                  std::vector<std::string> values) {
  return {.name = std::move(name),
          .type = OptionType::enumeration,
          .doc = std::move(doc),
          .fallback = std::move(fallback),
          .values = std::move(values)};
}

std::vector<OptionSpec> security_options() {
  return {
      choice("securityProtocol", "How the connection is secured.", "PLAINTEXT",
             {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}),
      choice("saslMechanism", "How a SASL connection proves who it is.", "PLAIN",
             {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"}),
      text("saslUsername", "The SASL user (PLAIN and SCRAM)."),
      secret("saslPassword", "The password of the SASL user."),
      text("sslCaLocation",
           "File with the certificates to trust (PEM); without it those of the system.",
           "/etc/kafka/ca.pem"),
      text("sslCertificateLocation", "File with our own certificate (PEM), for mutual TLS."),
      text("sslKeyLocation", "File with the private key of our certificate (PEM)."),
      secret("sslKeyPassword", "The password of the private key."),
      choice("sslEndpointIdentificationAlgorithm",
             "Whether the certificate of a broker must be for its host name; none switches that "
             "off.",
             "https", {"https", "none"}),
  };
}

std::vector<OptionSpec> network_options() {
  return {
      text("clientId", "The name under which the brokers know this client.", "shop"),
      wait("requestTimeoutMs", "How long a broker may take to acknowledge a record.", "30s"),
      wait("socketTimeoutMs", "How long any other request to a broker may take.", "60s", 10),
      wait("metadataMaxAgeMs",
           "How often topics and partitions are looked up, at least; new topics of a pattern are "
           "found by it.",
           "5m"),
      wait("reconnectBackoffMs", "The pause before a lost connection is tried again.", "100ms", 0),
      wait("reconnectBackoffMaxMs", "The longest such pause; it doubles with every failure.", "10s",
           0),
      number("maxInFlight", "Requests to one broker that may be unanswered at once (producer).",
             "5", 1, 1'000'000),
      {.name = "additionalProperties",
       .type = OptionType::list,
       .doc = "Settings of librdkafka, `name=value`; they are applied last and win.",
       .example = "socket.nagle.disable=true,fetch.min.bytes=1000"},
  };
}

std::vector<OptionSpec> shared_consumer_options() {
  return {
      text("groupId", "The consumer group; a source must have one.", "billing"),
      choice("autoOffsetReset",
             "Where a group begins in a partition that it has no committed offset for; none is an "
             "error.",
             "latest", {"latest", "earliest", "none"}),
      text("groupInstanceId",
           "Makes this member static: it keeps its partitions over a restart within the session "
           "timeout. Unique within the group."),
      wait("sessionTimeoutMs", "After this silence the group gives our partitions to others.",
           "45s"),
      wait("heartbeatIntervalMs", "How often the group is told that we live.", "3s"),
      wait("maxPollIntervalMs",
           "After this time without a look at the broker the group gives our partitions to others; "
           "a slow route does not count, we go on looking.",
           "5m"),
      choice("partitionAssignmentStrategy",
             "How the partitions are shared among the members; all of a group must agree.", "range",
             {"range", "roundRobin", "cooperativeSticky"}),
      choice("isolationLevel", "Whether records of transactions that did not commit are seen.",
             "read_committed", {"read_committed", "read_uncommitted"}),
  };
}

std::vector<OptionSpec> shared_producer_options() {
  return {
      choice("acks", "Who must have a record before it counts as sent; all is the safe one.", "all",
             {"all", "1", "0"}),
      flag("enableIdempotence",
           "Whether repeats inside the client are recognised by the broker, so that order and "
           "number of the records stay right; needs acks=all.",
           "true"),
      number("retries", "How often a record is tried again within messageTimeoutMs.", "2147483647",
             0, 2147483647),
      wait("lingerMs", "How long records are collected into one request.", "5ms", 0),
      size("batchSize", "The size at which a request goes out at once.", "1000000", 1),
      choice("compressionType", "How requests are compressed.", "none",
             {"none", "gzip", "snappy", "lz4", "zstd"}),
      wait("messageTimeoutMs", "After this time without an acknowledgement a send has failed.",
           "2m"),
      size("maxRequestSize", "The largest record; the broker has a limit of its own.", "1048576",
           1000),
      size("bufferMemorySize",
           "Room for records that wait to be sent; a full buffer makes the route wait.", "32MB",
           1024),
  };
}

std::vector<OptionSpec> consumer_options() {
  return {
      flag("enableAutoCommit",
           "Whether offsets are committed when their records are done. Without it nothing is "
           "committed and every start begins at seekTo or autoOffsetReset.",
           "true"),
      wait("autoCommitIntervalMs",
           "How long commits are collected; a crash repeats what was done in that time.", "100ms",
           0),
      number("maxPollRecords",
             "Batch mode: up to so many records become one exchange, its body the list of their "
             "bodies; 0 makes every record an exchange.",
             "0", 0, 100'000),
      wait("batchingIntervalMs",
           "Batch mode: how long to wait for a batch to be full after its first record came.",
           "0ms", 0),
      wait("pollTimeoutMs", "How long one look for records waits.", "1s", 1),
      flag("breakOnFirstError",
           "Whether a failed record holds up the later ones of its partition until it is done; "
           "else they pass it. It is tried again in both cases, and never skipped.",
           "true"),
      wait("retryBackoffMs", "The pause before a failed record is tried again; it doubles.", "1s"),
      wait("retryBackoffMaxMs", "The longest such pause.", "30s"),
      text("seekTo",
           "Where the first look at each partition begins, whatever was committed: beginning, end, "
           "an offset, or a time as 2026-12-01T00:00:00Z.",
           "beginning"),
      flag("topicIsPattern", "Whether the topic is a regular expression over topic names.",
           "false"),
      {.name = "partitionNumber",
       .type = OptionType::list,
       .doc = "Source: these partitions instead of those that the group would give us. Target: "
              "the one partition to write to.",
       .example = "0,1"},
      number("consumersCount",
             "How many records are worked on at once. Records of one key keep their order, and so "
             "do those without a key of one partition.",
             "1", 1, 1000),
      number("window",
             "How many records may be taken from the broker and not done; on a route that only "
             "waits in its last send, so many are under way at once.",
             "1000", 1, 1'000'000),
  };
}

std::vector<OptionSpec> producer_options() {
  return {
      {.name = "key",
       .type = OptionType::expression,
       .doc = "Key of the record; records of one key stay in one partition, in order.",
       .example = "${header.orderId}"},
      {.name = "partitionKey",
       .type = OptionType::expression,
       .doc = "Number of the partition to write to; wins over the key.",
       .example = "${header.partition}"},
      choice("nullBody", "What a message without a body becomes: a tombstone or an empty record.",
             "tombstone", {"tombstone", "empty"}),
      flag("recordMetadata",
           "Target: whether kafka.sent.topic, .partition, .offset and .timestamp are set after the "
           "send. Source in batch mode: whether the header kafka.records lists topic, partition, "
           "offset, timestamp, key and headers of every record.",
           "false"),
      flag("transacted",
           "Whether a send inside a transacted block waits for the commit; false sends at once.",
           "true"),
      text("transactionalIdPrefix",
           "Makes sends Kafka transactions. Behind a kafka: source the records sent and the offset "
           "of what was read become visible together or not at all. Must differ between "
           "processes.",
           "enrich-1"),
  };
}

void append(std::vector<OptionSpec>& to, std::vector<OptionSpec> from) {
  for (OptionSpec& option : from) to.push_back(std::move(option));
}

std::vector<OptionSpec> shared_options(std::string brokers_fallback) {
  OptionSpec brokers;
  brokers.name = "brokers";
  brokers.doc = "Where to find the cluster: host:port, several with commas.";
  brokers.fallback = std::move(brokers_fallback);
  brokers.example = "kafka-1:9092,kafka-2:9092";
  std::vector<OptionSpec> out = {std::move(brokers)};
  append(out, security_options());
  append(out, network_options());
  append(out, shared_consumer_options());
  append(out, shared_producer_options());
  return out;
}

}  // namespace

ConfigSpec endpoint_spec() {
  ConfigSpec spec;
  spec.name = "kafka";
  spec.title = "Kafka";
  spec.doc =
      "Topics of Apache Kafka. As a source, offsets are committed only up to the first record that "
      "is not done, after its unit of work; a record whose route fails is tried again in place, "
      "while the consumer stays in its group. As a target, a send has succeeded when the broker "
      "has acknowledged it; the producer is idempotent. With transactionalIdPrefix, reading, "
      "processing and writing are one Kafka transaction.";
  spec.syntax = "kafka:topic";
  spec.consumes = spec.produces = true;
  spec.options = {
      {.name = "topic",
       .doc = "Name of the topic; a source takes several with commas.",
       .example = "orders",
       .required = true,
       .path = true},
      {.name = "connectionFactory",
       .type = OptionType::reference,
       .doc = "Bean of type drom.kafka whose options count where the endpoint has none; not needed "
              "when "
              "there is only one and the endpoint does not say brokers itself.",
       .example = "cluster"},
  };
  append(spec.options, shared_options(""));
  append(spec.options, consumer_options());
  append(spec.options, producer_options());
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: kafka:orders\n"
      "      parameters: {brokers: \"localhost:9092\", groupId: billing}\n"
      "      steps:\n"
      "        - to:\n"
      "            uri: kafka:invoices\n"
      "            parameters: {brokers: \"localhost:9092\", key: \"${header[kafka.key]}\"}\n";
  return spec;
}

ConfigSpec bean_spec() {
  ConfigSpec spec;
  spec.name = "drom.kafka";
  spec.title = "Kafka connection factory";
  spec.doc =
      "What the kafka: endpoints of one cluster share: brokers, security, and defaults for sources "
      "and targets. An endpoint uses the only one, or the one that connectionFactory names, and "
      "overrides it "
      "option by option.";
  spec.options = shared_options("localhost:9092");
  spec.example =
      "- beans:\n"
      "    - name: cluster\n"
      "      type: drom.kafka\n"
      "      properties:\n"
      "        brokers: kafka-1:9092,kafka-2:9092\n"
      "        securityProtocol: SASL_SSL\n"
      "        saslMechanism: SCRAM-SHA-512\n"
      "        saslUsername: shop\n"
      "        saslPassword: \"{{env:KAFKA_PASSWORD}}\"\n";
  return spec;
}

}  // namespace drom::kafka
