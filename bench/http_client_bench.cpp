// A route that posts to an HTTP server, against a bare Beast client with as many keep-alive
// connections, in the same run: one client thread each, the same lean server on another thread,
// which counts. Rounds alternate; the medians are compared. Promise: at least 70 % of the bare
// client.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "bare/paced_source.hpp"
#include "drom/drom.hpp"
#include "observe/spd_log.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr int kConnections = 16;
constexpr int kRounds = 7;
constexpr auto kWarm = std::chrono::milliseconds(300);
constexpr auto kRound = std::chrono::milliseconds(1000);
constexpr double kPromise = 0.7;
const std::string kBody = R"({"customer":"ada","item":"tea"})";
const std::string kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n"
    "{\"status\": \"ok\"}";

std::atomic<uint64_t> served{0};

// As little as possible: the clients shall be what is measured.
asio::awaitable<void> serve(tcp::socket socket) {
  socket.set_option(tcp::no_delay(true));
  std::string input;
  char buffer[8192];
  try {
    while (true) {
      const size_t n = co_await socket.async_read_some(asio::buffer(buffer), asio::use_awaitable);
      input.append(buffer, n);
      const size_t end = input.find("\r\n\r\n");
      if (end == std::string::npos || input.size() < end + 4 + kBody.size()) continue;
      input.clear();
      served.fetch_add(1, std::memory_order_relaxed);
      co_await asio::async_write(socket, asio::buffer(kAnswer), asio::use_awaitable);
    }
  } catch (const boost::system::system_error&) {
    co_return;  // the client has closed
  }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor) {
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

// The bare limit: a request built and an answer parsed by Beast, one after another.
asio::awaitable<void> bare_client(unsigned short port, const bool& stop) {
  tcp::socket socket(co_await asio::this_coro::executor);
  const tcp::endpoint server(asio::ip::make_address("127.0.0.1"), port);
  co_await socket.async_connect(server, asio::use_awaitable);
  socket.set_option(tcp::no_delay(true));
  beast::flat_buffer buffer;
  while (!stop) {
    http::request<http::string_body> request(http::verb::post, "/orders", 11);
    request.set(http::field::host, "127.0.0.1");
    request.set(http::field::user_agent, "bare");
    request.set(http::field::content_type, "application/json");
    request.body() = kBody;
    request.prepare_payload();
    co_await http::async_write(socket, request, asio::use_awaitable);
    http::response<http::string_body> response;
    co_await http::async_read(socket, buffer, response, asio::use_awaitable);
  }
}

struct Speed {
  double per_second = 0;
  double cpu_us = 0;  // of the client thread, per request
};

double thread_cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Counts what the server has served while the clients run on a thread of their own.
template <class Run>
Speed measure(Run run, const std::function<void()>& stop) {
  double cpu = 0;
  const uint64_t first = served;
  std::thread thread([&] {
    run();
    cpu = thread_cpu_s();
  });
  std::this_thread::sleep_for(kWarm);
  const uint64_t before = served;
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kRound);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto count = static_cast<double>(served - before);
  stop();
  thread.join();
  return {count / took.count(), cpu * 1e6 / static_cast<double>(served - first)};
}

Speed bare(unsigned short port) {
  asio::io_context io(1);
  bool stop = false;
  for (int i = 0; i < kConnections; ++i)
    asio::co_spawn(io, bare_client(port, stop), asio::detached);
  return measure([&] { io.run(); }, [&] { asio::post(io, [&] { stop = true; }); });
}

Speed ours(unsigned short port) {
  drom::EngineOptions options;
  options.log = drom::make_log(drom::LogLevel::warn, drom::LogFormat::text);
  drom::App app(options);
  drom::bench::register_paced(app.registry());
  app.routes()
      .from("paced:orders", {{"perSecond", "1000000000"},
                             {"together", "0"},
                             {"count", "1000000000"},
                             {"writers", std::to_string(kConnections)}})
      .set_header("Content-Type", drom::constant("application/json"))
      .set_body(drom::constant(kBody))
      .to("http://127.0.0.1:" + std::to_string(port) + "/orders",
          {{"connectionsPerRoute", std::to_string(kConnections)}});
  if (!app.build()) {
    std::fputs(app.engine().diagnostics().render().c_str(), stderr);
    std::exit(1);
  }
  return measure([&] { app.engine().run(); }, [&] { app.engine().request_stop(); });
}

Speed median(std::vector<Speed> values) {
  std::sort(values.begin(), values.end(),
            [](const Speed& a, const Speed& b) { return a.per_second < b.per_second; });
  return values[values.size() / 2];
}

}  // namespace

int main() {
  asio::io_context io(1);
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
  asio::co_spawn(io, accept(acceptor), asio::detached);
  std::thread server([&] { io.run(); });
  const unsigned short port = acceptor.local_endpoint().port();

  std::vector<Speed> routes, clients;
  for (int i = 0; i < kRounds; ++i) {
    routes.push_back(ours(port));
    clients.push_back(bare(port));
  }
  io.stop();
  server.join();
  const Speed route = median(routes), client = median(clients);
  const double ratio = route.per_second / client.per_second;
  std::printf(
      "http client: route %.0f requests/s (%.1f us CPU each), bare Beast client %.0f requests/s "
      "(%.1f us), ratio %.2f (promise %.2f)\n",
      route.per_second, route.cpu_us, client.per_second, client.cpu_us, ratio, kPromise);
  return ratio >= kPromise ? 0 : 1;
}
