// How fast a route forwards 100,000 persistent messages of 200 B from one quorum queue to another,
// confirmed before they are acknowledged, against a bare librabbitmq loop with the same prefetch
// and window. Promise: 70 % of the bare loop.
#ifdef DROM_RABBITMQ
#include <amqp.h>
#include <amqp_tcp_socket.h>

#include <cstdlib>
#include <cstring>
#include <deque>

#include "bare/stores.hpp"
#include "observe/counters.hpp"

namespace drom::bench {
namespace {

constexpr uint16_t kWindow = 1000;

struct Place {
  std::string host;
  int port;
};
Place place() {
  const char* url = std::getenv("DROM_TEST_RABBITMQ");
  check(url, "DROM_TEST_RABBITMQ is not set");
  const std::string text = url;
  const size_t at = text.rfind('@');
  const size_t colon = text.find(':', at);
  return {text.substr(at + 1, colon - at - 1), std::atoi(text.c_str() + colon + 1)};
}

amqp_bytes_t bytes(const std::string& text) { return amqp_cstring_bytes(text.c_str()); }

class Bare {
 public:
  Bare() : state_(amqp_new_connection()) {
    const Place broker = place();
    amqp_socket_t* socket = amqp_tcp_socket_new(state_);
    check(amqp_socket_open(socket, broker.host.c_str(), broker.port) == 0, "connecting");
    amqp_login(state_, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    for (const amqp_channel_t channel : {1, 2}) {
      amqp_channel_open(state_, channel);
      good();
    }
    amqp_confirm_select(state_, 2);
    good();
    properties_._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties_.delivery_mode = 2;
  }
  ~Bare() {
    amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(state_);
  }

  void recreate(const std::string& queue) {
    amqp_queue_delete(state_, 1, bytes(queue), 0, 0);
    good();
    amqp_table_entry_t type = {bytes(type_), {}};
    type.value.kind = AMQP_FIELD_KIND_UTF8;
    type.value.value.bytes = bytes(quorum_);
    amqp_queue_declare(state_, 1, bytes(queue), 0, 1, 0, 0, {1, &type});
    good();
  }
  size_t count(const std::string& queue) {
    const auto* ok = amqp_queue_declare(state_, 1, bytes(queue), 1, 0, 0, 0, amqp_empty_table);
    good();
    return ok->message_count;
  }
  void fill(const std::string& queue, size_t count) {
    const std::string body(200, 'x');
    size_t sent = 0, confirmed = 0;
    while (confirmed < count) {
      while (sent < count && sent - confirmed < kWindow) {
        publish(queue, bytes(body));
        ++sent;
      }
      amqp_frame_t frame = next();
      if (const auto* ack = as<amqp_basic_ack_t>(frame, AMQP_BASIC_ACK_METHOD))
        taken(*ack, confirmed);
    }
    first_ += count;
    open_.clear();
  }
  // Until `count` messages are confirmed on the one side and acknowledged on the other.
  void forward(const std::string& in, const std::string& out, size_t count) {
    amqp_basic_qos(state_, 1, 0, kWindow, 0);
    good();
    amqp_basic_consume(state_, 1, bytes(in), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    good();
    std::string body;
    uint64_t tag = 0, size = 0;
    size_t done = 0;
    while (done < count) {
      amqp_frame_t frame = next();
      if (const auto* deliver = as<amqp_basic_deliver_t>(frame, AMQP_BASIC_DELIVER_METHOD)) {
        tag = deliver->delivery_tag;
      } else if (frame.frame_type == AMQP_FRAME_HEADER) {
        size = frame.payload.properties.body_size;
        body.clear();
      } else if (frame.frame_type == AMQP_FRAME_BODY) {
        const amqp_bytes_t part = frame.payload.body_fragment;
        body.append(static_cast<const char*>(part.bytes), part.len);
        if (body.size() < size) continue;
        publish(out, {body.size(), body.data()});
        open_.push_back(tag);
        amqp_maybe_release_buffers(state_);
      } else if (const auto* ack = as<amqp_basic_ack_t>(frame, AMQP_BASIC_ACK_METHOD)) {
        acknowledge(*ack, done);
      }
    }
  }

 private:
  void good() {
    check(amqp_get_rpc_reply(state_).reply_type == AMQP_RESPONSE_NORMAL, "a call to the broker");
  }
  void publish(const std::string& queue, amqp_bytes_t body) {
    check(amqp_basic_publish(state_, 2, amqp_empty_bytes, bytes(queue), 1, 0, &properties_, body) ==
              0,
          "publishing");
  }
  amqp_frame_t next() {
    amqp_frame_t frame;
    check(amqp_simple_wait_frame(state_, &frame) == 0, "reading");
    return frame;
  }
  template <class T>
  static const T* as(const amqp_frame_t& frame, amqp_method_number_t id) {
    if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != id) return nullptr;
    return static_cast<const T*>(frame.payload.method.decoded);
  }
  // Which publishes a confirm covers, from the front; those out of turn wait in `early_`.
  size_t covered(const amqp_basic_ack_t& ack) {
    size_t out = 0;
    if (ack.multiple) {
      while (first_ <= ack.delivery_tag) ++first_, ++out;
    } else {
      early_.push_back(ack.delivery_tag);
    }
    for (auto at = early_.begin(); at != early_.end();) {
      if (*at > first_) {
        ++at;
        continue;
      }
      if (*at == first_) ++first_, ++out;
      at = early_.erase(at);
      if (out > 0) at = early_.begin();
    }
    return out;
  }
  void taken(const amqp_basic_ack_t& ack, size_t& confirmed) { confirmed += covered(ack); }
  void acknowledge(const amqp_basic_ack_t& ack, size_t& done) {
    const size_t ended = covered(ack);
    if (ended == 0) return;
    check(amqp_basic_ack(state_, 1, open_[ended - 1], 1) == 0, "acknowledging");
    open_.erase(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(ended));
    done += ended;
  }

  amqp_connection_state_t state_;
  amqp_basic_properties_t properties_{};
  std::string type_ = "x-queue-type", quorum_ = "quorum";
  uint64_t first_ = 1;  // the lowest unconfirmed publish
  std::deque<uint64_t> early_;
  std::deque<uint64_t> open_;  // deliveries, in the order of their publishes
};

const std::string kIn = "drom.bench.in";
const std::string kOut = "drom.bench.out";

double with_engine(size_t count) {
  Engine engine;
  register_builtin(engine.registry());
  Routes routes;
  const Place broker = place();
  routes.bean("broker", "drom.rabbitmq",
              {{"addresses", broker.host + ":" + std::to_string(broker.port)}});
  const std::string window = std::to_string(kWindow);
  routes.from("rabbitmq:default?autoDeclare=false&prefetchCount=" + window + "&queues=" + kIn)
      .route_id("forward")
      .to("rabbitmq:default?confirmWindow=" + window + "&routingKey=" + kOut);
  engine.add(routes.take());
  check(engine.build(), "the route", engine.diagnostics().render());
  const auto start = std::chrono::steady_clock::now();
  const Result<void> started = engine.start_now();
  check(started.ok(), "start", started.ok() ? "" : started.error().what);
  const auto done = [&] { return engine.counters().routes().at("forward").completed >= count; };
  engine.drive_until(done, std::chrono::minutes(10));
  const double out = static_cast<double>(count) / seconds_since(start);
  engine.stop_now();
  return out;
}

double by_hand(size_t count) {
  Bare bare;
  const auto start = std::chrono::steady_clock::now();
  bare.forward(kIn, kOut, count);
  return static_cast<double>(count) / seconds_since(start);
}

void prepare(size_t count) {
  Bare bare;
  bare.recreate(kIn);
  bare.recreate(kOut);
  bare.fill(kIn, count);
}
void check_all_there(size_t count) {
  Bare bare;
  check(bare.count(kOut) == count, "not every message has arrived once",
        std::to_string(bare.count(kOut)));
}

bool bench() {
  const size_t count = scaled(100'000);
  Race race;
  for (size_t round = 0; round < rounds(); ++round) {
    prepare(count);
    race.bare.push_back(by_hand(count));
    check_all_there(count);
    prepare(count);
    race.engine.push_back(with_engine(count));
    check_all_there(count);
  }
  return race.report("forward RabbitMQ", "messages/s", 0.7);
}

}  // namespace
}  // namespace drom::bench

int main() { return drom::bench::bench() ? 0 : 1; }
#else
int main() { return 0; }
#endif
