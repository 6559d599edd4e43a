#include "connectors/http/session.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "connectors/http/content_coding.hpp"
#include "connectors/http/cors.hpp"
#include "connectors/http/negotiation.hpp"
#include "drom/base/assert.hpp"

namespace drom::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// Up to here a body is copied behind its head, which makes one write out of two buffers.
constexpr size_t kInlineBytesMax = 16 * 1024;
// What is read and thrown away before a connection with unread input is closed: closing at once
// would reset it and could destroy the answer on its way.
constexpr size_t kLingerBytesMax = 64 * 1024 * 1024;
constexpr milliseconds kLinger = std::chrono::seconds(5);

void append_number(std::string& out, uint64_t number) {
  std::array<char, 20> digits;
  size_t at = digits.size();
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  out.append(digits.data() + at, digits.size() - at);
}

template <class Stream>
class SessionOf final : public Session, public std::enable_shared_from_this<SessionOf<Stream>> {
 public:
  static constexpr bool kTls = !std::is_same_v<Stream, tcp::socket>;

  SessionOf(std::shared_ptr<HttpServer> server, tcp::socket socket)
    requires(!kTls)
      : SessionOf(std::move(server), Stream(std::move(socket)), 0) {}
  SessionOf(std::shared_ptr<HttpServer> server, tcp::socket socket, const TlsContext& tls)
    requires kTls
      : SessionOf(std::move(server), Stream(std::move(socket), *tls), 0) {
    tls_ = tls;
  }
  ~SessionOf() override {
    if (state_ == State::working) server_->request_ended();  // its sink dropped it, no reply
    release_body();
    if (state_ != State::closed) server_->closed();
    server_->left(*this);
  }

  void start() {
    server_->joined(*this);
    deadline_.in(server_->settings().head_timeout);
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](const ErrorCode& ec) {
                                if (ec) return self->close();
                                self->state_ = State::head;
                                self->advance();
                              });
    } else {
      state_ = State::head;
      advance();
    }
  }

  void drain() override {
    if (state_ == State::handshake || (state_ == State::head && begin_ == end_)) return close();
    if (state_ == State::head || state_ == State::body) read_within(milliseconds::max());
  }

  void reply(Reply reply) override {
    if (state_ != State::working) return;
    server_->request_ended();
    const bool keep = reader_.request().keep_alive && !server_->draining();
    respond(reply.status, reply.lines, std::move(reply.body), keep);
    advance();
  }

 private:
  enum class State : uint8_t {
    handshake,
    head,  // reads a head, or is idle
    body,
    working,  // a route has the request
    writing,
    lingering,  // throws input away until the client has read the answer
    closed,
  };
  enum class Then : uint8_t { next_request, body, close };

  SessionOf(std::shared_ptr<HttpServer> server, Stream stream, int)
      : server_(std::move(server)),
        stream_(std::move(stream)),
        reader_(server_->settings().head_bytes_max),
        capacity_(server_->settings().head_bytes_max + 4),
        input_(std::make_unique<char[]>(capacity_)),
        deadline_(server_->sweep(), [this] { expired(); }) {
    ErrorCode ignored;  // a connection that is gone already shows it at the first read
    socket().set_option(tcp::no_delay(true), ignored);
    socket().non_blocking(true, ignored);
  }

  tcp::socket& socket() {
    if constexpr (kTls)
      return stream_.next_layer();
    else
      return stream_;
  }

  // A server that stops waits no longer than its drain time for the rest of a request.
  void read_within(milliseconds limit) {
    if (server_->draining()) limit = std::min(limit, server_->settings().drain_timeout);
    deadline_.in(limit);
  }

  // Large bodies may take longer than one timeout as long as they keep coming. True when as much
  // has passed as the least rate lets through in one timeout: there may be another one.
  bool earned(size_t bytes, milliseconds timeout) {
    moved_ += bytes;
    const uint64_t rate = server_->settings().rate_min;
    if (rate == 0 || moved_ * 1000 < rate * static_cast<uint64_t>(timeout.count())) return false;
    moved_ = 0;
    return true;
  }

  std::string_view unread() const { return {input_.get() + begin_, end_ - begin_}; }

  // Works off what has been read, until it needs more input, a reply, or an end.
  void advance() {
    if (advancing_) return;  // a sink that replies at once is called from the loop below
    advancing_ = true;
    while (state_ == State::head || state_ == State::body) {
      const size_t used = reader_.consume(unread());
      begin_ += used;
      const ReadState read = reader_.state();
      const bool in_body = state_ == State::body && read == ReadState::body;
      const bool wants_more = read == ReadState::head || (in_body && used == 0);
      if (state_ == State::body && !body_fits()) {
        refuse(503, "too many large requests at once", "Retry-After: 1\r\n");
      } else if (read == ReadState::refused) {
        refuse(reader_.refusal().status, reader_.refusal().reason);
      } else if (wants_more) {
        read_more();
        break;
      } else if (state_ == State::head) {
        head_complete();
      } else if (read == ReadState::complete) {
        hand_over();
      }
    }
    advancing_ = false;
  }

  // Counts what has come of the body. False: bodies of requests without an answer fill the memory
  // that they may have together. One alone may be as large as its route allows.
  bool body_fits() {
    const size_t size = reader_.request().body.size();
    server_->release_body(held_);
    server_->hold_body(size);
    held_ = size;
    return server_->held_bodies() <= server_->settings().body_memory_max ||
           server_->held_bodies() == held_;
  }

  void release_body() {
    server_->release_body(held_);
    held_ = 0;
  }

  // The route sees the body without its content coding. False: refused.
  bool decode_body() {
    Request& request = reader_.request();
    const std::string codings(request.headers.text("Content-Encoding"));
    if (codings.empty() || request.body.empty() || iequals(codings, "identity")) return true;
    DecodeLimits limits;
    limits.bytes_max = route_->body_bytes_max;
    std::string plain;
    const Decoded outcome = decode_content(codings, request.body, limits, plain);
    if (outcome == Decoded::ok) {
      request.body = std::move(plain);
      request.headers.erase("Content-Encoding");
      return true;
    }
    if (outcome == Decoded::too_large) {
      refuse(413, "the decoded body is too large");
    } else if (outcome == Decoded::unknown) {
      refuse(415, "the content coding is not known",
             "Accept-Encoding: " + std::string(accepted_codings()) + "\r\n");
    } else {
      refuse(400, "the body is not what its Content-Encoding says");
    }
    return false;
  }

  void hand_over() {
    if (!decode_body()) return;
    if (!body_fits()) return refuse(503, "too many large requests at once", "Retry-After: 1\r\n");
    if (!route_->sink || !server_->request_begins())
      return refuse(503, route_->sink ? "too many requests at once" : "the route is stopping",
                    "Retry-After: 1\r\n");
    state_ = State::working;
    deadline_.off();
    route_->sink->accept(this->shared_from_this(), reader_.request(), parameters_);
  }

  void read_more() {
    if (state_ == State::head && !started_ && begin_ != end_) {
      started_ = true;  // once per request: single bytes do not buy time
      read_within(server_->settings().head_timeout);
    }
    if (begin_ == end_) {
      begin_ = end_ = 0;
    } else if (end_ == capacity_) {
      DROM_ASSERT(begin_ > 0);  // the reader refuses a head that long, and takes all of a body
      std::copy(input_.get() + begin_, input_.get() + end_, input_.get());
      end_ -= begin_;
      begin_ = 0;
    }
    read();
  }

  void read() {
    reading_ = true;
    stream_.async_read_some(
        asio::buffer(input_.get() + end_, capacity_ - end_),
        [self = this->shared_from_this()](const ErrorCode& ec, size_t n) { self->on_read(ec, n); });
  }

  void on_read(const ErrorCode& ec, size_t n) {
    reading_ = false;
    if (state_ == State::closed) return;
    if (state_ == State::lingering) {
      discarded_ += n;
      if (ec || discarded_ > kLingerBytesMax) return close();
      return read();
    }
    if (ec) {
      // An answer (408) may be under way: its end closes the connection.
      if (state_ == State::writing)
        peer_ended_ = true;
      else
        close();
      return;
    }
    end_ += n;
    if (state_ == State::body && earned(n, server_->settings().body_timeout))
      read_within(server_->settings().body_timeout);
    advance();
  }

  // Everything that can be said before a body is read is said here.
  void head_complete() {
    Request& request = reader_.request();
    if (request.method == Method::unknown) return refuse(501, "the method is not supported");
    if (request.target == "*") {
      const std::string allow = "Allow: " + MethodSet::all().text() + "\r\n";
      return respond(204, allow, Value(), may_keep());
    }
    Router::Match match = server_->router().find(request.path, request.method);
    route_ = std::move(match.route);
    parameters_ = std::move(match.parameters);
    if (match.answer == Router::Answer::bad_path)
      return refuse(400, "the path has a bad escape or a dot segment");
    if (match.answer == Router::Answer::not_found) return refuse(404, "no route has this path");
    if (route_->cors.enabled) origin_ = request.headers.text("Origin");
    if (request.method == Method::options && is_preflight(request))
      return respond(204, preflight_lines(route_->cors), Value(), may_keep());
    if (match.answer == Router::Answer::method_not_allowed) {
      match.allowed.add(Method::options);
      const std::string allow = "Allow: " + match.allowed.text() + "\r\n";
      if (request.method == Method::options) return respond(204, allow, Value(), may_keep());
      return refuse(405, "the method is not allowed here", allow);
    }
    if (!route_->sink) return refuse(503, "the route is stopping", "Retry-After: 1\r\n");
    if (!negotiate(request.headers.text("Accept"), route_->produces))
      return refuse(406, "the route cannot answer in an accepted media type");
    if (request.has_body) {
      if (!route_->consumes.empty() &&
          !media_type_matches(route_->consumes, request.headers.text("Content-Type")))
        return refuse(415, "the route does not take this media type");
      if (!reader_.body_max(route_->body_bytes_max)) return refuse(413, "the body is too large");
      read_within(server_->settings().body_timeout);
    }
    moved_ = 0;
    state_ = State::body;
    if (request.expects_continue && request.has_body && begin_ == end_) {
      out_ = "HTTP/1.1 100 Continue\r\n\r\n";
      write(Then::body);
    }
  }

  bool is_preflight(const Request& request) const {
    return route_->cors.enabled && !origin_.empty() &&
           request.headers.find("Access-Control-Request-Method");
  }

  // Without its body the next request cannot be found.
  bool may_keep() {
    return reader_.state() == ReadState::complete && reader_.request().keep_alive &&
           !server_->draining();
  }

  void refuse(int status, std::string_view reason, std::string_view lines = {}) {
    std::string all = "Content-Type: application/json\r\n";
    all += lines;
    std::string body = R"({"error":{"kind":"request","message":")";
    body.append(reason).append(R"("}})");
    respond(status, all, Value(std::move(body)), may_keep());
  }

  void respond(int status, std::string_view lines, Value body, bool keep) {
    release_body();
    const std::string_view bytes = body.raw();
    out_.clear();
    out_ += "HTTP/1.1 ";
    append_number(out_, static_cast<uint64_t>(status));
    out_.append(" ").append(reason_phrase(status)).append("\r\n");
    out_ += server_->date();
    if (!origin_.empty()) append_cors(out_, route_->cors, origin_);
    out_ += lines;
    const bool bodiless = status == 204 || status == 304;
    if (!bodiless) {
      out_ += "Content-Length: ";
      append_number(out_, bytes.size());
      out_ += "\r\n";
    }
    if (!keep)
      out_ += "Connection: close\r\n";
    else if (reader_.request().old)
      out_ += "Connection: keep-alive\r\n";
    out_ += "\r\n";
    if (!bodiless && reader_.request().method != Method::head) {
      if (bytes.size() <= kInlineBytesMax)
        out_ += bytes;
      else
        large_ = std::move(body);  // long text does not move when its owner does
    }
    write(keep ? Then::next_request : Then::close);
  }

  // Tries at once: most answers fit into the socket's buffer and cost no completion.
  void write(Then then) {
    state_ = State::writing;
    then_ = then;
    sent_ = 0;
    if constexpr (!kTls) {
      ErrorCode ec;
      sent_ = stream_.write_some(rest(), ec);
      if (ec && ec != asio::error::would_block) return close();
      if (sent_ == size()) return written();
    }
    server_->write_started();
    deadline_.in(server_->settings().write_timeout);
    moved_ = 0;
    write_more();
  }

  size_t size() const { return out_.size() + large_.raw().size(); }

  std::array<asio::const_buffer, 2> rest() const {
    const std::string_view large = large_.raw();
    if (sent_ >= out_.size()) {
      const std::string_view left = large.substr(sent_ - out_.size());
      return {asio::buffer(left.data(), left.size()), asio::const_buffer()};
    }
    return {asio::buffer(out_.data() + sent_, out_.size() - sent_),
            asio::buffer(large.data(), large.size())};
  }

  void write_more() {
    stream_.async_write_some(rest(),
                             [self = this->shared_from_this()](const ErrorCode& ec, size_t n) {
                               self->on_written(ec, n);
                             });
  }

  void on_written(const ErrorCode& ec, size_t n) {
    sent_ += n;
    if (!ec && state_ == State::writing && sent_ < size()) {
      const milliseconds timeout = server_->settings().write_timeout;
      if (earned(n, timeout)) deadline_.in(timeout);
      return write_more();
    }
    server_->write_ended();
    if (state_ == State::closed) return;
    if (ec) return close();
    written();
    advance();
  }

  void written() {
    large_ = Value();
    if (then_ == Then::close) return finish();
    if (then_ == Then::body) {
      state_ = State::body;
      moved_ = 0;
      return read_within(server_->settings().body_timeout);
    }
    if (server_->draining()) return close();
    state_ = State::head;
    started_ = false;
    route_.reset();
    origin_.clear();
    reader_.reset();
    deadline_.in(server_->settings().idle_timeout);
  }

  // Ends the connection after an answer.
  void finish() {
    if (peer_ended_) return close();
    deadline_.in(kLinger);
    if constexpr (kTls) {
      if (reading_) return close();  // a read and a shutdown may not meet in OpenSSL
      state_ = State::lingering;
      stream_.async_shutdown(
          [self = this->shared_from_this()](const ErrorCode&) { self->close(); });
    } else {
      if (reader_.state() == ReadState::complete && begin_ == end_) return close();
      state_ = State::lingering;
      begin_ = end_ = 0;
      ErrorCode ignored;
      socket().shutdown(tcp::socket::shutdown_send, ignored);
      if (!reading_) read();
    }
  }

  void expired() {
    const bool late = (state_ == State::head && started_) || state_ == State::body;
    if (!late) return close();
    respond(server_->draining() ? 503 : 408, "", Value(), false);
  }

  void close() {
    if (state_ == State::closed) return;
    if (state_ == State::working) server_->request_ended();
    release_body();
    state_ = State::closed;
    deadline_.off();
    server_->closed();
    ErrorCode ignored;  // there is nothing left to save
    socket().close(ignored);
  }

  std::shared_ptr<HttpServer> server_;
  TlsContext tls_;
  Stream stream_;
  RequestReader reader_;
  size_t capacity_;
  std::unique_ptr<char[]> input_;
  size_t begin_ = 0;  // input_[begin_, end_) is read and not yet understood
  size_t end_ = 0;
  Deadline deadline_;
  State state_ = State::handshake;
  Then then_ = Then::next_request;
  bool advancing_ = false;
  bool reading_ = false;
  bool started_ = false;  // a byte of the head has arrived
  bool peer_ended_ = false;
  std::shared_ptr<Route> route_;
  Router::Parameters parameters_;
  std::string origin_;
  std::string out_;  // reused from answer to answer
  Value large_;      // a body too large for out_
  size_t sent_ = 0;
  size_t held_ = 0;     // bytes of the body that the server counts
  uint64_t moved_ = 0;  // bytes since the deadline was set
  size_t discarded_ = 0;
};

}  // namespace

void start_session(std::shared_ptr<HttpServer> server, tcp::socket socket, const TlsContext& tls) {
  if (tls)
    std::make_shared<SessionOf<asio::ssl::stream<tcp::socket>>>(std::move(server),
                                                                std::move(socket), tls)
        ->start();
  else
    std::make_shared<SessionOf<tcp::socket>>(std::move(server), std::move(socket))->start();
}

}  // namespace drom::http
