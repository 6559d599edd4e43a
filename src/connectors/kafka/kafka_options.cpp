#include "connectors/kafka/kafka_options.hpp"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace drom::kafka {
namespace {

// The value of the endpoint, of the factory, or the default.
class Reader {
 public:
  Reader(const Config& endpoint, const ConnectionFactory* factory)
      : endpoint_(endpoint), factory_(factory ? &factory->config : nullptr) {}

  const Config& of(std::string_view name) const {
    return factory_ && !endpoint_.given(name) ? *factory_ : endpoint_;
  }
  bool has(std::string_view name) const { return of(name).has(name); }
  bool given(std::string_view name) const {
    return endpoint_.given(name) || (factory_ && factory_->given(name));
  }
  const std::string& text(std::string_view name) const { return of(name).text(name); }
  std::string ms(std::string_view name) const {
    return std::to_string(of(name).duration(name).count());
  }
  milliseconds duration(std::string_view name) const { return of(name).duration(name); }
  int64_t integer(std::string_view name) const { return of(name).integer(name); }
  bool flag(std::string_view name) const { return of(name).flag(name); }
  const std::vector<std::string>& list(std::string_view name) const { return of(name).list(name); }

 private:
  const Config& endpoint_;
  const Config* factory_;
};

// These are ours: what the connector promises hangs on them.
constexpr std::array<std::string_view, 6> kReserved = {
    "enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof",
    "group.id",           "transactional.id",         "bootstrap.servers"};

Settings common_settings(const Reader& r) {
  Settings out = {
      {"bootstrap.servers", r.text("brokers")},
      {"security.protocol", r.text("securityProtocol")},
      {"socket.timeout.ms", r.ms("socketTimeoutMs")},
      {"topic.metadata.refresh.interval.ms", r.ms("metadataMaxAgeMs")},
      {"reconnect.backoff.ms", r.ms("reconnectBackoffMs")},
      {"log_level", "0"},  // what matters comes as an error event
  };
  out.emplace_back(
      "reconnect.backoff.max.ms",
      std::to_string(
          std::max(r.duration("reconnectBackoffMaxMs"), r.duration("reconnectBackoffMs")).count()));
  for (const auto& [name, setting] :
       {std::pair("clientId", "client.id"), std::pair("sslCaLocation", "ssl.ca.location"),
        std::pair("sslCertificateLocation", "ssl.certificate.location"),
        std::pair("sslKeyLocation", "ssl.key.location"),
        std::pair("sslKeyPassword", "ssl.key.password")})
    if (r.has(name)) out.emplace_back(setting, r.text(name));
  if (r.text("securityProtocol").ends_with("SSL"))
    out.emplace_back("ssl.endpoint.identification.algorithm",
                     r.text("sslEndpointIdentificationAlgorithm"));
  if (r.text("securityProtocol").starts_with("SASL")) {
    out.emplace_back("sasl.mechanisms", r.text("saslMechanism"));
    if (r.has("saslUsername")) out.emplace_back("sasl.username", r.text("saslUsername"));
    if (r.has("saslPassword")) out.emplace_back("sasl.password", r.text("saslPassword"));
  }
  return out;
}

void consumer_settings(const Reader& r, Settings& out) {
  const std::string& strategy = r.text("partitionAssignmentStrategy");
  out.insert(
      out.end(),
      {
          {"group.id", r.text("groupId")},
          {"enable.auto.commit", "false"},
          {"enable.auto.offset.store", "false"},
          {"enable.partition.eof", "true"},
          {"session.timeout.ms", r.ms("sessionTimeoutMs")},
          {"heartbeat.interval.ms", r.ms("heartbeatIntervalMs")},
          {"max.poll.interval.ms", r.ms("maxPollIntervalMs")},
          {"isolation.level", r.text("isolationLevel")},
          {"auto.offset.reset",
           r.text("autoOffsetReset") == "none" ? "error" : r.text("autoOffsetReset")},
          {"partition.assignment.strategy", strategy == "roundRobin"          ? "roundrobin"
                                            : strategy == "cooperativeSticky" ? "cooperative-sticky"
                                                                              : "range"},
          // What librdkafka reads ahead, over all partitions together.
          {"queued.min.messages", "50000"},
          {"queued.max.messages.kbytes", "32768"},
          {"fetch.message.max.bytes", "1048576"},
          {"fetch.error.backoff.ms", "200"},
      });
  // Older ones sleep for a second when their queue is full: see
  // Subscription::look_after_fetching().
  if (rd_kafka_version() >= kQueueBackoffSince) out.emplace_back("fetch.queue.backoff.ms", "10");
  if (r.has("groupInstanceId")) out.emplace_back("group.instance.id", r.text("groupInstanceId"));
}

void producer_settings(const Reader& r, bool transactional, Settings& out) {
  // The broker aborts a transaction after a minute; no record may take longer.
  const milliseconds longest = transactional
                                   ? std::min(r.duration("messageTimeoutMs"), milliseconds(60'000))
                                   : r.duration("messageTimeoutMs");
  out.insert(
      out.end(),
      {
          {"acks", r.text("acks")},
          {"enable.idempotence", r.flag("enableIdempotence") ? "true" : "false"},
          {"message.send.max.retries", std::to_string(r.integer("retries"))},
          {"linger.ms", r.ms("lingerMs")},
          {"batch.size", std::to_string(r.integer("batchSize"))},
          {"compression.type", r.text("compressionType")},
          {"message.timeout.ms", std::to_string(longest.count())},
          // A topic that is not there is an error after this time.
          {"topic.metadata.propagation.max.ms", "5000"},
          {"request.timeout.ms", r.ms("requestTimeoutMs")},
          {"message.max.bytes", std::to_string(r.integer("maxRequestSize"))},
          {"max.in.flight.requests.per.connection", std::to_string(r.integer("maxInFlight"))},
          {"queue.buffering.max.kbytes",
           std::to_string(std::max<int64_t>(1, r.integer("bufferMemorySize") / 1024))},
          {"queue.buffering.max.messages", "100000"},
          // The partition of a key is that of Java programs.
          {"partitioner", "murmur2_random"},
      });
}

Result<Settings> additional(const Reader& r) {
  Settings out;
  for (const std::string& entry : r.list("additionalProperties")) {
    const size_t at = entry.find('=');
    if (at == std::string::npos || at == 0)
      return Error(ErrorKind::config, "additionalProperties holds an entry without '='",
                   "write name=value, as in socket.nagle.disable=true");
    std::string name = entry.substr(0, at);
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end())
      return Error(ErrorKind::config, "additionalProperties may not set '" + name + "'",
                   "use the option of the endpoint; offsets are committed by the route");
    out.emplace_back(std::move(name), entry.substr(at + 1));
  }
  return out;
}

Result<SeekTo> read_seek(const std::string& text) {
  SeekTo out;
  if (text.empty()) return out;
  if (text == "beginning" || text == "end") {
    out.kind = text == "end" ? SeekTo::Kind::end : SeekTo::Kind::beginning;
    return out;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  if (error == std::errc() && end == text.data() + text.size() && out.value >= 0) {
    out.kind = SeekTo::Kind::offset;
    return out;
  }
  const Result<WallTime> time = parse_iso8601(text);
  if (!time)
    return Error(ErrorKind::config, "seekTo cannot be '" + text + "'",
                 "write beginning, end, an offset as 1200, or a time as 2026-12-01T00:00:00Z");
  out.kind = SeekTo::Kind::timestamp;
  out.value = std::chrono::duration_cast<milliseconds>(time.value().time_since_epoch()).count();
  return out;
}

Result<std::vector<int32_t>> read_partitions(const std::vector<std::string>& texts) {
  std::vector<int32_t> out;
  for (const std::string& text : texts) {
    int32_t number = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0)
      return Error(ErrorKind::config, "partitionNumber cannot be '" + text + "'",
                   "write numbers from 0 on, as in 0,1,2");
    out.push_back(number);
  }
  return out;
}

std::vector<std::string> split_topics(const std::string& text, bool pattern) {
  std::vector<std::string> out;
  if (pattern) {
    // librdkafka takes what begins with ^ for a regular expression.
    out.push_back(text.starts_with('^') ? text : "^" + text);
    return out;
  }
  size_t at = 0;
  while (at <= text.size()) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string name = text.substr(at, end - at);
    std::erase(name, ' ');
    if (!name.empty()) out.push_back(std::move(name));
    at = end + 1;
  }
  return out;
}

Result<void> read_consumer(const Reader& r, const Config& config, Options& out) {
  out.group = r.text("groupId");
  out.commits = config.flag("enableAutoCommit");
  out.commit_interval = config.duration("autoCommitIntervalMs");
  out.batch_max = static_cast<size_t>(config.integer("maxPollRecords"));
  out.batch_wait = config.duration("batchingIntervalMs");
  out.poll_timeout = config.duration("pollTimeoutMs");
  out.policy.stop_at_failure = config.flag("breakOnFirstError");
  out.policy.retry.initial = config.duration("retryBackoffMs");
  out.policy.retry.maximum =
      std::max(config.duration("retryBackoffMaxMs"), out.policy.retry.initial);
  out.consumers = static_cast<size_t>(config.integer("consumersCount"));
  out.window = std::max(static_cast<size_t>(config.integer("window")), out.batch_max);
  out.max_poll_interval = r.duration("maxPollIntervalMs");
  Result<SeekTo> seek = read_seek(config.text("seekTo"));
  if (!seek) return seek.error();
  out.seek = *seek;
  return {};
}

Result<void> read_producer(const Reader& r, const Config& config, Options& out) {
  out.key = config.expression("key");
  out.partition = config.expression("partitionKey");
  if (out.assigned.size() == 1) out.fixed_partition = out.assigned.front();
  out.record_metadata = config.flag("recordMetadata");
  out.empty_for_null = config.text("nullBody") == "empty";
  out.transacted = config.flag("transacted");
  out.transaction_prefix = config.text("transactionalIdPrefix");
  out.message_timeout = r.duration("messageTimeoutMs");
  out.request_timeout = r.duration("requestTimeoutMs");
  const std::string& acks = r.text("acks");
  const bool all = acks == "all";
  if (!all && r.given("acks") && !r.given("enableIdempotence")) return {};
  if (!all && r.flag("enableIdempotence"))
    return Error(ErrorKind::config, "acks=" + acks + " and enableIdempotence exclude each other",
                 "use acks=all, or enableIdempotence=false");
  if (!out.transaction_prefix.empty() && !r.flag("enableIdempotence"))
    return Error(ErrorKind::config,
                 "transactionalIdPrefix and enableIdempotence=false exclude each other");
  return {};
}

}  // namespace

Result<Options> read_options(const Config& config, const ConnectionFactory* factory) {
  const Reader r(config, factory);
  Options out;
  if (r.text("brokers").empty())
    return Error(ErrorKind::config,
                 "kafka:" + config.text("topic") + " does not say where Kafka is",
                 "add brokers=host:9092, or connectionFactory=NAME of a bean of type drom.kafka");
  out.uri = "kafka:" + config.text("topic");
  out.pattern = config.flag("topicIsPattern");
  out.topics = split_topics(config.text("topic"), out.pattern);
  if (out.topics.empty()) return Error(ErrorKind::config, "kafka: names no topic");
  if (r.text("securityProtocol").starts_with("SASL") &&
      (r.text("saslMechanism") == "PLAIN" || r.text("saslMechanism").starts_with("SCRAM")) &&
      (!r.has("saslUsername") || !r.has("saslPassword")))
    return Error(ErrorKind::config, out.uri + " lacks saslUsername or saslPassword",
                 "securityProtocol " + r.text("securityProtocol") + " needs both");
  out.ca_hint = r.has("sslCaLocation") ? r.text("sslCaLocation") : "the system's certificates";
  Result<std::vector<int32_t>> partitions = read_partitions(config.list("partitionNumber"));
  if (!partitions) return partitions.error();
  out.assigned = std::move(*partitions);
  Result<void> read = read_consumer(r, config, out);
  if (read) read = read_producer(r, config, out);
  if (!read) return read.error();
  out.consumer_settings = out.producer_settings = common_settings(r);
  consumer_settings(r, out.consumer_settings);
  producer_settings(r, !out.transaction_prefix.empty(), out.producer_settings);
  // Asking for fewer acknowledgements switches the idempotence off that is on by default.
  const std::string& acks = r.text("acks");
  if (acks == "1" || acks == "0")
    for (auto& [name, value] : out.producer_settings)
      if (name == "enable.idempotence") value = "false";
  Result<Settings> more = additional(r);
  if (!more) return more.error();
  for (Settings* to : {&out.consumer_settings, &out.producer_settings})
    to->insert(to->end(), more->begin(), more->end());
  return out;
}

Result<void> check_consumer(const Options& options) {
  if (options.group.empty())
    return Error(ErrorKind::config, "a route cannot start with " + options.uri + " without groupId",
                 "add groupId=NAME; consumers with the same groupId share the partitions");
  if (options.pattern && !options.assigned.empty())
    return Error(ErrorKind::config, "topicIsPattern and partitionNumber exclude each other");
  if (options.seek.kind == SeekTo::Kind::offset && options.assigned.size() != 1)
    return Error(ErrorKind::config, "seekTo an offset needs one partitionNumber",
                 "offsets of different partitions have nothing to do with each other; use a time");
  return {};
}

}  // namespace drom::kafka
