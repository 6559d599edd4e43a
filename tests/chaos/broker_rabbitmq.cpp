#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <sys/time.h>

#include <cstdlib>
#include <stdexcept>

#include "chaos/broker.hpp"

namespace drom::chaos {
namespace {

// Every message goes into both: one for the consumer, one for the judge.
constexpr const char* kExchange = "chaos";
constexpr const char* kQueue = "chaos.apply";
constexpr const char* kAudit = "chaos.audit";

amqp_bytes_t bytes(const char* text) { return amqp_cstring_bytes(text); }
std::string_view view(amqp_bytes_t value) {
  return {static_cast<const char*>(value.bytes), value.len};
}

class Connection {
 public:
  explicit Connection(uint16_t port) {
    const timeval patience{5, 0};
    amqp_socket_t* const socket = amqp_tcp_socket_new(state_);
    fine_ =
        socket && amqp_socket_open_noblock(socket, "127.0.0.1", port, &patience) == AMQP_STATUS_OK;
    if (!fine_) return;
    amqp_set_rpc_timeout(state_, &patience);
    fine_ = amqp_login(state_, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest")
                .reply_type == AMQP_RESPONSE_NORMAL;
    if (!fine_) return;
    amqp_channel_open(state_, 1);
    fine_ = well();
  }
  ~Connection() { amqp_destroy_connection(state_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  bool fine() const { return fine_; }
  bool well() const { return amqp_get_rpc_reply(state_).reply_type == AMQP_RESPONSE_NORMAL; }
  amqp_connection_state_t get() const { return state_; }

 private:
  amqp_connection_state_t state_ = amqp_new_connection();
  bool fine_ = false;
};

uint16_t port_of_url() {
  const char* const url = std::getenv("DROM_TEST_RABBITMQ");
  if (!url) throw std::runtime_error("DROM_TEST_RABBITMQ is not set; run me by with_servers.sh");
  const std::string text = url;
  return static_cast<uint16_t>(std::stoi(text.substr(text.rfind(':') + 1)));
}

class Rabbit final : public Broker {
 public:
  Rabbit() : Broker("DROM_TEST_RABBITMQ_PID"), port_(port_of_url()) {}
  std::string name() const override { return "rabbitmq"; }
  uint16_t port() const override { return port_; }
  bool answers() override { return Connection(port_).fine(); }

  void create() override {
    const Connection connection(port_);
    if (!connection.fine()) throw std::runtime_error("the broker does not answer");
    amqp_exchange_declare(connection.get(), 1, bytes(kExchange), bytes("fanout"), 0, 1, 0, 0,
                          amqp_empty_table);
    for (const char* const queue : {kQueue, kAudit}) {
      amqp_queue_declare(connection.get(), 1, bytes(queue), 0, 1, 0, 0, amqp_empty_table);
      amqp_queue_bind(connection.get(), 1, bytes(queue), bytes(kExchange), bytes(""),
                      amqp_empty_table);
    }
    if (!connection.well()) throw std::runtime_error("the queues could not be made");
  }

  std::vector<Delivered> delivered() override {
    const Connection connection(port_);
    if (!connection.fine()) throw std::runtime_error("the broker does not answer");
    std::vector<Delivered> out;
    while (true) {
      const amqp_rpc_reply_t reply = amqp_basic_get(connection.get(), 1, bytes(kAudit), 1);
      if (reply.reply_type != AMQP_RESPONSE_NORMAL)
        throw std::runtime_error("the audit queue cannot be read");
      if (reply.reply.id == AMQP_BASIC_GET_EMPTY_METHOD) return out;
      amqp_message_t message;
      if (amqp_read_message(connection.get(), 1, &message, 0).reply_type != AMQP_RESPONSE_NORMAL)
        throw std::runtime_error("the audit queue cannot be read");
      out.push_back(delivered_of(view(message.body), seq_of(message.properties)));
      amqp_destroy_message(&message);
      amqp_maybe_release_buffers(connection.get());
    }
  }

  std::string sink() const override {
    return "uri: rabbitmq:chaos\n            parameters: { addresses: \"127.0.0.1:{{broker}}\", "
           "exchangeType: fanout, confirmTimeout: 5s, connectTimeout: 1s, heartbeat: 2s }";
  }
  std::string source() const override {
    return "uri: rabbitmq:chaos\n      parameters: { addresses: \"127.0.0.1:{{broker}}\", queues: "
           "chaos.apply, autoDeclare: false, connectTimeout: 1s, heartbeat: 2s, requeueDelay: 50ms "
           "}";
  }

 private:
  static std::string seq_of(const amqp_basic_properties_t& properties) {
    if ((properties._flags & AMQP_BASIC_HEADERS_FLAG) == 0) return "";
    for (int i = 0; i < properties.headers.num_entries; ++i) {
      const amqp_table_entry_t& entry = properties.headers.entries[i];
      if (view(entry.key) != "seq") continue;
      switch (entry.value.kind) {
        case AMQP_FIELD_KIND_UTF8: return std::string(view(entry.value.value.bytes));
        case AMQP_FIELD_KIND_I64: return std::to_string(entry.value.value.i64);
        case AMQP_FIELD_KIND_I32: return std::to_string(entry.value.value.i32);
        default: return "";
      }
    }
    return "";
  }

  uint16_t port_;
};

}  // namespace

std::unique_ptr<Broker> open_rabbitmq() { return std::make_unique<Rabbit>(); }

}  // namespace drom::chaos
