#include "connectors/http/connection.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "connectors/http/public_address.hpp"

#include "rt/failpoint.hpp"

namespace drom::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr size_t kReadBytes = 16 * 1024;
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
  socket_.non_blocking(true, ec);
  if (ec) return true;
  socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
  return ec != asio::error::would_block;
}

async<Result<void>> Connection::connect(Target target, TlsContext tls, Clock& clock,
                                        milliseconds timeout) {
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
    co_return Error(ErrorKind::not_connected, "cannot connect to " + target.host + ":" +
                                                  std::to_string(target.port) + ": " + why);
  }
  socket_.set_option(tcp::no_delay(true), ec);
  Result<void> done;
  if (tls) {
    Result<void> shaken = co_await handshake(std::move(target), std::move(tls));
    done = std::move(shaken);
  }
  deadline_.off();
  co_return done;
}

async<Result<void>> Connection::handshake(Target target, TlsContext tls) {
  context_ = std::move(tls);
  tls_ = std::make_unique<asio::ssl::stream<tcp::socket&>>(socket_, *context_);
  ErrorCode ec;
  asio::ip::make_address(target.host, ec);
  // Server names are names: an address must not be sent as one (RFC 6066, 3).
  if (ec) SSL_set_tlsext_host_name(tls_->native_handle(), target.host.c_str());
  if (SSL_CTX_get_verify_mode(context_->native_handle()) != SSL_VERIFY_NONE)
    tls_->set_verify_callback(asio::ssl::host_name_verification(target.host), ec);
  co_await tls_->async_handshake(asio::ssl::stream_base::client,
                                 asio::redirect_error(asio::use_awaitable, ec));
  if (!ec) co_return Result<void>();
  const std::string why = expired_ ? "no answer in time" : ec.message();
  co_return Error(
      ErrorKind::not_connected,
      "no TLS connection to " + target.host + ":" + std::to_string(target.port) + ": " + why,
      expired_ ? ""
               : "the certificate must be valid, for this host name, and from a "
                 "known authority (option caFile)");
}

Error Connection::failure(const std::string& doing, const ErrorCode& ec) const {
  if (expired_) return Error(ErrorKind::timeout, "no answer in time");
  return Error(ErrorKind::transient, "the connection broke while " + doing + ": " + ec.message());
}

async<Result<Response>> Connection::exchange(const WireRequest& request, milliseconds timeout,
                                             uint64_t body_bytes_max) {
  expired_ = false;
  unanswered_ = true;
  deadline_.in(timeout);
  const ErrorCode written = co_await write(request);
  if (failpoint("publish.sent_no_ack")) {
    close();
    co_return Error(ErrorKind::timeout, "no answer in time");
  }
  // Also after a failure: a server that refuses a body answers and closes without reading it.
  Result<Response> response = co_await read(request.head_only, body_bytes_max);
  deadline_.off();
  if (!response && written && unanswered_) co_return failure("sending", written);
  if (response && written) response->keep_alive = false;
  co_return response;
}

async<ErrorCode> Connection::write(const WireRequest& request) {
  const std::string_view body = request.body.raw();
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(request.head),
                                                  asio::buffer(body.data(), body.size())};
  ErrorCode ec;
  if (tls_)
    co_await asio::async_write(*tls_, buffers, asio::redirect_error(asio::use_awaitable, ec));
  else
    co_await asio::async_write(socket_, buffers, asio::redirect_error(asio::use_awaitable, ec));
  co_return ec;
}

async<Result<Response>> Connection::read(bool head_only, uint64_t body_bytes_max) {
  ResponseReader reader(kHeadBytesMax, body_bytes_max, head_only);
  size_t end = 0;
  if (input_.size() < kReadBytes) input_.resize(kReadBytes);
  while (true) {
    if (end == input_.size()) input_.resize(input_.size() * 2);  // a long head, which has its limit
    const asio::mutable_buffer room = asio::buffer(input_.data() + end, input_.size() - end);
    ErrorCode ec;
    size_t got = 0;
    if (tls_)
      got = co_await tls_->async_read_some(room, asio::redirect_error(asio::use_awaitable, ec));
    else
      got = co_await socket_.async_read_some(room, asio::redirect_error(asio::use_awaitable, ec));
    if (got > 0) unanswered_ = false;
    end += got;
    size_t begin = 0;
    while (begin < end) {
      const size_t used = reader.consume(std::string_view(input_.data() + begin, end - begin));
      begin += used;
      if (reader.state() == ReadState::complete && reader.response().status < 200) {
        // 100 and 103 come before the answer; nobody has asked to switch protocols (101).
        if (reader.response().status == 101)
          co_return Error(ErrorKind::rejected, "the server wants to switch protocols");
        reader = ResponseReader(kHeadBytesMax, body_bytes_max, head_only);
        continue;
      }
      if (used == 0 || reader.state() == ReadState::complete) break;
    }
    std::copy(input_.begin() + static_cast<std::ptrdiff_t>(begin),
              input_.begin() + static_cast<std::ptrdiff_t>(end), input_.begin());
    end -= begin;
    const bool ended = ec == asio::error::eof;
    if (ended && reader.state() != ReadState::refused) reader.end();
    if (reader.state() == ReadState::complete) {
      Response response = std::move(reader.response());
      // Bytes that nobody asked for belong to no answer.
      if (end > 0 || ended) response.keep_alive = false;
      co_return response;
    }
    if (reader.state() == ReadState::refused) {
      if (ended || ec) co_return Error(ErrorKind::transient, std::string(reader.refusal().reason));
      co_return Error(ErrorKind::rejected,
                      "the answer cannot be taken: " + std::string(reader.refusal().reason));
    }
    if (ec) co_return failure("waiting for the answer", ec);
  }
}

}  // namespace drom::http
