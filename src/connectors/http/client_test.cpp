#include "connectors/http/client.hpp"

#include <gtest/gtest.h>

#include "support/scripted_server.hpp"

namespace drom::http {
namespace {

using drom::testing::Harness;
using drom::testing::ScriptedServer;

const char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class HttpClientTest : public ::testing::Test {
 protected:
  HttpClientTest() : client(std::make_shared<HttpClient>(harness.io(), harness.clock())) {}
  ~HttpClientTest() override {
    if (server) server->stop();
    harness.run(client->stop());
  }
  void serve(std::vector<std::string> script) {
    server = std::make_unique<ScriptedServer>(harness, std::move(script));
    options.target = Target{false, "127.0.0.1", server->port()};
  }
  Result<Response> send(const std::string& method = "GET") {
    request.head = method + " / HTTP/1.1\r\nHost: h\r\n\r\n";
    request.idempotent = method != "POST";
    request.head_only = method == "HEAD";
    return harness.run(client->send(options, request));
  }
  // What came back, in short.
  std::string outcome(const std::string& method = "GET") {
    Result<Response> response = send(method);
    if (response) return std::to_string(response->status) + " " + response->body;
    return std::string(to_string(response.error().kind));
  }

  Harness harness;
  std::shared_ptr<HttpClient> client;
  std::unique_ptr<ScriptedServer> server;
  ClientOptions options;
  WireRequest request;
};

TEST_F(HttpClientTest, ReusesAConnection) {
  serve({kOk, "HTTP/1.1 404 Nope\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", kOk});
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_EQ(outcome(), "404 x");
  EXPECT_EQ(outcome("POST"), "200 ok");
  EXPECT_EQ(server->connections.size(), 1u);
}

TEST_F(HttpClientTest, OpensAnotherWhenTheServerEndsIt) {
  serve({"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", kOk});
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_EQ(outcome("POST"), "200 ok");
  EXPECT_EQ(server->connections.size(), 2u);
}

TEST_F(HttpClientTest, SeesBeforeSendingThatAConnectionIsStale) {
  serve({kOk, kOk});
  EXPECT_EQ(outcome(), "200 ok");
  server->close_connections();
  EXPECT_EQ(outcome("POST"), "200 ok");
  EXPECT_EQ(server->requests.size(), 2u);
}

TEST_F(HttpClientTest, RepeatsOnAReusedConnectionOnlyWhatMayBeDoneTwice) {
  serve({kOk, "", kOk, "", kOk});
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_EQ(outcome("GET"), "200 ok");  // the first attempt was dropped
  EXPECT_EQ(server->requests.size(), 3u);
  EXPECT_EQ(outcome("POST"), "transient");
  EXPECT_EQ(server->requests.size(), 4u);
}

TEST_F(HttpClientTest, DoesNotRepeatOnAFreshConnection) {
  serve({"", kOk});
  EXPECT_EQ(outcome("GET"), "transient");
  EXPECT_EQ(server->requests.size(), 1u);
}

TEST_F(HttpClientTest, DoesNotRepeatOnceAnAnswerHasBegun) {
  serve({kOk, "HTTP/1.1 200 OK\r\nContent-Le"});
  EXPECT_EQ(outcome(), "200 ok");
  harness.spawn([](ScriptedServer& s, Clock& clock) -> async<> {
    while (s.requests.size() < 2) co_await clock.sleep(milliseconds(10));
    co_await clock.sleep(milliseconds(10));
    s.close_connections();
  }(*server, harness.clock()));
  EXPECT_EQ(outcome("GET"), "transient");
  EXPECT_EQ(server->requests.size(), 2u);
}

TEST_F(HttpClientTest, GivesUpAfterTheResponseTimeout) {
  serve({});
  options.response_timeout = milliseconds(1500);
  const SteadyTime start = harness.clock().steady();
  EXPECT_EQ(outcome(), "timeout");
  EXPECT_GE(harness.clock().steady() - start, milliseconds(1500));
  EXPECT_LE(harness.clock().steady() - start, milliseconds(1650));
}

TEST_F(HttpClientTest, GivesUpOnATricklingAnswer) {
  serve({"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx"});
  options.response_timeout = milliseconds(1500);
  EXPECT_EQ(outcome(), "timeout");
}

TEST_F(HttpClientTest, TellsThatNobodyListens) {
  serve({});
  server->stop();
  EXPECT_EQ(outcome(), "not_connected");
}

TEST_F(HttpClientTest, TakesInformationBeforeTheAnswer) {
  serve({std::string("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n") + kOk,
         "HTTP/1.1 101 Switching Protocols\r\n\r\n"});
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_EQ(outcome(), "rejected");
}

TEST_F(HttpClientTest, KeepsNoConnectionWithUnaskedBytes) {
  serve({std::string(kOk) + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", kOk});
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_EQ(server->connections.size(), 2u);
}

TEST_F(HttpClientTest, RefusesAnswersThatItCannotTake) {
  serve({"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n12345678901", "junk\r\n\r\n",
         "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"});
  options.body_bytes_max = 10;
  EXPECT_EQ(outcome(), "rejected");
  EXPECT_EQ(outcome(), "rejected");
  EXPECT_EQ(outcome(), "rejected");
}

TEST_F(HttpClientTest, ExpectsNoBodyAfterHead) {
  serve({"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", kOk});
  EXPECT_EQ(outcome("HEAD"), "200 ");
  EXPECT_EQ(outcome("GET"), "200 ok");
  EXPECT_EQ(server->connections.size(), 1u);
}

TEST_F(HttpClientTest, ClosesWhatHasBeenIdleForLong) {
  serve({kOk, kOk});
  options.idle_timeout = std::chrono::seconds(5);
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_TRUE(harness.manual_clock.next_due());
  harness.advance(std::chrono::seconds(6));
  EXPECT_FALSE(harness.manual_clock.next_due());  // no connection, no timer
  EXPECT_EQ(outcome(), "200 ok");
  EXPECT_EQ(server->connections.size(), 2u);
}

async<> send_and_note(std::shared_ptr<HttpClient> client, const ClientOptions& options,
                      const WireRequest& request, std::vector<std::string>& notes) {
  Result<Response> response = co_await client->send(options, request);
  notes.push_back(response ? response->body : std::string(to_string(response.error().kind)));
}

TEST_F(HttpClientTest, WaitsForAFreeConnectionButNotForEver) {
  serve({});
  options.connections.per_host = 1;
  options.lease_timeout = std::chrono::seconds(2);
  options.response_timeout = std::chrono::seconds(1);
  request.head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  std::vector<std::string> notes;
  for (int i = 0; i < 4; ++i) harness.spawn(send_and_note(client, options, request, notes));
  harness.advance(std::chrono::seconds(10));
  EXPECT_EQ(notes, (std::vector<std::string>{"timeout", "timeout", "timeout", "timeout"}));
  EXPECT_LT(server->connections.size(), 4u);
  EXPECT_GE(server->connections.size(), 2u);
}

}  // namespace
}  // namespace drom::http
