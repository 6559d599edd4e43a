#include "connectors/rabbitmq/connection.hpp"

#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "connectors/rabbitmq/message.hpp"

namespace drom::rabbitmq {
namespace {

Error library_error(int status, const std::string& doing) {
  std::string hint;
  ErrorKind kind = ErrorKind::not_connected;
  switch (status) {
    case AMQP_STATUS_TIMEOUT:
      kind = ErrorKind::timeout;
      hint = "the broker does not answer; connectTimeout sets how long to wait";
      break;
    case AMQP_STATUS_HOSTNAME_RESOLUTION_FAILED: hint = "check the host names in addresses"; break;
    case AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED:
      hint = "the certificate names another host: write that name in addresses";
      break;
    case AMQP_STATUS_SSL_PEER_VERIFY_FAILED:
    case AMQP_STATUS_SSL_CONNECTION_FAILED:
    case AMQP_STATUS_SSL_ERROR:
      hint =
          "the certificate must be valid now and by an authority that sslCaLocation names; the "
          "port must be one for TLS";
      break;
    case AMQP_STATUS_SOCKET_ERROR:
    case AMQP_STATUS_TCP_ERROR: hint = "check that the broker runs and addresses names it"; break;
    default: break;
  }
  return Error(kind, doing + ": " + amqp_error_string2(status), hint);
}

timeval to_timeval(milliseconds time) {
  timeval out{};
  out.tv_sec = time.count() / 1000;
  out.tv_usec = (time.count() % 1000) * 1000;
  return out;
}

}  // namespace

Error reply_error(int code, std::string_view text, const std::string& doing) {
  const std::string what = doing + ": " + std::to_string(code) + " " + std::string(text);
  switch (code) {
    case 403:
      return Error(ErrorKind::rejected, what,
                   "check the user name, the password and the user's permissions");
    case 404:
      return Error(ErrorKind::transient, what,
                   "declare it on the broker, or let autoDeclare or autoDeclareProducer do it");
    case 405: return Error(ErrorKind::transient, what, "another connection holds it exclusively");
    case 406:
      return Error(ErrorKind::rejected, what,
                   "it exists with other settings: make the options equal or delete it");
    case 530:
      return Error(ErrorKind::rejected, what, "check virtualHost and the user's permissions in it");
    case 311:
    case 313:
    case 402:
    case 502:
    case 503:
    case 540: return Error(ErrorKind::rejected, what);
    case 506:
    case 541: return Error(ErrorKind::transient, what, "look into the broker's log");
    default: return Error(ErrorKind::not_connected, what);
  }
}

Result<std::unique_ptr<Connection>> Connection::open(const Broker& broker, const std::string& uri) {
  Error last;
  for (const Address& address : broker.addresses) {
    std::unique_ptr<Connection> made(new Connection(uri, amqp_new_connection()));
    Result<void> connected = made->connect(broker, address);
    if (connected) return made;
    last = std::move(connected.error());
    // Another host of the cluster would refuse the same user.
    if (last.kind == ErrorKind::rejected) break;
  }
  return last;
}

Connection::~Connection() { amqp_destroy_connection(state_); }

Result<void> Connection::connect(const Broker& broker, const Address& address) {
  const std::string place = address.host + ":" + std::to_string(address.port);
  const std::string doing = uri_ + ": connecting to " + place;
  amqp_socket_t* socket = nullptr;
  if (broker.tls) {
    socket = amqp_ssl_socket_new(state_);
    amqp_ssl_socket_set_verify_peer(socket, 1);
    amqp_ssl_socket_set_verify_hostname(socket, broker.verify_hostname ? 1 : 0);
    amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
    if (broker.ca_file.empty()) {
      SSL_CTX_set_default_verify_paths(static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket)));
    } else if (amqp_ssl_socket_set_cacert(socket, broker.ca_file.c_str()) != AMQP_STATUS_OK) {
      return Error(ErrorKind::rejected,
                   uri_ + ": cannot use the certificates in '" + broker.ca_file + "'",
                   "sslCaLocation names a readable PEM file");
    }
    if (!broker.key_file.empty() &&
        amqp_ssl_socket_set_key(socket, broker.certificate_file.c_str(), broker.key_file.c_str()) !=
            AMQP_STATUS_OK)
      return Error(ErrorKind::rejected, uri_ + ": cannot use the key in '" + broker.key_file + "'",
                   "sslKeyLocation and sslCertificateLocation name PEM files that fit each other");
  } else {
    socket = amqp_tcp_socket_new(state_);
  }
  const timeval limit = to_timeval(broker.connect_timeout);
  const int opened = amqp_socket_open_noblock(socket, address.host.c_str(), address.port, &limit);
  if (opened != AMQP_STATUS_OK) return library_error(opened, doing);
  // A write waits for a broker that does not read; not for ever.
  const int heartbeat_ms = broker.heartbeat_s * 2000;
  const unsigned int patience = static_cast<unsigned int>(std::max(heartbeat_ms, 10'000));
  ::setsockopt(this->socket(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
  amqp_set_handshake_timeout(state_, &limit);
  amqp_set_rpc_timeout(state_, &limit);

  Headers announced;
  Object capabilities;
  for (const char* name :
       {"connection.blocked", "consumer_cancel_notify", "basic.nack", "publisher_confirms",
        "authentication_failure_close", "exchange_exchange_bindings"})
    capabilities.append(name, Value(true));
  announced.append("connection_name", Value(broker.connection_name));
  announced.append("capabilities", Value(std::move(capabilities)));
  Table properties(announced);
  const amqp_rpc_reply_t login = amqp_login_with_properties(
      state_, broker.virtual_host.c_str(), AMQP_DEFAULT_MAX_CHANNELS, AMQP_DEFAULT_FRAME_SIZE,
      broker.heartbeat_s, properties.get(), AMQP_SASL_METHOD_PLAIN, broker.username.c_str(),
      broker.password.c_str());
  Result<void> logged_in = check(
      login, doing + " as '" + broker.username + "', virtual host '" + broker.virtual_host + "'");
  if (!logged_in) return logged_in;
  amqp_channel_open(state_, kChannel);
  return check(amqp_get_rpc_reply(state_), doing);
}

Result<void> Connection::check(const amqp_rpc_reply_t& reply, const std::string& doing) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  // After the end of the channel alone the connection can still be closed in order.
  lost_ = reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION ||
          reply.reply.id != AMQP_CHANNEL_CLOSE_METHOD;
  if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION)
    return library_error(reply.reply_type == AMQP_RESPONSE_NONE ? AMQP_STATUS_CONNECTION_CLOSED
                                                                : reply.library_error,
                         doing);
  if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* close = static_cast<amqp_connection_close_t*>(reply.reply.decoded);
    return reply_error(close->reply_code, view(close->reply_text), doing);
  }
  if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto* close = static_cast<amqp_channel_close_t*>(reply.reply.decoded);
    return reply_error(close->reply_code, view(close->reply_text), doing);
  }
  return Error(ErrorKind::not_connected, doing + ": the broker has sent an unexpected answer");
}

Result<void> Connection::declare_exchange(const std::string& name, const std::string& type,
                                          const Topology& topology, const Headers& arguments) {
  Table table(arguments);
  amqp_exchange_declare(state_, kChannel, bytes(name), bytes(type), 0,
                        topology.exchange_durable ? 1 : 0, topology.exchange_auto_delete ? 1 : 0, 0,
                        *table.get());
  return check(amqp_get_rpc_reply(state_), uri_ + ": declaring the exchange '" + name + "'");
}

Result<void> Connection::declare_queue(const std::string& name, const Topology& topology,
                                       const Headers& arguments) {
  Table table(arguments);
  amqp_queue_declare(state_, kChannel, bytes(name), 0, topology.durable ? 1 : 0,
                     topology.exclusive ? 1 : 0, topology.auto_delete ? 1 : 0, *table.get());
  return check(amqp_get_rpc_reply(state_), uri_ + ": declaring the queue '" + name + "'");
}

Result<void> Connection::bind(const std::string& queue, const std::string& exchange,
                              const std::string& key, const Headers& arguments) {
  Table table(arguments);
  amqp_queue_bind(state_, kChannel, bytes(queue), bytes(exchange), bytes(key), *table.get());
  return check(amqp_get_rpc_reply(state_),
               uri_ + ": binding the queue '" + queue + "' to '" + exchange + "'");
}

Result<void> Connection::declare_dead_letters(const Topology& topology) {
  if (topology.dead_letter_exchange.empty()) return {};
  Topology lasting;  // dead letters outlive what they came from
  Result<void> done = declare_exchange(topology.dead_letter_exchange,
                                       topology.dead_letter_exchange_type, lasting, Headers());
  if (!done || topology.dead_letter_queue.empty()) return done;
  done = declare_queue(topology.dead_letter_queue, lasting, Headers());
  if (!done) return done;
  // Dead messages keep their own keys unless told otherwise.
  std::vector<std::string> keys = {topology.dead_letter_routing_key};
  if (keys.front().empty()) keys = topology.routing_keys;
  if (keys.empty()) keys = topology.queues;
  for (const std::string& key : keys) {
    done = bind(topology.dead_letter_queue, topology.dead_letter_exchange, key, Headers());
    if (!done) return done;
  }
  return {};
}

Result<void> Connection::declare(const Topology& topology) {
  if (topology.declare_exchange) {
    Result<void> done = declare_exchange(topology.exchange, topology.exchange_type, topology,
                                         topology.exchange_arguments);
    if (!done) return done;
  }
  if (topology.declare_queues) {
    Result<void> done = declare_dead_letters(topology);
    if (!done) return done;
  }
  for (const std::string& queue : topology.queues) {
    if (topology.declare_queues) {
      Result<void> done = declare_queue(queue, topology, topology.queue_arguments);
      if (!done) return done;
    }
    if (!topology.bind) continue;
    std::vector<std::string> keys = topology.routing_keys;
    if (keys.empty()) keys.emplace_back();
    for (const std::string& key : keys) {
      Result<void> done = bind(queue, topology.exchange, key, topology.binding_arguments);
      if (!done) return done;
    }
  }
  return {};
}

Result<void> Connection::declare_lasting_queue(const std::string& name) {
  const Topology lasting;
  return declare_queue(name, lasting, Headers());
}

Result<void> Connection::consume_replies(std::string_view queue) {
  amqp_basic_consume(state_, kChannel, bytes(queue), amqp_empty_bytes, 0, 1, 0, amqp_empty_table);
  return check(amqp_get_rpc_reply(state_), uri_ + ": listening for replies");
}

Result<void> Connection::select_confirms() {
  amqp_confirm_select(state_, kChannel);
  return check(amqp_get_rpc_reply(state_), uri_ + ": asking for confirms");
}

Result<void> Connection::consume(const Topology& topology, const ConsumerOptions& options) {
  amqp_basic_qos(state_, kChannel, 0, options.prefetch, 0);
  Result<void> done = check(amqp_get_rpc_reply(state_), uri_ + ": setting the prefetch");
  if (!done) return done;
  for (const std::string& queue : topology.queues) {
    amqp_basic_consume(state_, kChannel, bytes(queue), amqp_empty_bytes, options.no_local ? 1 : 0,
                       0, options.exclusive ? 1 : 0, amqp_empty_table);
    done = check(amqp_get_rpc_reply(state_), uri_ + ": consuming from '" + queue + "'");
    if (!done) return done;
  }
  return {};
}

void Connection::close() {
  if (lost_) return;
  const timeval limit = to_timeval(milliseconds(5000));
  amqp_set_rpc_timeout(state_, &limit);
  amqp_connection_close(state_, AMQP_REPLY_SUCCESS);
  lost_ = true;
}

void Connection::lose(int status) {
  if (lost_) return;
  lost_ = true;
  error_ = library_error(status, uri_ + ": the connection is lost");
  error_.kind = ErrorKind::not_connected;
}

Connection::Read Connection::read(amqp_frame_t& frame) {
  if (lost_) return Read::lost;
  const timeval now{};
  const int status = amqp_simple_wait_frame_noblock(state_, &frame, &now);
  if (status == AMQP_STATUS_TIMEOUT) return Read::nothing;
  if (status != AMQP_STATUS_OK) {
    lose(status);
    return Read::lost;
  }
  if (frame.frame_type != AMQP_FRAME_METHOD) return Read::frame;
  switch (frame.payload.method.id) {
    case AMQP_CONNECTION_BLOCKED_METHOD: {
      const auto* blocked = static_cast<amqp_connection_blocked_t*>(frame.payload.method.decoded);
      block_reason_ = view(blocked->reason);
      if (block_reason_.empty()) block_reason_ = "no reason given";
      break;
    }
    case AMQP_CONNECTION_UNBLOCKED_METHOD: block_reason_.clear(); break;
    case AMQP_CONNECTION_CLOSE_METHOD: {
      const auto* close = static_cast<amqp_connection_close_t*>(frame.payload.method.decoded);
      error_ = reply_error(close->reply_code, view(close->reply_text),
                           uri_ + ": the broker has closed the connection");
      amqp_connection_close_ok_t ok{};
      amqp_send_method(state_, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
      lost_ = true;
      return Read::lost;
    }
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto* close = static_cast<amqp_channel_close_t*>(frame.payload.method.decoded);
      error_ = reply_error(close->reply_code, view(close->reply_text),
                           uri_ + ": the broker has closed the channel");
      amqp_channel_close_ok_t ok{};
      amqp_send_method(state_, frame.channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
      return Read::lost;
    }
    default: break;
  }
  return Read::frame;
}

void Connection::wait(int wake_fd, bool at_once) const {
  pollfd fds[2] = {{wake_fd, POLLIN, 0}, {socket(), POLLIN, 0}};
  const int heartbeat = amqp_get_heartbeat(state_);
  // The library sends heartbeats, and notices missing ones, when it is called.
  int limit = heartbeat > 0 ? std::min(heartbeat * 250, 10'000) : 10'000;
  if (at_once || amqp_frames_enqueued(state_) || amqp_data_in_buffer(state_)) limit = 0;
  ::poll(fds, 2, limit);
}

}  // namespace drom::rabbitmq
