// The connection of one consumer on a thread of its own: it takes deliveries, sends
// acknowledgements and keeps the heartbeat, and meets the shard in batches. Members are called on
// the shard.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "connectors/rabbitmq/ack_window.hpp"
#include "connectors/rabbitmq/connection.hpp"
#include "connectors/rabbitmq/content.hpp"
#include "connectors/rabbitmq/message.hpp"
#include "connectors/rabbitmq/wake.hpp"
#include "drom/model/exchange.hpp"
#include "rt/lane.hpp"

namespace drom::rabbitmq {

struct Delivery {
  uint64_t tag = 0;
  Message message;
  std::string reply_to;  // "": no reply is wanted
  std::string correlation_id;
};

enum class Verdict : uint8_t { ack, requeue, reject };

struct Settlement {
  uint64_t tag = 0;
  Verdict verdict = Verdict::requeue;
  std::optional<Outgoing> reply;  // to the queue that its routing key names, before the rest
};

class ConsumerLink {
 public:
  // `arrived` is called on the shard when something is there to take.
  ConsumerLink(boost::asio::io_context& io, EndpointOptions options, std::function<void()> arrived);
  ~ConsumerLink();

  async<Result<void>> open();
  // What has come; an error once, after the last delivery before it.
  Result<std::vector<Delivery>> take(size_t max);
  void settle(std::vector<Settlement> settlements);
  // Sends what was settled, gives back the rest. No more deliveries.
  async<> close();

 private:
  Result<void> connect();
  void loop();
  bool apply(const std::vector<Settlement>& settlements);
  int send_reply(const Outgoing& reply);
  void read_all();
  void take_frame(const amqp_frame_t& frame);
  void post();

  boost::asio::io_context& io_;
  EndpointOptions options_;
  std::shared_ptr<std::function<void()>> arrived_;
  Wake wake_;

  std::mutex mutex_;  // guards the following
  std::vector<Settlement> settlements_;
  std::vector<Delivery> ready_;
  std::optional<Error> failure_;
  bool stopping_ = false;

  // The lane's.
  std::unique_ptr<Connection> connection_;
  std::vector<Delivery> fresh_;
  ContentReader content_;
  AckWindow open_;
  std::optional<Error> broken_;

  Lane lane_;  // last: its end waits for the loop, which uses the rest
};

}  // namespace drom::rabbitmq
