// The HTTP client of an engine: pools of connections per host, shared by all producers. Reuses what
// is alive, and sends a request a second time only when the first cannot have had an effect. Shard
// thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/http/connection.hpp"

namespace drom {
class BuildContext;
}

namespace drom::http {

struct ClientOptions {
  Target target;
  std::string ca_file;
  bool trust_all = false;
  size_t connections_max = 20;                              // to this host
  milliseconds connect_timeout = std::chrono::seconds(10);  // also for a free connection
  milliseconds response_timeout = std::chrono::seconds(30);
  milliseconds idle_timeout = std::chrono::seconds(60);
  uint64_t body_bytes_max = 10 * 1024 * 1024;
};

class HttpClient : public std::enable_shared_from_this<HttpClient> {
 public:
  // The client of this engine; made, and its stop registered, on first use.
  static HttpClient& of(BuildContext& context);

  HttpClient(boost::asio::io_context& io, Clock& clock);
  ~HttpClient();

  // Reads the certificates: errors of kind config, at load time.
  Result<void> prepare(const ClientOptions& options);
  // Both arguments stay alive until the end. Errors: not_connected, timeout, transient, rejected.
  async<Result<Response>> send(const ClientOptions& options, const WireRequest& request);
  // Closes idle connections and keeps none any more.
  async<> stop();

 private:
  struct Host;
  struct Lease;

  Result<std::shared_ptr<Host>> host(const ClientOptions& options);
  async<Result<void>> wait_for_room(std::shared_ptr<Host> host, const ClientOptions& options);
  async<Result<std::unique_ptr<Connection>>> connect(std::shared_ptr<Host> host,
                                                     const ClientOptions& options);

  boost::asio::io_context& io_;
  Clock& clock_;
  Sweep sweep_;
  std::map<std::string, std::shared_ptr<Host>> hosts_;
  bool stopped_ = false;
};

}  // namespace drom::http
