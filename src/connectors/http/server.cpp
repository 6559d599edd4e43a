#include "connectors/http/server.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "connectors/http/session.hpp"
#include "drom/spi/build_context.hpp"

namespace drom::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr milliseconds kSweepPeriod(250);
constexpr milliseconds kAcceptPause(100);
constexpr milliseconds kFlushPause(2);

// std::function holds these, so they are free functions with parameters by value.
async<Result<void>> start_server(std::shared_ptr<HttpServer> server) {
  Result<void> started = co_await server->start();
  co_return started;
}
async<> stop_server(std::shared_ptr<HttpServer> server) { co_await server->stop(); }

}  // namespace

Result<HttpServer*> HttpServer::of(BuildContext& context) {
  Result<ServerSettings> settings = read_server_settings(context.properties());
  if (!settings) return std::move(settings.error());
  HttpServer& server = context.shared<HttpServer>([&] {
    auto made =
        std::make_shared<HttpServer>(context.io(), context.clock(), context.log(), *settings);
    context.on_start("http server", [made] { return start_server(made); });
    context.on_stop("http server", [made] { return stop_server(made); });
    return made;
  });
  return &server;
}

HttpServer::HttpServer(asio::io_context& io, Clock& clock, Log& log, ServerSettings settings)
    : io_(io),
      clock_(clock),
      log_(log),
      settings_(std::move(settings)),
      acceptor_(io),
      sweep_(io, clock, kSweepPeriod),
      room_(clock.make_alarm()) {}

HttpServer::~HttpServer() = default;

Result<void> HttpServer::add(const std::shared_ptr<Route>& route) {
  return router_.add(route->path, route->prefix, route->methods, route);
}

void HttpServer::remove(const Route* route) { router_.remove(route); }

async<Result<void>> HttpServer::start() {
  if (acceptor_.is_open()) co_return Result<void>();
  if (!settings_.tls.certificate.empty()) {
    Result<TlsContext> tls = make_server_context(settings_.tls, log_);
    if (!tls) co_return std::move(tls.error());
    tls_ = *tls;
  }
  ErrorCode ec;
  const asio::ip::address address =
      asio::ip::make_address(settings_.host == "localhost" ? "127.0.0.1" : settings_.host, ec);
  if (ec)
    co_return Error(ErrorKind::config,
                    settings_.properties + ".host '" + settings_.host + "' is no IP address",
                    "use 127.0.0.1, 0.0.0.0 or the address of one interface");
  const tcp::endpoint endpoint(address, settings_.port);
  acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) {
    ErrorCode ignored;  // the first error is the one to report
    acceptor_.close(ignored);
    co_return Error(ErrorKind::config,
                    "cannot listen on " + settings_.host + ":" + std::to_string(settings_.port) +
                        ": " + ec.message(),
                    "choose another " + settings_.properties + ".port, or 0 for any free one");
  }
  port_ = acceptor_.local_endpoint(ec).port();
  draining_ = false;
  say_listening();
  asio::co_spawn(io_, accept_loop(shared_from_this()), asio::detached);
  co_return Result<void>();
}

void HttpServer::say_listening() {
  const bool any = settings_.host == "0.0.0.0" || settings_.host == "::";
  std::string host = any ? "127.0.0.1" : settings_.host;
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  std::string text = settings_.name + " listening on ";
  text += tls_ ? "https://" : "http://";
  text += host + ":" + std::to_string(port_);
  if (any) text += " (all interfaces)";
  log_.info(settings_.name, text);
}

async<> HttpServer::accept_loop(std::shared_ptr<HttpServer> self) {
  while (!self->draining_) {
    if (self->sessions_.size() >= self->settings_.connections_max) {
      co_await self->room_->wait(
          milliseconds::max());  // the rest waits in the backlog of the system
      continue;
    }
    ErrorCode ec;
    tcp::socket socket =
        co_await self->acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, ec));
    if (self->draining_) break;
    if (!ec) {
      start_session(self, std::move(socket), self->tls_);
      continue;
    }
    self->log_.warn(self->settings_.name, "cannot accept a connection: " + ec.message());
    co_await self->clock_.sleep(kAcceptPause);  // out of file descriptors: do not spin
  }
}

async<> HttpServer::stop() {
  if (draining_) co_return;
  draining_ = true;
  ErrorCode ignored;  // never opened, or gone: both are what we want
  acceptor_.close(ignored);
  room_->ring();
  // A session that ends is destroyed later, when its pending read has ended: the list stays valid.
  const std::vector<Session*> sessions = sessions_;
  for (Session* session : sessions) session->drain();
  co_await flush();
}

// Each write has its deadline, and what is closed goes with its last operation: this ends.
async<> HttpServer::flush() {
  const auto leaving = [this] {
    return draining_ && open_ == 0 && (!sessions_.empty() || sweep_.running());
  };
  while (writing_ > 0 || leaving()) co_await clock_.sleep(kFlushPause);
}

const std::string& HttpServer::date() {
  const WallTime now = clock_.wall();
  if (now >= date_until_) {
    date_ = "Date: " + http_date(now) + "\r\n";
    date_until_ = std::chrono::floor<std::chrono::seconds>(now) + std::chrono::seconds(1);
  }
  return date_;
}

void HttpServer::joined(Session& session) {
  session.place_ = sessions_.size();
  sessions_.push_back(&session);
  ++open_;
}

void HttpServer::left(Session& session) {
  Session* last = sessions_.back();
  sessions_[session.place_] = last;
  last->place_ = session.place_;
  sessions_.pop_back();
  if (sessions_.size() + 1 == settings_.connections_max) room_->ring();
}

}  // namespace drom::http
