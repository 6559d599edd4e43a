#include "connectors/http/pool.hpp"

#include <gtest/gtest.h>

#include "connectors/http/client.hpp"
#include "connectors/http/proxy.hpp"
#include "connectors/http/url.hpp"
#include "support/scripted_server.hpp"

namespace drom::http {
namespace {

using drom::testing::Harness;
using drom::testing::ScriptedServer;

const char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class HttpPool : public ::testing::Test {
 protected:
  HttpPool() : client(std::make_shared<HttpClient>(harness.io(), harness.clock())) {
    request.head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    request.idempotent = true;
    options.connections.total = 2;
    options.response_timeout = std::chrono::seconds(3);
  }
  ~HttpPool() override {
    for (auto& server : servers) server->stop();
    harness.run(client->stop());
  }
  ScriptedServer& serve(std::vector<std::string> script) {
    servers.push_back(std::make_unique<ScriptedServer>(harness, std::move(script)));
    return *servers.back();
  }
  void aim(const ScriptedServer& server) {
    options.target.host = "127.0.0.1";
    options.target.port = server.port();
  }
  std::string send() {
    Result<Response> response = harness.run(client->send(options, request));
    return response ? response->body : std::string(to_string(response.error().kind));
  }

  Harness harness;
  std::shared_ptr<HttpClient> client;
  std::vector<std::unique_ptr<ScriptedServer>> servers;
  ClientOptions options;
  WireRequest request;
};

async<> send_and_note(std::shared_ptr<HttpClient> client, ClientOptions options,
                      const WireRequest& request, std::string name, std::string& notes) {
  Result<Response> response = co_await client->send(options, request);
  notes += name + (response ? "+ " : "- ");
}

TEST_F(HttpPool, ClosesAnIdleConnectionForAnotherHost) {
  ScriptedServer& a = serve({kOk, kOk});
  ScriptedServer& b = serve({kOk, kOk});
  ScriptedServer& c = serve({kOk});
  for (ScriptedServer* server : {&a, &b, &c, &b, &a}) {
    aim(*server);
    EXPECT_EQ(send(), "ok");
  }
  EXPECT_EQ(a.connections.size(), 2u) << "it was the oldest when c needed room";
  EXPECT_EQ(b.connections.size(), 1u);
  EXPECT_EQ(c.connections.size(), 1u);
}

TEST_F(HttpPool, ServesThoseWhoWaitInTurnAndWithinTheTotal) {
  ScriptedServer& silent = serve({});
  ScriptedServer& quick = serve({kOk, kOk, kOk});
  std::string notes;
  aim(silent);
  for (const char* name : {"s1", "s2"})
    harness.spawn(send_and_note(client, options, request, name, notes));
  aim(quick);
  for (const char* name : {"q1", "q2", "q3"})
    harness.spawn(send_and_note(client, options, request, name, notes));
  harness.settle();
  EXPECT_EQ(quick.connections.size(), 0u) << "two are open";
  harness.advance(std::chrono::seconds(4));
  EXPECT_EQ(notes, "s1- s2- q1+ q2+ q3+ ");
}

TEST_F(HttpPool, EndsAWaitAfterItsTime) {
  ScriptedServer& silent = serve({});
  std::string notes;
  aim(silent);
  options.lease_timeout = std::chrono::seconds(1);
  for (const char* name : {"s1", "s2", "s3"})
    harness.spawn(send_and_note(client, options, request, name, notes));
  harness.advance(milliseconds(1500));
  EXPECT_EQ(notes, "s3- ");
  harness.advance(std::chrono::seconds(5));
}

TEST_F(HttpPool, ABudgetCoversWaitingConnectingAndTheAnswer) {
  ScriptedServer& silent = serve({});
  aim(silent);
  const SteadyTime begin = harness.clock().steady();
  Result<Response> response = harness.run(client->send(options, request, milliseconds(500)));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().kind, ErrorKind::timeout);
  EXPECT_LE(harness.clock().steady() - begin, milliseconds(650));
}

TEST(HttpProxyHosts, AreReachedStraight) {
  Proxy proxy;
  proxy.direct_hosts = parse_direct_hosts("localhost|*.Example.com, 10.*");
  EXPECT_FALSE(proxy.serves("LOCALHOST"));
  EXPECT_FALSE(proxy.serves("shop.example.com"));
  EXPECT_FALSE(proxy.serves("10.1.2.3"));
  EXPECT_TRUE(proxy.serves("example.com"));
  EXPECT_TRUE(proxy.serves("110.1.2.3"));
}

// The examples of RFC 3986, 5.4, that HTTP can have.
TEST(HttpUrl, ResolvesReferences) {
  const Url base = *parse_url("http://a/b/c/d;p?q");
  const std::pair<const char*, const char*> cases[] = {
      {"g", "/b/c/g"},         {"./g", "/b/c/g"},   {"g/", "/b/c/g/"},    {"/g", "/g"},
      {"?y", "/b/c/d;p?y"},    {"g?y", "/b/c/g?y"}, {"#s", "/b/c/d;p?q"}, {"g#s", "/b/c/g"},
      {";x", "/b/c/;x"},       {"", "/b/c/d;p?q"},  {".", "/b/c/"},       {"./", "/b/c/"},
      {"..", "/b/"},           {"../", "/b/"},      {"../g", "/b/g"},     {"../..", "/"},
      {"../../../g", "/g"},    {"/./g", "/g"},      {"g.", "/b/c/g."},    {"..g", "/b/c/..g"},
      {"g;x=1/../y", "/b/c/y"}};
  for (const auto& [reference, path] : cases) {
    const Result<Url> url = resolve_url(base, reference);
    ASSERT_TRUE(url.ok()) << reference;
    EXPECT_EQ(url.value().path, path) << reference;
    EXPECT_EQ(url.value().target.host, "a");
  }
  EXPECT_EQ(resolve_url(base, "//g:8/x").value().target.host, "g");
  EXPECT_EQ(resolve_url(base, "https://g/x").value().target.port, 443);
  EXPECT_FALSE(resolve_url(base, "ftp://g/x"));
  EXPECT_FALSE(resolve_url(base, "//u:p@g/x"));
}

}  // namespace
}  // namespace drom::http
