// One connection to a server, plain or TLS: connects, sends a request, reads its answer. Each step
// has a deadline, which closes the connection. Used by one coroutine at a time. Shard thread only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/http/body_sink.hpp"
#include "connectors/http/deadline.hpp"
#include "connectors/http/message_reader.hpp"
#include "connectors/http/proxy.hpp"
#include "connectors/http/tls.hpp"
#include "drom/base/error.hpp"
#include "drom/base/value.hpp"
#include "drom/rt/async.hpp"
#include "drom/rt/body_stream.hpp"
#include "drom/rt/clock.hpp"

namespace drom::http {

struct Target {
  bool tls = false;
  std::string host;  // without the brackets of IPv6
  uint16_t port = 80;
  bool public_only = false;       // connect to no address of a private network
  std::string authority() const;  // "host:port", the port only when it is not the default
  std::string place() const;      // "host:port", always
  friend bool operator==(const Target&, const Target&) = default;
};

// How a target is reached.
struct Way {
  Target target;
  TlsContext tls;                      // null: plain
  std::shared_ptr<const Proxy> proxy;  // null: straight
};

// A request as it goes over the wire: `head` ends with the empty line.
struct WireRequest {
  std::string head;
  Value body;                    // null, text or bytes
  BodyStream* source = nullptr;  // in place of `body`
  BodySink* sink = nullptr;      // for the body of the answer
  // Answers whose body is left on the connection unless it has come with the head: see rest().
  std::function<bool(int status)> streams;
  bool chunked = false;     // the body goes in chunks, as the head says
  bool head_only = false;   // HEAD: the answer has no body
  bool idempotent = false;  // may be sent again when nobody knows whether it arrived
};

class Connection {
 public:
  Connection(boost::asio::io_context& io, Sweep& sweep);

  // Errors: not_connected, and rejected when trying again cannot help (a certificate, a proxy that
  // refuses). `way` stays alive as long as the connection.
  async<Result<void>> connect(const Way& way, Clock& clock, milliseconds timeout);
  // Errors: timeout, transient (ended on the way), rejected (not to be understood, too large).
  // `request` stays alive until the end.
  async<Result<Response>> exchange(const WireRequest& request, milliseconds timeout,
                                   uint64_t body_bytes_max);
  // The answer of the last exchange() has more of a body than came with it.
  bool unfinished() const { return rest_.has_value(); }
  std::optional<uint64_t> rest_size() const { return rest_->reader.length(); }
  // The next bytes of it; none at the end, when it is no more unfinished. Errors as of exchange(),
  // and final. `timeout` is for waiting until as much has come as is worth another timeout.
  async<Result<std::string>> rest(milliseconds timeout);
  // After the last of it: whether the connection may be used again.
  bool keep_alive() const { return keep_alive_; }
  // The last exchange() failed before a single byte of an answer.
  bool unanswered() const { return unanswered_; }
  // An idle connection that the other side has ended, or on which it has said something unasked.
  bool stale();
  // Closes by itself when it has been idle for so long; `closed` may destroy it.
  void idle(milliseconds timeout, std::function<void()> closed);
  void close();

 private:
  struct Unsent;
  Unsent write_at_once(const WireRequest& request, boost::system::error_code& ec);
  async<boost::system::error_code> write(const WireRequest& request);
  async<boost::system::error_code> write_source(const WireRequest& request);
  async<boost::system::error_code> write_chunks(std::string_view head, std::string_view body);
  async<boost::system::error_code> write_piece(std::string_view head, std::string_view piece,
                                               bool chunked);
  async<Result<Response>> read(const WireRequest& request, uint64_t body_bytes_max);
  async<size_t> read_some(size_t end, boost::system::error_code& ec);
  Error refusal(const ResponseReader& reader, bool ended) const;
  size_t feed(ResponseReader& reader, size_t end);
  struct Passing;
  async<Result<void>> pass_on(ResponseReader& reader, Passing& passing);
  async<Result<void>> reach(const Target& target, Clock& clock, milliseconds timeout);
  async<Result<void>> tunnel(const Way& way);
  async<Result<void>> handshake(const Way& way);
  Error failure(const std::string& doing, const boost::system::error_code& ec) const;
  void expired();

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::socket socket_;
  std::string peer_;  // "host:port", for errors
  std::unique_ptr<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  std::function<void()> on_idle_;
  Deadline deadline_;
  milliseconds timeout_{};  // of the exchange
  bool expired_ = false;
  bool unanswered_ = false;
  std::optional<Error> source_error_;  // why the source of a body had no more
  std::vector<char> input_;
  struct Rest {
    ResponseReader reader;
    size_t end;                          // of what waits in input_
    std::optional<milliseconds> left{};  // of the timeout
    size_t moved = 0;                    // bytes since it began
  };
  std::optional<Rest> rest_;
  bool keep_alive_ = false;
};

}  // namespace drom::http
