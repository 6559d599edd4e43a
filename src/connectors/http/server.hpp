// The one HTTP server of an engine, shared by all platform-http consumers. It listens when all
// routes are there, answers what no route has to see (404, 405, 413, 415, OPTIONS ...), and hands
// complete requests to the sink of their route. Shard thread only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/http/cors.hpp"
#include "connectors/http/deadline.hpp"
#include "connectors/http/message_reader.hpp"
#include "connectors/http/router.hpp"
#include "connectors/http/server_tls.hpp"
#include "drom/config/config.hpp"
#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"

namespace drom {
class BuildContext;
}

namespace drom::http {

// From application.properties; the names are in server_settings.cpp and in the guide.
struct ServerSettings {
  std::string name = "http";             // in the log
  std::string properties = "drom.http";  // their prefix, for hints
  std::string host = "0.0.0.0";
  uint16_t port = 8080;  // 0: any free one
  ServerTlsFiles tls;    // with certificate and key: TLS
  size_t connections_max = 1000;
  size_t requests_max = 10'000;  // that routes work on at once
  size_t head_bytes_max = 16 * 1024;
  size_t body_memory_max = 256 * 1024 * 1024;  // of all requests without an answer
  milliseconds head_timeout = std::chrono::seconds(10);
  milliseconds body_timeout = std::chrono::seconds(30);
  milliseconds idle_timeout = std::chrono::seconds(60);
  milliseconds write_timeout = std::chrono::seconds(30);
  milliseconds drain_timeout = std::chrono::seconds(10);
  uint64_t rate_min = 4096;  // bytes per second of a body or an answer longer than its timeout
};
Result<ServerSettings> read_server_settings(const PropertySource& properties);
// Of the server for operators; null: there shall be none. On loopback unless told otherwise.
Result<std::optional<ServerSettings>> read_management_settings(const PropertySource& properties);

// The answer to a request. Views need to live only during the call of reply().
struct Reply {
  int status = 200;
  std::string_view lines;              // further headers, each ended by CR LF
  Value body;                          // null, text or bytes
  std::shared_ptr<BodyStream> stream;  // in place of `body`
};

// Where the answer of one request goes. The client may be gone, which is nobody's failure.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void reply(Reply reply) = 0;
};

// Where the requests of one route go.
class RequestSink {
 public:
  virtual ~RequestSink() = default;
  // May take headers and body out of `request`; its views are good only during the call. Exactly
  // one reply must follow, at once or later.
  virtual void accept(std::shared_ptr<Responder> responder, Request& request,
                      Router::Parameters& parameters) = 0;
};

struct Route {
  RequestSink* sink = nullptr;  // null once the consumer is closed
  std::string path;
  bool prefix = false;
  MethodSet methods;
  std::string consumes;  // media types; empty: all
  std::string produces;
  uint64_t body_bytes_max = 1024 * 1024;
  bool streams = false;  // a body that has not come with its head is handed over as a stream
  CorsRules cors;
};

class Session;

class HttpServer : public std::enable_shared_from_this<HttpServer> {
 public:
  // The server of this engine; made, and its start and stop registered, on first use.
  static Result<HttpServer*> of(BuildContext& context);

  HttpServer(boost::asio::io_context& io, Clock& clock, Log& log, ServerSettings settings);
  ~HttpServer();

  Result<void> add(const std::shared_ptr<Route>& route);
  void remove(const Route* route);

  // Listens. Errors are ErrorKind::config.
  async<Result<void>> start();
  // Accepts no more, closes idle connections, closes the others after their answer. Idempotent.
  async<> stop();
  // Waits until answers under way are written, or their clients are given up; after stop() also
  // until closed connections are gone.
  async<> flush();

  uint16_t port() const { return port_; }  // 0 until started
  bool tls() const { return tls_ != nullptr; }
  size_t connections() const { return sessions_.size(); }

  // For sessions.
  const ServerSettings& settings() const { return settings_; }
  const Router& router() const { return router_; }
  Sweep& sweep() { return sweep_; }
  Log& log() { return log_; }
  bool draining() const { return draining_; }
  const std::string& date();
  void joined(Session& session);
  void left(Session& session);
  void closed() { --open_; }
  // False: too many at once.
  bool request_begins() {
    if (requests_ >= settings_.requests_max) return false;
    ++requests_;
    return true;
  }
  void request_ended() { --requests_; }
  size_t requests() const { return requests_; }
  void hold_body(size_t bytes) { held_bodies_ += bytes; }
  void release_body(size_t bytes) { held_bodies_ -= bytes; }
  size_t held_bodies() const { return held_bodies_; }
  void write_started() { ++writing_; }
  void write_ended() { --writing_; }

 private:
  static async<> accept_loop(std::shared_ptr<HttpServer> self);
  void say_listening();

  boost::asio::io_context& io_;
  Clock& clock_;
  Log& log_;
  ServerSettings settings_;
  Router router_;
  TlsContext tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  Sweep sweep_;
  std::unique_ptr<Alarm> room_;  // a connection has ended
  std::vector<Session*> sessions_;
  size_t open_ = 0;  // of them not yet closed
  size_t writing_ = 0;
  size_t requests_ = 0;
  size_t held_bodies_ = 0;
  uint16_t port_ = 0;
  bool draining_ = false;
  std::string date_;
  WallTime date_until_{};
};

}  // namespace drom::http
