// The HTTP client of an engine: pools of connections per host, shared by all producers. Reuses what
// is alive, and sends a request a second time only when the first cannot have had an effect. Shard
// thread only.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "connectors/http/connection.hpp"
#include "connectors/http/pool.hpp"

namespace drom {
class BuildContext;
}

namespace drom::http {

struct ClientOptions {
  Target target;
  ClientTls tls;
  std::shared_ptr<const Proxy> proxy;  // null: none
  ConnectionPool::Limits connections;
  milliseconds lease_timeout = std::chrono::seconds(10);  // waiting for a free connection
  milliseconds connect_timeout = std::chrono::seconds(10);
  milliseconds response_timeout = std::chrono::seconds(30);
  milliseconds idle_timeout = std::chrono::seconds(60);
  uint64_t body_bytes_max = 10 * 1024 * 1024;
  std::string key;  // of the pool; from prepare(), empty: worked out for each request

  // Plain requests go to the proxy itself, with the whole URL as their target.
  bool asks_proxy() const { return proxy && !target.tls && proxy->serves(target.host); }
};

class HttpClient : public std::enable_shared_from_this<HttpClient> {
 public:
  // The client of this engine; made, and its stop registered, on first use.
  static HttpClient& of(BuildContext& context);

  HttpClient(boost::asio::io_context& io, Clock& clock);
  ~HttpClient();

  // Reads the certificates: errors of kind config, at load time. The target stays as it is from
  // here on.
  Result<void> prepare(ClientOptions& options);
  // Both references stay alive until the end. Everything together takes at most `budget`. Errors:
  // not_connected, timeout, transient, rejected. The answer may have a stream, if the request wants
  // those: the budget does not count while that is read.
  async<Result<Response>> send(const ClientOptions& options, const WireRequest& request,
                               milliseconds budget = milliseconds::max());
  // Waits. False: the engine is stopping, and there is no time for another attempt.
  async<bool> pause(milliseconds duration);
  // A connection that nobody uses any more.
  void keep(const std::shared_ptr<ConnectionPool::Host>& host,
            std::unique_ptr<Connection> connection, milliseconds idle_timeout);
  // Closes idle connections and keeps none any more.
  async<> stop();
  Clock& clock() { return clock_; }

 private:
  using Host = ConnectionPool::Host;

  Result<std::shared_ptr<Host>> host(const ClientOptions& options);
  async<Result<std::unique_ptr<Connection>>> connect(std::shared_ptr<Host> host,
                                                     milliseconds timeout);

  boost::asio::io_context& io_;
  Clock& clock_;
  Sweep sweep_;
  std::shared_ptr<ConnectionPool> pool_;
  std::set<Alarm*> pauses_;
  bool stopped_ = false;
};

}  // namespace drom::http
