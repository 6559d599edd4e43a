#include "connectors/http/session.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "connectors/http/admission.hpp"
#include "connectors/http/answer_frame.hpp"
#include "connectors/http/cors.hpp"
#include "connectors/http/session_parts.hpp"

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
    if (state_ == State::handshake || (state_ == State::head && input_.empty())) return close();
    if (state_ == State::head || state_ == State::body) read_within(milliseconds::max());
  }

  void reply(Reply reply) override {
    if (state_ != State::working) return;
    server_->request_ended();
    const bool keep = may_keep();
    respond(reply.status, reply.lines, std::move(reply.body), keep, std::move(reply.stream));
    advance();
  }

  async<Result<std::string>> next(uint64_t request) override {
    const Error gone(ErrorKind::transient, "the client is gone, or the request is answered");
    while (true) {
      if (request != request_ || state_ == State::closed || pulling_) co_return gone;
      input_.took(reader_.consume(input_.unread()));
      const ReadState read = reader_.state();
      if (read == ReadState::refused)
        co_return Error(ErrorKind::data, std::string(reader_.refusal().reason));
      if (!reader_.request().body.empty()) co_return reader_.take_body();
      if (read == ReadState::complete) co_return std::string();
      pulling_ = true;
      pull_deadline_.in(pull_left_);
      ErrorCode ec;
      const asio::mutable_buffer room = input_.room();
      const size_t n =
          co_await stream_.async_read_some(room, asio::redirect_error(asio::use_awaitable, ec));
      pulling_ = false;
      pull_left_ = pull_deadline_.pause();
      if (ec) {
        close();
        co_return gone;
      }
      input_.read(n);
      if (earned(n, server_->settings().body_timeout))
        pull_left_ = server_->settings().body_timeout;
    }
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
  enum class Then : uint8_t { next_request, body, stream, close };

  SessionOf(std::shared_ptr<HttpServer> server, Stream stream, int)
      : server_(std::move(server)),
        stream_(std::move(stream)),
        reader_(server_->settings().head_bytes_max),
        input_(server_->settings().head_bytes_max + 4),
        held_(*server_),
        deadline_(server_->sweep(), [this] { expired(); }),
        pull_deadline_(server_->sweep(), [this] { close(); }) {
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

  // Works off what has been read, until it needs more input, a reply, or an end.
  void advance() {
    if (advancing_) return;  // a sink that replies at once is called from the loop below
    advancing_ = true;
    while (state_ == State::head || state_ == State::body) {
      const size_t used = reader_.consume(input_.unread());
      input_.took(used);
      const ReadState read = reader_.state();
      const bool in_body = state_ == State::body && read == ReadState::body;
      const bool wants_more = read == ReadState::head || (in_body && used == 0);
      if (state_ == State::body && !body_fits()) {
        refuse(503, "too many large requests at once", "Retry-After: 1\r\n");
      } else if (read == ReadState::refused) {
        refuse(reader_.refusal().status, reader_.refusal().reason);
      } else if (wants_more && state_ == State::body && route_->streams) {
        hand_over_stream();
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

  bool body_fits() { return held_.hold(reader_.request().body.size()); }

  void hand_over() {
    if (std::optional<Verdict> refused = unpack_body(reader_.request(), route_->body_bytes_max))
      return say(*refused);
    if (!body_fits()) return refuse(503, "too many large requests at once", "Retry-After: 1\r\n");
    start_work();
  }

  // The route reads the rest of the body itself.
  void hand_over_stream() {
    Request& request = reader_.request();
    request.stream =
        std::make_shared<RequestStream>(this->shared_from_this(), request_, reader_.length());
    if (std::optional<Verdict> refused = unpack_stream(request, route_->body_bytes_max))
      return say(*refused);
    held_.release();
    pull_left_ = server_->settings().body_timeout;
    start_work();
  }

  void start_work() {
    if (!route_->sink || !server_->request_begins())
      return refuse(503, route_->sink ? "too many requests at once" : "the route is stopping",
                    "Retry-After: 1\r\n");
    state_ = State::working;
    deadline_.off();
    route_->sink->accept(this->shared_from_this(), reader_.request(), parameters_);
  }

  void read_more() {
    if (state_ == State::head && !started_ && !input_.empty()) {
      started_ = true;  // once per request: single bytes do not buy time
      read_within(server_->settings().head_timeout);
    }
    read();
  }

  void read() {
    reading_ = true;
    stream_.async_read_some(
        input_.room(),
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
    input_.read(n);
    if (state_ == State::body && earned(n, server_->settings().body_timeout))
      read_within(server_->settings().body_timeout);
    advance();
  }

  // Everything that can be said before a body is read is said here.
  void head_complete() {
    Request& request = reader_.request();
    Admission admission = admit(request, server_->router());
    route_ = std::move(admission.route);
    parameters_ = std::move(admission.parameters);
    if (route_ && route_->cors.enabled) origin_ = request.headers.text("Origin");
    if (admission.verdict) return say(*admission.verdict);
    if (request.has_body) {
      if (!reader_.body_max(route_->body_bytes_max)) return refuse(413, "the body is too large");
      read_within(server_->settings().body_timeout);
    }
    moved_ = 0;
    state_ = State::body;
    if (request.expects_continue && request.has_body && input_.empty()) {
      out_ = "HTTP/1.1 100 Continue\r\n\r\n";
      write(Then::body);
    }
  }

  // Without its body the next request cannot be found.
  bool may_keep() {
    return reader_.state() == ReadState::complete && reader_.request().keep_alive &&
           !server_->draining();
  }

  void say(const Verdict& verdict) {
    if (verdict.reason.empty()) return respond(verdict.status, verdict.lines, Value(), may_keep());
    refuse(verdict.status, verdict.reason, verdict.lines);
  }

  void refuse(int status, std::string_view reason, std::string_view lines = {}) {
    std::string all = "Content-Type: application/json\r\n";
    all += lines;
    std::string body = R"({"error":{"kind":"request","message":")";
    body.append(reason).append(R"("}})");
    respond(status, all, Value(std::move(body)), may_keep());
  }

  void respond(int status, std::string_view lines, Value body, bool keep,
               std::shared_ptr<BodyStream> stream = nullptr) {
    held_.release();
    const Request& request = reader_.request();
    AnswerFrame frame;
    frame.status = status;
    frame.size = stream ? stream->size() : body.raw().size();
    frame.head_only = request.method == Method::head;
    frame.old = request.old;
    frame.keep = keep;
    settle_framing(frame);
    out_.clear();
    append_status(out_, status);
    out_ += server_->date();
    if (route_ && route_->cors.enabled) append_cors(out_, route_->cors, origin_);
    out_ += lines;
    append_framing(out_, frame);
    if (stream && !frame.head_only) {
      pumped_ = std::make_unique<Pumped>(Pumped{std::move(stream), frame});
      return write(Then::stream);
    }
    if (!frame.head_only) {
      if (body.raw().size() <= kInlineBytesMax)
        out_ += body.raw();
      else
        large_ = std::move(body);  // long text does not move when its owner does
    }
    write(frame.keep ? Then::next_request : Then::close);
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
    if (then_ == Then::stream) {
      asio::co_spawn(stream_.get_executor(), pump(this->shared_from_this(), std::move(pumped_)),
                     asio::detached);
      return;
    }
    if (then_ == Then::body) {
      state_ = State::body;
      moved_ = 0;
      return read_within(server_->settings().body_timeout);
    }
    if (server_->draining()) return close();
    state_ = State::head;
    started_ = false;
    ++request_;
    route_.reset();
    origin_.clear();
    reader_.reset();
    deadline_.in(server_->settings().idle_timeout);
  }

  // What breaks off ends the connection, so that nobody takes it for the whole.
  static async<> pump(std::shared_ptr<SessionOf> self, std::unique_ptr<Pumped> body) {
    self->server_->write_started();
    const bool whole = co_await self->send_stream(*body);
    self->server_->write_ended();
    if (self->state_ == State::closed) co_return;
    if (!whole) co_return self->close();
    self->then_ = body->frame.keep ? Then::next_request : Then::close;
    self->written();
    self->advance();
  }

  async<bool> send_stream(Pumped& body) {
    while (true) {
      deadline_.off();
      Result<std::string> piece = co_await body.stream->next();
      if (state_ == State::closed) co_return false;
      if (std::optional<std::string> broken = body.broken(piece)) {
        server_->log().warn("http", "an answer was cut off: " + *broken);
        co_return false;
      }
      const BodyPiece framed = body.piece(*piece);
      deadline_.in(server_->settings().write_timeout);
      ErrorCode ec;
      co_await asio::async_write(stream_, framed.buffers(),
                                 asio::redirect_error(asio::use_awaitable, ec));
      if (ec || state_ == State::closed) co_return false;
      if (body.complete(*piece)) co_return true;
    }
  }

  // Ends the connection after an answer.
  void finish() {
    if (peer_ended_) return close();
    deadline_.in(kLinger);
    if constexpr (kTls) {
      if (reading_ || pulling_) return close();  // a read and a shutdown may not meet in OpenSSL
      state_ = State::lingering;
      stream_.async_shutdown(
          [self = this->shared_from_this()](const ErrorCode&) { self->close(); });
    } else {
      if (reader_.state() == ReadState::complete && input_.empty()) return close();
      state_ = State::lingering;
      input_.clear();
      ErrorCode ignored;
      socket().shutdown(tcp::socket::shutdown_send, ignored);
      if (pulling_) return close();
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
    held_.release();
    state_ = State::closed;
    deadline_.off();
    pull_deadline_.off();
    server_->closed();
    ErrorCode ignored;  // there is nothing left to save
    socket().close(ignored);
  }

  std::shared_ptr<HttpServer> server_;
  TlsContext tls_;
  Stream stream_;
  RequestReader reader_;
  InputBuffer input_;
  HeldBody held_;
  Deadline deadline_;
  Deadline pull_deadline_;
  State state_ = State::handshake;
  Then then_ = Then::next_request;
  bool advancing_ = false;
  bool reading_ = false;
  bool started_ = false;  // a byte of the head has arrived
  bool peer_ended_ = false;
  bool pulling_ = false;      // a read for next() is under way
  uint64_t request_ = 0;      // counts the requests of the connection
  milliseconds pull_left_{};  // of the time for the next bytes of a streamed body
  std::unique_ptr<Pumped> pumped_;
  std::shared_ptr<Route> route_;
  Router::Parameters parameters_;
  std::string origin_;
  std::string out_;  // reused from answer to answer
  Value large_;      // a body too large for out_
  size_t sent_ = 0;
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
