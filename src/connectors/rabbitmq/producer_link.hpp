// The connection of one producer on a thread of its own: it publishes, matches confirms, returned
// messages and replies to what was sent, and meets the shard in batches. It connects when there is
// something to send, and declares and subscribes anew each time. Members are called on the shard.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "connectors/rabbitmq/connection.hpp"
#include "connectors/rabbitmq/content.hpp"
#include "connectors/rabbitmq/message.hpp"
#include "connectors/rabbitmq/wake.hpp"
#include "rt/lane.hpp"

namespace drom::rabbitmq {

struct Send {
  uint64_t id = 0;
  Outgoing message;
  bool request = false;  // a reply is wanted; message.correlation_id is set
};

// Every Send gets exactly one with `ended`: confirmed, or failed with `error`. A request gets a
// further one with its reply, before or after that.
struct Answer {
  uint64_t id = 0;
  bool ended = true;
  std::optional<Error> error;
  std::optional<Message> reply;
};

// What the broker, or the connection to it, is like.
struct LinkState {
  uint64_t losses = 0;  // connections lost or not made
  Error last;           // why
  std::string blocked;  // why the broker takes no messages now; "" when it does
};

class ProducerLink {
 public:
  // `answered` is called on the shard when there are answers, or the state has changed.
  ProducerLink(boost::asio::io_context& io, EndpointOptions options,
               std::function<void()> answered);
  ~ProducerLink();

  // Connects at once.
  async<Result<void>> open();
  void send(std::vector<Send> sends);
  // Nobody waits for it any more: it is not sent if it was not yet.
  void forget(uint64_t id);
  // Ends the connection, because the broker has gone quiet.
  void reset();
  std::vector<Answer> take();
  LinkState state();
  async<> close();

 private:
  struct Pending {
    Send send;
    bool ended = false;
    std::optional<Error> returned;
    bool park = false;    // came back, goes to the queue for such messages
    bool parked = false;  // is the copy that went there
  };

  Result<void> connect();
  void loop();
  bool collect();
  void publish();
  bool fits(const Outgoing& message) const;
  Result<void> publish_one(Send send, bool parked);
  void read_all();
  void take_frame(const amqp_frame_t& frame);
  void take_returned(const Incoming& message);
  void take_reply(Incoming message);
  void confirm(uint64_t tag, bool multiple, bool taken);
  void end(Pending& pending, bool taken);
  void answer(uint64_t id, std::optional<Error> error);
  void lose(Error error);
  void post();

  boost::asio::io_context& io_;
  EndpointOptions options_;
  std::shared_ptr<std::function<void()>> answered_;
  Wake wake_;

  std::mutex mutex_;  // guards the following
  std::vector<Send> sends_;
  std::vector<uint64_t> forgotten_;
  std::vector<Answer> answers_;
  LinkState state_;
  int socket_ = -1;
  bool stopping_ = false;

  // The lane's.
  std::unique_ptr<Connection> connection_;
  ContentReader content_;
  std::deque<Send> queue_;
  std::deque<Pending> pending_;  // by delivery tag, from first_tag_ on
  uint64_t first_tag_ = 1;
  std::unordered_map<std::string, uint64_t> requests_;  // correlation id -> id
  bool listens_ = false;                                // subscribed to direct replies
  std::vector<Answer> fresh_;
  LinkState now_;
  bool changed_ = false;

  Lane lane_;  // last: its end waits for the loop, which uses the rest
};

}  // namespace drom::rabbitmq
