// A server with one sink, and clients of raw bytes: for the tests of the HTTP server.
#pragma once

#include <gtest/gtest.h>

#include "connectors/http/server.hpp"
#include "support/raw_http.hpp"

namespace drom::http {

using drom::testing::Harness;
using drom::testing::RawClient;
using drom::testing::RawReply;
using std::chrono::seconds;

// Answers at once, or keeps requests until the test answers.
class TestSink final : public RequestSink {
 public:
  void accept(std::shared_ptr<Responder> responder, Request& request,
              Router::Parameters&) override {
    seen.push_back(std::string(to_string(request.method)) + " " + request.target + " " +
                   request.body);
    waiting.push_back(std::move(responder));
    if (!hold) answer(seen.back());
  }
  void answer(std::string body) {
    const std::shared_ptr<Responder> responder = std::move(waiting.front());
    waiting.erase(waiting.begin());
    Reply reply;
    reply.body = body.empty() ? Value() : Value(std::move(body));
    responder->reply(std::move(reply));
  }
  bool hold = false;
  std::vector<std::string> seen;
  std::vector<std::shared_ptr<Responder>> waiting;
};

class HttpServerTest : public ::testing::Test {
 protected:
  ~HttpServerTest() override {
    if (!server) return;
    sink.waiting.clear();
    harness.run(server->stop());
  }
  void start(ServerSettings settings = {}) {
    settings.host = "127.0.0.1";
    settings.port = 0;
    server = std::make_shared<HttpServer>(harness.io(), harness.clock(), harness.log(), settings);
    route = std::make_shared<Route>();
    route->sink = &sink;
    route->path = "/a";
    route->prefix = true;
    route->methods.add(Method::get);
    route->methods.add(Method::post);
    ASSERT_TRUE(server->add(route));
    const Result<void> started = harness.run(server->start());
    ASSERT_TRUE(started) << started.error().message();
  }
  RawClient client() { return RawClient(harness, server->port()); }
  int status(std::string_view text) { return client().ask(text).status; }

  Harness harness;
  TestSink sink;
  std::shared_ptr<HttpServer> server;
  std::shared_ptr<Route> route;
};

inline constexpr char kGet[] = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

}  // namespace drom::http
