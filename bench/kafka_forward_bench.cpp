// How fast a route forwards 400,000 records of 200 B from one topic to another, acknowledged by all
// before their offsets are committed, through two steps, against a bare librdkafka loop with the
// same settings. Promises: 70 % of the bare loop in batches of up to 5,000 records (one batch at a
// time, so that order survives a failure), 50 % record by record.
#ifdef DROM_KAFKA
#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdlib>
#include <map>

#include "bare/stores.hpp"
#include "observe/counters.hpp"
#include "support/kafka_admin.hpp"

namespace drom::bench {
namespace {

constexpr int kPartitions = 4;
constexpr size_t kInFlight = 10'000;  // records; the window of the route
const std::string kIn = "drom.bench.in";

std::string brokers() {
  const char* const place = std::getenv("DROM_TEST_KAFKA");
  check(place, "DROM_TEST_KAFKA is not set");
  return place;
}

// What the engine sets by default.
rd_kafka_conf_t* settings() {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  const auto set = [&](const char* name, const std::string& value) {
    check(rd_kafka_conf_set(conf, name, value.c_str(), nullptr, 0) == RD_KAFKA_CONF_OK, name);
  };
  set("bootstrap.servers", brokers());
  set("enable.idempotence", "true");
  set("linger.ms", "5");
  set("batch.size", "1000000");
  set("queue.buffering.max.messages", "1000000");
  return conf;
}

class Bare {
 public:
  Bare() {
    rd_kafka_conf_t* const conf = settings();
    rd_kafka_conf_set_opaque(conf, this);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    check(producer_, "the producer");
  }
  ~Bare() {
    for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(producer_);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void fill(const std::string& topic, size_t count) {
    const std::string body(200, 'x');
    for (size_t i = 0; i < count; ++i) produce(topic, static_cast<int>(i % kPartitions), -1, body);
    flush(count);
  }

  // Offsets are stored when their copy is acknowledged, and committed by the client's timer.
  double forward(const std::string& group, const std::string& to, size_t count) {
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    for (const auto& [name, value] :
         {std::pair("bootstrap.servers", brokers()), std::pair("group.id", group),
          std::pair("auto.offset.reset", std::string("earliest")),
          std::pair("enable.auto.offset.store", std::string("false")),
          std::pair("auto.commit.interval.ms", std::string("100"))})
      check(rd_kafka_conf_set(conf, name, value.c_str(), nullptr, 0) == RD_KAFKA_CONF_OK, name);
    consumer_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
    check(consumer_, "the consumer");
    rd_kafka_poll_set_consumer(consumer_);
    rd_kafka_topic_partition_list_t* const topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, kIn.c_str(), RD_KAFKA_PARTITION_UA);
    check(rd_kafka_subscribe(consumer_, topics) == RD_KAFKA_RESP_ERR_NO_ERROR, "subscribing");
    rd_kafka_topic_partition_list_destroy(topics);
    rd_kafka_queue_t* const queue = rd_kafka_queue_get_consumer(consumer_);
    std::array<rd_kafka_message_t*, 500> messages;
    std::optional<std::chrono::steady_clock::time_point> start;
    sent_ = done_ = 0;
    while (done_ < count) {
      const ssize_t got = rd_kafka_consume_batch_queue(queue, 10, messages.data(), messages.size());
      if (got > 0 && !start) start = std::chrono::steady_clock::now();
      for (ssize_t i = 0; i < got; ++i) take(*messages[static_cast<size_t>(i)], to);
      rd_kafka_poll(producer_, 0);
      store();
      while (sent_ - done_ > kInFlight) rd_kafka_poll(producer_, 10);
    }
    const double rate = static_cast<double>(count) / seconds_since(*start);
    rd_kafka_queue_destroy(queue);
    rd_kafka_consumer_close(consumer_);
    rd_kafka_destroy(consumer_);
    return rate;
  }

  int64_t count(const std::string& topic) {
    int64_t sum = 0;
    for (int partition = 0; partition < kPartitions; ++partition) {
      int64_t low = 0, high = 0;
      check(rd_kafka_query_watermark_offsets(producer_, topic.c_str(), partition, &low, &high,
                                             30'000) == RD_KAFKA_RESP_ERR_NO_ERROR,
            "asking for the end of a partition");
      sum += high - low;
    }
    return sum;
  }

 private:
  // `offset` comes back with the acknowledgement; -1: of no record.
  void produce(const std::string& topic, int partition, int64_t offset, std::string_view body) {
    const auto mark = static_cast<intptr_t>((offset + 1) * kPartitions + partition);
    rd_kafka_topic_t*& handle = topics_[topic];
    if (!handle) handle = rd_kafka_topic_new(producer_, topic.c_str(), nullptr);
    while (rd_kafka_produce(handle, partition, RD_KAFKA_MSG_F_COPY, const_cast<char*>(body.data()),
                            body.size(), nullptr, 0, reinterpret_cast<void*>(mark)) != 0) {
      check(rd_kafka_last_error() == RD_KAFKA_RESP_ERR__QUEUE_FULL, "producing");
      rd_kafka_poll(producer_, 10);
    }
    ++sent_;
  }
  void take(rd_kafka_message_t& message, const std::string& to) {
    check(message.err == RD_KAFKA_RESP_ERR_NO_ERROR, "consuming");
    produce(to, message.partition, message.offset,
            {static_cast<const char*>(message.payload), message.len});
    rd_kafka_message_destroy(&message);
  }
  static void delivered(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
    check(message->err == RD_KAFKA_RESP_ERR_NO_ERROR, "an acknowledgement");
    Bare& bare = *static_cast<Bare*>(self);
    const auto mark = reinterpret_cast<intptr_t>(message->_private);
    bare.next_[static_cast<size_t>(mark % kPartitions)] = mark / kPartitions;
    ++bare.done_;
  }
  void store() {
    rd_kafka_topic_partition_list_t* const list = rd_kafka_topic_partition_list_new(kPartitions);
    for (int partition = 0; partition < kPartitions; ++partition) {
      int64_t& next = next_[static_cast<size_t>(partition)];
      if (next > 0) rd_kafka_topic_partition_list_add(list, kIn.c_str(), partition)->offset = next;
      next = 0;
    }
    if (list->cnt > 0) rd_kafka_offsets_store(consumer_, list);
    rd_kafka_topic_partition_list_destroy(list);
  }
  void flush(size_t count) {
    while (done_ < count) rd_kafka_poll(producer_, 100);
    next_ = {};
  }

  rd_kafka_t* producer_ = nullptr;
  rd_kafka_t* consumer_ = nullptr;
  std::map<std::string, rd_kafka_topic_t*> topics_;
  size_t sent_ = 0;
  size_t done_ = 0;
  std::array<int64_t, kPartitions> next_{};  // offsets after the acknowledged ones
};

double with_engine(const std::string& group, const std::string& to, size_t count, bool batches) {
  Engine engine;
  register_builtin(engine.registry());
  size_t seen = 0, exchanges = 0;
  Routes routes;
  routes.bean("cluster", "drom.kafka", {{"brokers", brokers()}});
  routes
      .from("kafka:" + kIn + "?groupId=" + group + "&autoOffsetReset=earliest&window=" +
            std::to_string(kInFlight) + "&maxPollRecords=" + (batches ? "5000" : "0"))
      .route_id("forward")
      .process([&](Exchange& exchange) {
        const List* const list = exchange.message.body.as_list();
        seen += list ? list->size() : 1;
        ++exchanges;
      })
      .set_property("step", constant("two"))
      .to("kafka:" + to);
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render());
  const Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what);
  engine.drive_until([&] { return seen > 0; }, std::chrono::minutes(1));
  const auto start = std::chrono::steady_clock::now();
  const RouteCounters& counters = engine.counters().routes().at("forward");
  engine.drive_until([&] { return seen >= count && counters.completed >= exchanges; },
                     std::chrono::minutes(10));
  const double rate = static_cast<double>(count) / seconds_since(start);
  engine.stop_now();
  return rate;
}

bool bench() {
  const size_t count = scaled(400'000);
  int serial = 0;
  const auto fresh = [&serial](const std::string& name) {
    const std::string topic = name + std::to_string(++serial);
    testing::make_kafka_topic(brokers(), topic, kPartitions);
    return topic;
  };
  Bare bare;
  testing::make_kafka_topic(brokers(), kIn, kPartitions);
  bare.fill(kIn, count);
  const auto all_there = [&](const std::string& topic) {
    check(bare.count(topic) == static_cast<int64_t>(count), "not every record arrived once",
          std::to_string(bare.count(topic)));
  };
  Race batches, singles;
  for (size_t round = 0; round < rounds(); ++round) {
    std::string to = fresh("drom.bench.bare");
    const double rate = bare.forward(to, to, count);
    all_there(to);
    batches.bare.push_back(rate);
    singles.bare.push_back(rate);
    to = fresh("drom.bench.batch");
    batches.engine.push_back(with_engine(to, to, count, true));
    all_there(to);
    to = fresh("drom.bench.single");
    singles.engine.push_back(with_engine(to, to, count, false));
    all_there(to);
  }
  const bool fast = batches.report("forward Kafka in batches", "records/s", 0.7);
  return singles.report("forward Kafka one by one", "records/s", 0.5) && fast;
}

}  // namespace
}  // namespace drom::bench

int main() { return drom::bench::bench() ? 0 : 1; }
#else
int main() { return 0; }
#endif
