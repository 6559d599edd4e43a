// One connection to the broker with one channel, over librabbitmq. Blocks; belongs to the thread of
// its link, except interrupt().
#pragma once

#include <amqp.h>

#include <memory>
#include <string>

#include "connectors/rabbitmq/options.hpp"

namespace drom::rabbitmq {

constexpr amqp_channel_t kChannel = 1;

// What a broker's reply code means; `doing` opens the sentence.
Error reply_error(int code, std::string_view text, const std::string& doing);

class Connection {
 public:
  // Tries the addresses in order. `uri` names the endpoint in errors.
  static Result<std::unique_ptr<Connection>> open(const Broker& broker, const std::string& uri);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Result<void> declare(const Topology& topology);
  Result<void> declare_lasting_queue(const std::string& name);
  Result<void> select_confirms();
  // Subscribes to `queue` without acknowledgements.
  Result<void> consume_replies(std::string_view queue);
  Result<void> consume(const Topology& topology, const ConsumerOptions& options);
  // The handshake of an orderly end: the broker has taken what was sent before.
  void close();

  enum class Read : uint8_t { frame, nothing, lost };
  // Does not wait. On lost, error() says why. A close by the broker counts as lost.
  Read read(amqp_frame_t& frame);
  const Error& error() const { return error_; }
  // A library call has failed with `status`.
  void lose(int status);
  // Waits until the socket has something, `wake_fd` has, or the time has passed.
  void wait(int wake_fd, bool at_once) const;

  amqp_connection_state_t get() const { return state_; }
  int socket() const { return amqp_get_sockfd(state_); }
  bool blocked() const { return !block_reason_.empty(); }
  // Why the broker takes no messages now.
  const std::string& block_reason() const { return block_reason_; }

 private:
  Connection(std::string uri, amqp_connection_state_t state)
      : uri_(std::move(uri)), state_(state) {}
  Result<void> connect(const Broker& broker, const Address& address);
  Result<void> check(const amqp_rpc_reply_t& reply, const std::string& doing);
  Result<void> declare_exchange(const std::string& name, const std::string& type,
                                const Topology& topology, const Headers& arguments);
  Result<void> declare_dead_letters(const Topology& topology);
  Result<void> declare_queue(const std::string& name, const Topology& topology,
                             const Headers& arguments);
  Result<void> bind(const std::string& queue, const std::string& exchange, const std::string& key,
                    const Headers& arguments);

  std::string uri_;
  amqp_connection_state_t state_;
  std::string block_reason_;
  bool lost_ = false;
  Error error_;
};

}  // namespace drom::rabbitmq
