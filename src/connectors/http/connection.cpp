#include "connectors/http/connection.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "connectors/http/answer_frame.hpp"
#include "connectors/http/public_address.hpp"
#include "rt/failpoint.hpp"

namespace drom::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kChunkBytes = 64 * 1024;
constexpr size_t kPieceBytes = 256 * 1024;   // to a sink
constexpr size_t kOddBodyMax = 1024 * 1024;  // of an answer that a sink does not take
constexpr size_t kWorthBytes = 64 * 1024;    // of the rest of a body: worth another timeout
constexpr size_t kHeadBytesMax = 64 * 1024;

using Endpoints = std::vector<tcp::endpoint>;

// The system's resolver cannot be interrupted: its answer may come when nobody waits any more.
struct Resolution {
  std::unique_ptr<Alarm> done;
  ErrorCode error;
  Endpoints endpoints;
};

async<Result<Endpoints>> resolve(asio::io_context& io, Clock& clock, Target target,
                                 milliseconds timeout) {
  ErrorCode ec;
  const asio::ip::address address = asio::ip::make_address(target.host, ec);
  Endpoints known;
  if (!ec) {
    known.emplace_back(address, target.port);
  } else if (target.host == "localhost") {
    known.emplace_back(asio::ip::address_v4::loopback(), target.port);
    known.emplace_back(asio::ip::address_v6::loopback(), target.port);
  }
  if (!known.empty()) co_return known;
  auto resolution = std::make_shared<Resolution>();
  resolution->done = clock.make_alarm();
  auto resolver = std::make_shared<tcp::resolver>(io);
  resolver->async_resolve(target.host, std::to_string(target.port),
                          [resolver, resolution](const ErrorCode& error, const auto& results) {
                            resolution->error = error;
                            for (const auto& result : results)
                              resolution->endpoints.push_back(result.endpoint());
                            resolution->done->ring();
                          });
  const bool answered = co_await resolution->done->wait(timeout);
  if (!answered)
    co_return Error(ErrorKind::not_connected,
                    "the name '" + target.host + "' was not resolved in time");
  if (resolution->error)
    co_return Error(ErrorKind::not_connected, "cannot resolve the name '" + target.host +
                                                  "': " + resolution->error.message());
  co_return resolution->endpoints;
}

// Each address is judged after the name was resolved, and only judged ones are connected to: a name
// that points elsewhere at the next look gains nothing.
Result<void> keep_public(Endpoints& endpoints, const Target& target) {
  std::erase_if(endpoints, [](const tcp::endpoint& e) { return !is_public_address(e.address()); });
  if (!endpoints.empty()) return {};
  return Error(ErrorKind::rejected, "'" + target.host + "' is no public address",
               "allowPrivateAddresses=true admits addresses of private networks");
}

}  // namespace

std::string Target::authority() const {
  std::string out = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

std::string Target::place() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return name + ":" + std::to_string(port);
}

Connection::Connection(asio::io_context& io, Sweep& sweep)
    : io_(io), socket_(io), deadline_(sweep, [this] { expired(); }) {}

void Connection::expired() {
  expired_ = true;
  close();
  if (!on_idle_) return;
  const std::function<void()> closed = std::move(on_idle_);
  closed();  // destroys this
}

void Connection::close() {
  ErrorCode ignored;  // there is nothing left to save
  socket_.close(ignored);
}

void Connection::idle(milliseconds timeout, std::function<void()> closed) {
  on_idle_ = std::move(closed);
  deadline_.in(timeout);
}

bool Connection::stale() {
  on_idle_ = nullptr;
  deadline_.off();
  char byte = 0;
  ErrorCode ec;
  socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
  return ec != asio::error::would_block;
}

async<Result<void>> Connection::connect(const Way& way, Clock& clock, milliseconds timeout) {
  peer_ = way.target.place();
  Result<void> done;
  if (way.proxy) {
    Target proxy;
    proxy.host = way.proxy->host;
    proxy.port = way.proxy->port;
    Result<void> reached = co_await reach(proxy, clock, timeout);
    done = std::move(reached);
    if (!done) done.error().what = way.proxy->name() + ": " + done.error().what;
  } else {
    Result<void> reached = co_await reach(way.target, clock, timeout);
    done = std::move(reached);
  }
  if (done && way.proxy && way.tls) {
    Result<void> through = co_await tunnel(way);
    done = std::move(through);
  }
  if (done && way.tls) {
    Result<void> shaken = co_await handshake(way);
    done = std::move(shaken);
  }
  deadline_.off();
  co_return done;
}

async<Result<void>> Connection::reach(const Target& target, Clock& clock, milliseconds timeout) {
  Result<Endpoints> endpoints = co_await resolve(io_, clock, target, timeout);
  if (!endpoints) co_return std::move(endpoints.error());
  if (target.public_only) {
    Result<void> allowed = keep_public(*endpoints, target);
    if (!allowed) co_return allowed;
  }
  expired_ = false;
  deadline_.in(timeout);
  ErrorCode ec = asio::error::host_not_found;
  for (const tcp::endpoint& endpoint : *endpoints) {
    ErrorCode ignored;
    socket_.close(ignored);
    co_await socket_.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, ec));
    if (!ec || expired_) break;
  }
  if (ec || expired_) {
    const std::string why = expired_ ? "no answer in time" : ec.message();
    co_return Error(ErrorKind::not_connected, "cannot connect to " + target.place() + ": " + why);
  }
  socket_.set_option(tcp::no_delay(true), ec);
  socket_.non_blocking(true, ec);
  co_return Result<void>();
}

// CONNECT (RFC 9110, 9.3.6).
async<Result<void>> Connection::tunnel(const Way& way) {
  WireRequest request;
  request.head = "CONNECT " + peer_ + " HTTP/1.1\r\nHost: " + peer_ + "\r\n";
  if (!way.proxy->authorization.empty())
    request.head.append("Proxy-Authorization: ").append(way.proxy->authorization).append("\r\n");
  request.head += "\r\n";
  request.head_only = true;
  const ErrorCode written = co_await write(request);
  Result<Response> response = co_await read(request, 0);
  if (!response || written)
    co_return Error(ErrorKind::not_connected,
                    way.proxy->name() + " gives no tunnel to " + peer_ + ": " +
                        (response ? written.message() : response.error().what));
  const int status = response->status;
  if (status >= 200 && status <= 299) co_return Result<void>();
  Error error(
      status >= 500 ? ErrorKind::not_connected : ErrorKind::rejected,
      way.proxy->name() + " answered " + std::to_string(status) + " when asked for " + peer_);
  if (status == 407) error.hint = "check proxyAuthUsername and proxyAuthPassword";
  co_return error;
}

async<Result<void>> Connection::handshake(const Way& way) {
  tls_ = std::make_unique<asio::ssl::stream<tcp::socket&>>(socket_, *way.tls);
  expect_host(tls_->native_handle(), way.target.host);
  ErrorCode ec;
  co_await tls_->async_handshake(asio::ssl::stream_base::client,
                                 asio::redirect_error(asio::use_awaitable, ec));
  if (!ec) co_return Result<void>();
  if (expired_)
    co_return Error(ErrorKind::not_connected,
                    "no TLS connection to " + peer_ + ": no answer in time");
  co_return handshake_error(tls_->native_handle(), peer_, ec);
}

Error Connection::failure(const std::string& doing, const ErrorCode& ec) const {
  if (expired_) return Error(ErrorKind::timeout, "no answer in time");
  if (std::optional<Error> refused = refused_by_alert(peer_, ec)) return *refused;
  return Error(ErrorKind::transient, "the connection broke while " + doing + ": " + ec.message());
}

// What is left of a request to be written.
struct Connection::Unsent {
  bool whole = false;  // nothing has been tried
  std::string_view head;
  std::string_view body;
  size_t size() const { return head.size() + body.size(); }
};

// Most requests fit into the socket's buffer, and cost no completion then.
Connection::Unsent Connection::write_at_once(const WireRequest& request, ErrorCode& ec) {
  Unsent left{tls_ || request.source || request.chunked, request.head, request.body.raw()};
  if (left.whole) return left;
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(left.head.data(), left.head.size()),
                                                  asio::buffer(left.body.data(), left.body.size())};
  size_t sent = socket_.write_some(buffers, ec);
  if (ec == asio::error::would_block) ec = {};
  const size_t of_head = std::min(sent, left.head.size());
  left.head.remove_prefix(of_head);
  left.body.remove_prefix(sent - of_head);
  return left;
}

async<Result<Response>> Connection::exchange(const WireRequest& request, milliseconds timeout,
                                             uint64_t body_bytes_max) {
  expired_ = false;
  unanswered_ = true;
  source_error_.reset();
  deadline_.in(timeout);
  timeout_ = timeout;
  ErrorCode written;
  const Unsent unsent = write_at_once(request, written);
  if (!written && unsent.whole)
    written = co_await write(request);
  else if (!written && unsent.size() > 0)
    written = co_await write_piece(unsent.head, unsent.body, false);
  if (failpoint("publish.sent_no_ack")) {
    close();
    co_return Error(ErrorKind::timeout, "no answer in time");
  }
  if (source_error_) {
    close();  // half a request is none
    co_return std::move(*source_error_);
  }
  // Also after a failure: a server that refuses a body answers and closes without reading it.
  Result<Response> response = co_await read(request, body_bytes_max);
  deadline_.off();
  const bool refused = !response && response.error().kind == ErrorKind::rejected;  // it knows why
  if (!response && written && unanswered_ && !refused) co_return failure("sending", written);
  if (response && written) response->keep_alive = false;
  co_return response;
}

async<ErrorCode> Connection::write(const WireRequest& request) {
  if (request.source) {
    const ErrorCode sent = co_await write_source(request);
    co_return sent;
  }
  const std::string_view body = request.body.raw();
  if (request.chunked) {
    const ErrorCode chunks = co_await write_chunks(request.head, body);
    co_return chunks;
  }
  const ErrorCode sent = co_await write_piece(request.head, body, false);
  co_return sent;
}

// As many bytes as the head has promised, whatever happens to the source meanwhile.
async<ErrorCode> Connection::write_source(const WireRequest& request) {
  std::string_view head = request.head;
  const std::optional<uint64_t> size = request.source->size();
  uint64_t left = size.value_or(UINT64_MAX);
  if (!request.source->rewind()) {
    source_error_ = Error(ErrorKind::data, "the body is a stream that has been read already");
    co_return asio::error::operation_aborted;
  }
  ErrorCode ec;
  while (left > 0 && !ec) {
    Result<std::string> piece = co_await request.source->next();
    if (piece && piece->empty()) {
      if (!size) break;
      piece = Error(ErrorKind::data, "the body became shorter while it was being sent");
    }
    if (!piece) {
      source_error_ = std::move(piece.error());
      co_return asio::error::operation_aborted;
    }
    piece->resize(std::min<uint64_t>(piece->size(), left));
    left -= piece->size();
    if (piece->size() >= kWorthBytes) deadline_.in(timeout_);
    ec = co_await write_piece(head, *piece, request.chunked);
    head = {};
  }
  // The last chunk; or a head that has not gone yet, because there is no body.
  const std::string_view nothing;
  if (!ec && (request.chunked || !head.empty()))
    ec = co_await write_piece(head, nothing, request.chunked);
  co_return ec;
}

async<ErrorCode> Connection::write_chunks(std::string_view head, std::string_view body) {
  ErrorCode ec;
  while (!ec) {
    const std::string_view chunk = body.substr(0, kChunkBytes);
    body.remove_prefix(chunk.size());
    ec = co_await write_piece(head, chunk, true);
    head = {};
    if (chunk.empty()) break;  // the last chunk is the empty one
  }
  co_return ec;
}

// The head goes with the first piece of the body. Chunks: RFC 9112, 7.1.
async<ErrorCode> Connection::write_piece(std::string_view head, std::string_view piece,
                                         bool chunked) {
  const BodyPiece framed(piece, chunked);
  const auto body = framed.buffers();
  const std::array<asio::const_buffer, 4> buffers{asio::buffer(head.data(), head.size()), body[0],
                                                  body[1], body[2]};
  ErrorCode ec;
  if (tls_)
    co_await asio::async_write(*tls_, buffers, asio::redirect_error(asio::use_awaitable, ec));
  else
    co_await asio::async_write(socket_, buffers, asio::redirect_error(asio::use_awaitable, ec));
  co_return ec;
}

// Where the body of an answer goes.
struct Connection::Passing {
  BodySink* sink;
  bool begun = false;   // the head has been judged
  bool active = false;  // the sink takes this body
};

// Hands to the sink what has come of the body, in pieces that are worth it.
async<Result<void>> Connection::pass_on(ResponseReader& reader, Passing& passing) {
  const ReadState state = reader.state();
  const bool here = state == ReadState::body || state == ReadState::complete;
  if (!passing.sink || !here || reader.response().status < 200) co_return Result<void>();
  if (!passing.begun) {
    passing.begun = true;
    passing.active = passing.sink->begin(reader.response());
    if (!passing.active) reader.body_max(kOddBodyMax);
  }
  const bool enough = state == ReadState::complete || reader.body_waiting() >= kPieceBytes;
  if (!passing.active || !enough) co_return Result<void>();
  std::string piece = reader.take_body();
  if (piece.empty()) co_return Result<void>();
  if (piece.size() >= kWorthBytes) deadline_.in(timeout_);
  Result<void> taken = co_await passing.sink->take(std::move(piece));
  co_return taken;
}

async<Result<Response>> Connection::read(const WireRequest& request, uint64_t body_bytes_max) {
  ResponseReader reader(kHeadBytesMax, body_bytes_max, request.head_only);
  Passing passing{request.sink};
  size_t end = 0;
  if (input_.size() < kReadBytes) input_.resize(kReadBytes);
  while (true) {
    ErrorCode ec;
    const size_t got = co_await read_some(end, ec);
    if (got > 0) unanswered_ = false;
    end = feed(reader, end + got);
    const bool ended = ec == asio::error::eof;
    if (ended && reader.state() != ReadState::refused) reader.end();
    if (passing.sink) {
      Result<void> passed = co_await pass_on(reader, passing);
      if (!passed) {
        close();
        co_return std::move(passed.error());
      }
    }
    if (reader.state() == ReadState::complete) {
      Response response = std::move(reader.response());
      // Nobody has asked to switch protocols.
      if (response.status == 101)
        co_return Error(ErrorKind::rejected, "the server wants to switch protocols");
      // Bytes that nobody asked for belong to no answer.
      if (end > 0 || ended) response.keep_alive = false;
      co_return response;
    }
    if (reader.state() == ReadState::refused) co_return refusal(reader, ended || ec);
    if (ec) co_return failure("waiting for the answer", ec);
    const bool in_body = reader.state() == ReadState::body && reader.response().status >= 200;
    if (in_body && request.streams && request.streams(reader.response().status)) {
      Response response = std::move(reader.response());
      rest_.emplace(std::move(reader), end);
      co_return response;
    }
  }
}

async<Result<std::string>> Connection::rest(milliseconds timeout) {
  ResponseReader& reader = rest_->reader;
  while (true) {
    if (reader.body_waiting() > 0) co_return reader.take_body();
    if (reader.state() == ReadState::complete) {
      keep_alive_ = reader.response().keep_alive && rest_->end == 0;
      rest_.reset();
      co_return std::string();
    }
    if (!rest_->left || rest_->moved >= kWorthBytes) {
      rest_->left = timeout;
      rest_->moved = 0;
    }
    expired_ = false;
    deadline_.in(*rest_->left);
    ErrorCode ec;
    const size_t got = co_await read_some(rest_->end, ec);
    rest_->left = deadline_.pause();
    rest_->moved += got;
    rest_->end = feed(reader, rest_->end + got);
    const bool ended = ec == asio::error::eof;
    if (ended && reader.state() != ReadState::refused) reader.end();
    if (reader.state() == ReadState::refused) co_return refusal(reader, ended || ec);
    if (ec && reader.state() != ReadState::complete)
      co_return failure("waiting for the rest of the answer", ec);
  }
}

// Not a coroutine: it costs no frame of its own.
async<size_t> Connection::read_some(size_t end, ErrorCode& ec) {
  if (end == input_.size()) input_.resize(input_.size() * 2);  // a long head, which has its limit
  const asio::mutable_buffer room = asio::buffer(input_.data() + end, input_.size() - end);
  if (tls_) return tls_->async_read_some(room, asio::redirect_error(asio::use_awaitable, ec));
  return socket_.async_read_some(room, asio::redirect_error(asio::use_awaitable, ec));
}

Error Connection::refusal(const ResponseReader& reader, bool ended) const {
  const std::string reason(reader.refusal().reason);
  if (ended) return Error(ErrorKind::transient, reason);
  return Error(ErrorKind::rejected, "the answer cannot be taken: " + reason);
}

// Gives the reader the first `end` bytes of the input; what it leaves stays at the front. How much
// that is.
size_t Connection::feed(ResponseReader& reader, size_t end) {
  size_t begin = 0;
  while (begin < end) {
    const size_t used = reader.consume(std::string_view(input_.data() + begin, end - begin));
    begin += used;
    const bool complete = reader.state() == ReadState::complete;
    if (complete && reader.response().status < 200 && reader.response().status != 101) {
      reader.restart();  // 100 and 103 come before the answer
      continue;
    }
    if (used == 0 || complete) break;
  }
  std::copy(input_.begin() + static_cast<std::ptrdiff_t>(begin),
            input_.begin() + static_cast<std::ptrdiff_t>(end), input_.begin());
  return end - begin;
}

}  // namespace drom::http
