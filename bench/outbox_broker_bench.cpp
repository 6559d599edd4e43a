// A relay of its own (`drom run`, so that the memory is that of the engine) empties a backlog of
// 300,000 events of 200 B and 10,000 keys from PostgreSQL into Kafka and into RabbitMQ: events per
// second, CPU and peak memory. Promise: below 60 MB. Every event must be there once, on Kafka in
// the order of its key.
#if defined(DROM_KAFKA) && defined(DROM_RABBITMQ)
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <librdkafka/rdkafka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <unordered_map>

#include "bare/stores.hpp"
#include "support/kafka_admin.hpp"

namespace drom::bench {
namespace {

constexpr long kMemoryMaxKb = 60'000'000 / 1024;
constexpr int kPartitions = 4;
const std::string kTopic = "drom.bench.relay";
const std::string kTable = "outbox_relay";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  check(value, std::string(name) + " is not set");
  return value;
}

// Payloads begin with their number, which grows within a key.
void fill(BareDatabase& db, size_t rows) {
  fill_outbox(db, kTable, 0);
  db.script("INSERT INTO " + kTable +
            " (key, type, payload) SELECT 'key' || i % 10000, 'order.created', rpad(i || ' ', 200, "
            "'x') FROM generate_series(1, " +
            std::to_string(rows) + ") AS i");
  db.script("ANALYZE " + kTable);
}

struct Usage {
  double seconds = 0;
  double cpu = 0;
  long peak_kb = 0;
};

// From the start of the process until nothing is due.
Usage relay(BareDatabase& db, const std::string& routes) {
  const std::string program = variable("DROM_PROGRAM");
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(program.c_str(), program.c_str(), "run", routes.c_str(), nullptr);
    ::_exit(127);
  }
  Usage out;
  const std::string due =
      "SELECT count(*) FROM (SELECT 1 FROM " + kTable + " WHERE status <> 'sent' LIMIT 1) AS x";
  while (db.number(due) > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    check(::waitpid(child, nullptr, WNOHANG) == 0, "the relay has ended");
  }
  out.seconds = seconds_since(start);
  ::kill(child, SIGTERM);
  rusage usage{};
  int status = 0;
  check(::wait4(child, &status, 0, &usage) == child && status == 0, "the relay has not ended well");
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  out.cpu = of(usage.ru_utime) + of(usage.ru_stime);
  out.peak_kb = usage.ru_maxrss;
  return out;
}

bool report(const std::string& target, size_t rows, const Usage& usage) {
  std::printf("outbox to %s: %.0f events/s, %.1f us CPU each, %ld MB at most (promise 60 MB)\n",
              target.c_str(), static_cast<double>(rows) / usage.seconds,
              usage.cpu * 1e6 / static_cast<double>(rows), usage.peak_kb / 1024);
  return usage.peak_kb < kMemoryMaxKb;
}

std::string write_routes(const std::filesystem::path& folder, const StorePlace& place,
                         const std::string& to) {
  const std::string file = (folder / "routes.yaml").string();
  std::ofstream(file)
      << "- beans:\n    - name: db\n      type: drom.postgres\n      properties: { url: \""
      << place.value << "\" }\n- route:\n    from:\n      uri: outbox:relay\n"
      << "      steps:\n        - to:\n            " << to << "\n";
  return file;
}

void check_topic(size_t rows) {
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", variable("DROM_TEST_KAFKA").c_str(), nullptr, 0);
  rd_kafka_conf_set(conf, "group.id", "check", nullptr, 0);
  rd_kafka_t* const reader = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
  check(reader, "the reader");
  rd_kafka_topic_partition_list_t* const all = rd_kafka_topic_partition_list_new(kPartitions);
  for (int i = 0; i < kPartitions; ++i)
    rd_kafka_topic_partition_list_add(all, kTopic.c_str(), i)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(reader, all);
  rd_kafka_topic_partition_list_destroy(all);
  std::unordered_map<std::string, int> last;
  size_t seen = 0;
  while (rd_kafka_message_t* const message = rd_kafka_consumer_poll(reader, 5000)) {
    check(message->err == RD_KAFKA_RESP_ERR_NO_ERROR, "reading the topic");
    const char* const text = static_cast<const char*>(message->payload);
    int number = 0;
    std::from_chars(text, text + message->len, number);
    int& before = last[std::string(static_cast<const char*>(message->key), message->key_len)];
    check(number > before, "an event came twice or after a later one", std::to_string(number));
    before = number;
    rd_kafka_message_destroy(message);
    if (++seen == rows) break;
  }
  rd_kafka_consumer_close(reader);
  rd_kafka_destroy(reader);
  check(seen == rows, "not every event is in the topic", std::to_string(seen));
}

// Declares the queue anew, or tells how many messages it has.
class Rabbit {
 public:
  Rabbit() : state_(amqp_new_connection()) {
    amqp_socket_t* const socket = amqp_tcp_socket_new(state_);
    const std::string url = variable("DROM_TEST_RABBITMQ");
    const std::string place = url.substr(url.rfind('@') + 1);
    const size_t colon = place.find(':');
    check(amqp_socket_open(socket, place.substr(0, colon).c_str(),
                           std::atoi(place.c_str() + colon + 1)) == 0,
          "connecting");
    address = place.substr(0, place.find('/'));
    amqp_login(state_, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    amqp_channel_open(state_, 1);
    good();
  }
  ~Rabbit() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }
  void recreate() {
    amqp_queue_delete(state_, 1, queue(), 0, 0);
    good();
    amqp_queue_declare(state_, 1, queue(), 0, 1, 0, 0, amqp_empty_table);
    good();
  }
  size_t count() {
    const auto* ok = amqp_queue_declare(state_, 1, queue(), 1, 0, 0, 0, amqp_empty_table);
    good();
    return ok->message_count;
  }
  std::string address;

 private:
  static amqp_bytes_t queue() { return amqp_cstring_bytes(kTopic.c_str()); }
  void good() {
    check(amqp_get_rpc_reply(state_).reply_type == AMQP_RESPONSE_NORMAL, "a call to the broker");
  }
  amqp_connection_state_t state_;
};

bool to_kafka(BareDatabase& db, const std::filesystem::path& folder, const StorePlace& place,
              size_t rows) {
  testing::make_kafka_topic(variable("DROM_TEST_KAFKA"), kTopic, kPartitions);
  fill(db, rows);
  const Usage usage = relay(
      db, write_routes(folder, place,
                       "uri: kafka:" + kTopic + "\n            parameters: { brokers: \"" +
                           variable("DROM_TEST_KAFKA") + "\", key: \"${header.outbox.key}\" }"));
  check_topic(rows);
  return report("Kafka", rows, usage);
}

bool to_rabbitmq(BareDatabase& db, const std::filesystem::path& folder, const StorePlace& place,
                 size_t rows) {
  Rabbit rabbit;
  rabbit.recreate();
  fill(db, rows);
  const Usage usage =
      relay(db, write_routes(folder, place,
                             "uri: rabbitmq:default\n            parameters: { addresses: \"" +
                                 rabbit.address + "\", routingKey: " + kTopic + " }"));
  check(rabbit.count() == rows, "not every event is in the queue once",
        std::to_string(rabbit.count()));
  return report("RabbitMQ", rows, usage);
}

bool bench() {
  const size_t rows = scaled(300'000);
  const Stores stores;
  std::string name = (std::filesystem::temp_directory_path() / "drom-bench-XXXXXX").string();
  check(::mkdtemp(name.data()) != nullptr, "a folder");
  const auto place = std::ranges::find(stores.all(), "PostgreSQL", &StorePlace::name);
  check(place != stores.all().end(), "PostgreSQL is not there");
  const auto db = place->open();
  bool kept = to_kafka(*db, name, *place, rows);
  kept = to_rabbitmq(*db, name, *place, rows) && kept;
  db->script("DROP TABLE " + kTable);
  std::filesystem::remove_all(name);
  return kept;
}

}  // namespace
}  // namespace drom::bench

int main() { return drom::bench::bench() ? 0 : 1; }
#else
int main() { return 0; }
#endif
