// Producers of http: endpoints against scripted servers, for tests. One thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "connectors/http/http.hpp"
#include "support/endpoints.hpp"
#include "support/scripted_server.hpp"

namespace drom::http {

using drom::testing::Harness;
using drom::testing::Options;
using drom::testing::ScriptedServer;

inline std::string answer(int status, const std::string& headers = "",
                          const std::string& body = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class ProducerFixture : public ::testing::Test {
 protected:
  ProducerFixture() { register_http(harness.registry()); }
  ~ProducerFixture() override {
    producers.clear();
    endpoints.clear();
    for (auto& one : servers) one->stop();
    harness.stop();
  }
  ScriptedServer& serve(std::vector<std::string> script) {
    servers.push_back(std::make_unique<ScriptedServer>(harness, std::move(script)));
    return *servers.back();
  }
  static std::string url(const ScriptedServer& server, const std::string& path = "/a") {
    return "http://127.0.0.1:" + std::to_string(server.port()) + path;
  }
  Producer& open(const std::string& uri, Options options = {}) {
    options.emplace_back("httpUri", uri);
    endpoints.push_back(drom::testing::make_endpoint(harness, "http", options));
    Result<std::unique_ptr<Producer>> made = endpoints.back()->make_producer();
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    producers.push_back(std::move(*made));
    return *producers.back();
  }
  Exchange send(Producer& producer, Message message = {}) {
    Exchange exchange(std::move(message), ExchangePattern::in_out);
    drom::testing::send(harness, producer, exchange);
    return exchange;
  }
  // Through a fresh endpoint to `server`, which answers with what it has.
  Exchange send_to(ScriptedServer& server, Options options = {}, Message message = {}) {
    return send(open(url(server), std::move(options)), std::move(message));
  }
  static Message with_body(Value body) {
    Message out;
    out.body = std::move(body);
    return out;
  }
  static std::string header(const std::string& request, const std::string& name) {
    const size_t at = request.find("\r\n" + name + ": ");
    if (at == std::string::npos || at > request.find("\r\n\r\n")) return "-";
    const size_t from = at + name.size() + 4;
    return request.substr(from, request.find("\r\n", from) - from);
  }
  static std::string body_of(const std::string& request) {
    return request.substr(request.find("\r\n\r\n") + 4);
  }
  static std::string wrong(const Exchange& exchange) {
    return exchange.failed()
               ? std::string(to_string(exchange.error->kind)) + ": " + exchange.error->message()
               : "no error";
  }

  Harness harness;
  std::vector<std::unique_ptr<ScriptedServer>> servers;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::unique_ptr<Producer>> producers;
};

}  // namespace drom::http
