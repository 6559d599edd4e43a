// HTTP request -> route of three steps -> reply, against a hand-written Beast echo, in the same run
// and with the same client: one server thread each, 16 keep-alive connections. Rounds alternate;
// the medians are compared. Promise: at least 70 % of the bare echo.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "drom/drom.hpp"
#include "observe/spd_log.hpp"

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr int kConnections = 16;
constexpr int kRounds = 7;
constexpr auto kRound = std::chrono::milliseconds(1000);
constexpr double kPromise = 0.7;
constexpr unsigned short kEchoPort = 0;

// The bare limit: reads a request with Beast's parser, answers with its body.
asio::awaitable<void> echo_session(tcp::socket socket) {
  beast::flat_buffer buffer;
  socket.set_option(tcp::no_delay(true));
  try {
    while (true) {
      http::request<http::string_body> request;
      co_await http::async_read(socket, buffer, request, asio::use_awaitable);
      http::response<http::string_body> response(http::status::ok, request.version());
      response.set(http::field::content_type, "application/json");
      response.body() = std::move(request.body());
      response.prepare_payload();
      co_await http::async_write(socket, response, asio::use_awaitable);
    }
  } catch (const boost::system::system_error&) {
    co_return;  // the client has closed
  }
}

asio::awaitable<void> echo_server(tcp::acceptor& acceptor) {
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), echo_session(std::move(socket)), asio::detached);
  }
}

// A client that writes one fixed request and waits for the whole answer, whose size it learns once.
asio::awaitable<void> client(unsigned short port, const std::string& request, bool& stop,
                             uint64_t& count) {
  tcp::socket socket(co_await asio::this_coro::executor);
  const tcp::endpoint server(asio::ip::make_address("127.0.0.1"), port);
  co_await socket.async_connect(server, asio::use_awaitable);
  socket.set_option(tcp::no_delay(true));
  std::string answer(4096, '\0');
  beast::flat_buffer buffer;
  while (!stop) {
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    size_t got = 0, wanted = 0;
    while (wanted == 0 || got < wanted) {
      const size_t n = co_await socket.async_read_some(
          asio::buffer(answer.data() + got, answer.size() - got), asio::use_awaitable);
      got += n;
      const std::string_view text(answer.data(), got);
      const size_t end = text.find("\r\n\r\n");
      if (end == std::string_view::npos) continue;
      const size_t length = text.find("Content-Length: ");
      wanted = end + 4 + std::strtoul(text.data() + length + 16, nullptr, 10);
    }
    ++count;
  }
}

double requests_per_second(unsigned short port) {
  const std::string body = R"({"customer":"ada","item":"tea"})";
  const std::string request =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  asio::io_context io(1);
  bool stop = false;
  uint64_t count = 0;
  for (int i = 0; i < kConnections; ++i)
    asio::co_spawn(io, client(port, request, stop, count), asio::detached);
  const auto start = std::chrono::steady_clock::now();
  io.run_for(kRound);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  stop = true;
  io.run_for(std::chrono::milliseconds(200));
  return static_cast<double>(count) / took.count();
}

class FixedProperties final : public drom::PropertySource {
 public:
  explicit FixedProperties(unsigned short port) : port_(port) {}
  std::optional<std::string> property(std::string_view key) const override {
    if (key == "drom.http.port") return std::to_string(port_);
    if (key == "drom.http.host") return "127.0.0.1";
    return std::nullopt;
  }
  std::optional<std::string> environment(std::string_view) const override { return std::nullopt; }

 private:
  unsigned short port_;
};

unsigned short free_port() {
  asio::io_context io;
  return tcp::acceptor(io, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0))
      .local_endpoint()
      .port();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  asio::io_context echo_io(1);
  tcp::acceptor acceptor(echo_io, tcp::endpoint(asio::ip::make_address("127.0.0.1"), kEchoPort));
  asio::co_spawn(echo_io, echo_server(acceptor), asio::detached);
  std::thread echo_thread([&] { echo_io.run(); });

  const unsigned short port = free_port();
  drom::EngineOptions options;
  options.properties = std::make_shared<FixedProperties>(port);
  options.log = drom::make_log(drom::LogLevel::warn, drom::LogFormat::text);
  drom::App app(options);
  app.routes()
      .from("platform-http:/echo", {{"httpMethodRestrict", "POST"}})
      .set_header("kind", drom::constant("order"))
      .set_property("seen", drom::simple("${header.kind}"))
      .set_header("Content-Type", drom::constant("application/json"));
  if (!app.build()) {
    std::fputs(app.engine().diagnostics().render().c_str(), stderr);
    return 1;
  }
  std::thread engine_thread([&] { app.engine().run(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));

  std::vector<double> ours, bare;
  requests_per_second(port);  // warms both up
  requests_per_second(acceptor.local_endpoint().port());
  for (int i = 0; i < kRounds; ++i) {
    ours.push_back(requests_per_second(port));
    bare.push_back(requests_per_second(acceptor.local_endpoint().port()));
  }
  app.engine().request_stop();
  engine_thread.join();
  echo_io.stop();
  echo_thread.join();
  const double ratio = median(ours) / median(bare);
  std::printf(
      "http: route of 3 steps %.0f requests/s, bare Beast echo %.0f requests/s, ratio %.2f "
      "(promise %.2f)\n",
      median(ours), median(bare), ratio, kPromise);
  return ratio >= kPromise ? 0 : 1;
}
