// One connection of a client: reads requests one after another, finds their route, writes their
// answers in order. Kept alive by its pending operation or by the request that a route works on.
// Shard thread only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "connectors/http/request_stream.hpp"
#include "connectors/http/server.hpp"

namespace drom::http {

class Session : public Responder, public RequestSource {
 public:
  // The server is stopping: ends now when idle, else after the answer.
  virtual void drain() = 0;

 private:
  friend class HttpServer;
  size_t place_ = 0;  // in the server's list
};

// Starts a session on a fresh connection; with TLS the handshake comes first.
void start_session(std::shared_ptr<HttpServer> server, boost::asio::ip::tcp::socket socket,
                   const TlsContext& tls);

}  // namespace drom::http
