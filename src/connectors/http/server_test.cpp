#include "connectors/http/server_test_support.hpp"
#include "support/gzip.hpp"

namespace drom::http {
namespace {

TEST_F(HttpServerTest, AnswersOneRequestAfterAnotherOnAConnection) {
  start();
  RawClient c = client();
  for (int i = 0; i < 3; ++i) {
    const RawReply reply = c.ask("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "POST /a hi");
    EXPECT_TRUE(reply.has("Date: Tue, 14 Nov 2023 22:13:20 GMT"));
    EXPECT_FALSE(reply.has("Connection: close"));
  }
  EXPECT_EQ(server->connections(), 1u);
  EXPECT_TRUE(harness.captured.contains("http listening on http://127.0.0.1:" +
                                        std::to_string(server->port())));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInTheirOrder) {
  start();
  sink.hold = true;
  RawClient c = client();
  c.send(
      "GET /a/1 HTTP/1.1\r\nHost: h\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: h\r\n\r\nGET /a/2 "
      "HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(sink.seen, std::vector<std::string>{"GET /a/1 "});
  EXPECT_TRUE(c.silent());
  sink.answer("one");
  EXPECT_EQ(c.reply().body, "one");
  EXPECT_EQ(c.reply().status, 404);
  sink.answer("two");
  EXPECT_EQ(c.reply().body, "two");
}

TEST_F(HttpServerTest, AnswersManyPipelinedRequestsWithoutDeepRecursion) {
  start();
  RawClient c = client();
  std::string many;
  for (int i = 0; i < 2000; ++i) many += kGet;
  c.send(many);
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(c.reply().status, 200);
}

TEST_F(HttpServerTest, EndsTheConnectionWhenTheClientAsksForIt) {
  start();
  RawClient c = client();
  EXPECT_TRUE(
      c.ask("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").has("Connection: close"));
  EXPECT_TRUE(c.ended());
  RawClient old = client();
  EXPECT_EQ(old.ask("GET /a HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_TRUE(old.ended());
  RawClient kept = client();
  EXPECT_TRUE(
      kept.ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").has("Connection: keep-alive"));
  EXPECT_EQ(kept.ask(kGet).status, 200);
}

TEST_F(HttpServerTest, AnswersWhatNoRouteHasToSee) {
  start();
  route->consumes = "application/json";
  route->produces = "application/json";
  RawClient c = client();
  EXPECT_EQ(c.ask("GET /b HTTP/1.1\r\nHost: h\r\n\r\n").status, 404);
  const RawReply wrong_method = c.ask("DELETE /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_TRUE(wrong_method.has("Allow: GET, HEAD, POST, OPTIONS"));
  const RawReply options = c.ask("OPTIONS /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(options.status, 204);
  EXPECT_TRUE(options.has("Allow: GET, HEAD, POST, OPTIONS"));
  EXPECT_EQ(c.ask("BREW /a HTTP/1.1\r\nHost: h\r\n\r\n").status, 501);
  EXPECT_EQ(c.ask("GET /a HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n\r\n").status, 406);
  EXPECT_EQ(c.ask("GET /a/%2e%2e/b HTTP/1.1\r\nHost: h\r\n\r\n").status, 400);
  EXPECT_EQ(c.ask("GET /a/%00 HTTP/1.1\r\nHost: h\r\n\r\n").status, 400);
  EXPECT_EQ(c.ask(kGet).status, 200);  // and the connection lives through all of them
  EXPECT_EQ(
      status("POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: text/csv\r\nContent-Length: 1\r\n\r\nx"),
      415);
  EXPECT_EQ(status("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"), 415);
  EXPECT_EQ(sink.seen.size(), 1u);
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  start();
  RawClient c = client();
  const RawReply reply = c.ask("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n", true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.has("Content-Length: 8"));  // of "HEAD /a "
  EXPECT_TRUE(c.silent());
  EXPECT_EQ(c.ask(kGet).body, "GET /a ");
}

TEST_F(HttpServerTest, AnswersPreflightRequests) {
  start();
  route->cors = CorsRules{
      true, {"https://shop", "https://other"}, "GET, POST", "Content-Type", "ETag", seconds(60),
      true};
  RawClient c = client();
  const RawReply preflight = c.ask(
      "OPTIONS /a HTTP/1.1\r\nHost: h\r\nOrigin: https://shop\r\nAccess-Control-Request-Method: "
      "POST\r\n\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_TRUE(preflight.has("Access-Control-Allow-Origin: https://shop"));
  EXPECT_TRUE(preflight.has("Vary: Origin"));
  EXPECT_TRUE(preflight.has("Access-Control-Allow-Methods: GET, POST"));
  EXPECT_TRUE(preflight.has("Access-Control-Allow-Headers: Content-Type"));
  EXPECT_TRUE(preflight.has("Access-Control-Max-Age: 60"));
  EXPECT_TRUE(c.ask("GET /a HTTP/1.1\r\nHost: h\r\nOrigin: https://other\r\n\r\n")
                  .has("Access-Control-Allow-Origin: https://other"));
  EXPECT_TRUE(preflight.has("Access-Control-Allow-Credentials: true"));
  EXPECT_TRUE(preflight.has("Access-Control-Expose-Headers: ETag"));
  for (const char* origin : {"Origin: https://evil\r\n", "Origin: null\r\n", ""}) {
    const RawReply other = c.ask("GET /a HTTP/1.1\r\nHost: h\r\n" + std::string(origin) + "\r\n");
    EXPECT_EQ(other.head.find("Access-Control"), std::string::npos) << other.head;
    EXPECT_TRUE(other.has("Vary: Origin")) << "a cache must not give it to another origin";
  }
}

TEST_F(HttpServerTest, RefusesLargeBodiesBeforeAndWhileReading) {
  start();
  route->body_bytes_max = 10;
  RawClient known = client();
  EXPECT_EQ(known.ask("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n").status, 413);
  known.send(std::string(100'000, 'x'));  // is read and thrown away
  known.end_writing();
  EXPECT_TRUE(known.ended());
  RawClient chunked = client();
  chunked.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n");
  EXPECT_TRUE(chunked.silent());
  EXPECT_EQ(chunked.ask("5\r\n").status, 413);
  EXPECT_EQ(status("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n1234567890"), 200);
  EXPECT_EQ(sink.seen.size(), 1u);
}

TEST_F(HttpServerTest, ReadsBodiesInPieces) {
  start();
  RawClient c = client();
  for (const char byte : std::string(
           "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r"))
    c.send(std::string_view(&byte, 1));
  EXPECT_TRUE(sink.seen.empty());
  EXPECT_EQ(c.ask("\n").body, "POST /a abc");
  const std::string large(500'000, 'x');
  EXPECT_EQ(c.ask("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n" + large).body,
            "POST /a " + large);
}

TEST_F(HttpServerTest, RefusesSmugglingAndClosesTheConnection) {
  start();
  for (const char* text :
       {"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\nGET /a "
        "HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: h\r\nX: y\r\n z\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"}) {
    RawClient c = client();
    EXPECT_EQ(c.ask(text).status, 400);
    c.end_writing();
    EXPECT_TRUE(c.ended());
  }
  EXPECT_TRUE(sink.seen.empty());
}

TEST_F(HttpServerTest, UnpacksBodies) {
  start();
  route->body_bytes_max = 100'000;
  const auto post = [](const std::string& coding, const std::string& body) {
    return "POST /a HTTP/1.1\r\nHost: h\r\nContent-Encoding: " + coding +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  const std::string plain(50'000, 'x');
  RawClient c = client();
  EXPECT_EQ(c.ask(post("gzip", drom::testing::pack(plain))).body, "POST /a " + plain);
  EXPECT_EQ(c.ask(post("identity", "hi")).body, "POST /a hi");
  EXPECT_EQ(c.ask(post("gzip", "")).body, "POST /a ");
  EXPECT_EQ(c.ask(post("gzip", drom::testing::pack(std::string(200'000, 'x')))).status, 413);
  EXPECT_EQ(c.ask(post("gzip", "no gzip at all")).status, 400);
  const RawReply unknown = c.ask(post("lzma", "hi"));
  EXPECT_EQ(unknown.status, 415);
  EXPECT_NE(unknown.head.find("\r\nAccept-Encoding: gzip, deflate"), std::string::npos);
  EXPECT_EQ(sink.seen.size(), 3u);
  EXPECT_EQ(c.ask(kGet).status, 200);  // what was refused was read
}

TEST_F(HttpServerTest, SaysContinueOnlyWhenTheBodyIsWelcome) {
  start();
  route->body_bytes_max = 10;
  const std::string head =
      "POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: ";
  RawClient c = client();
  EXPECT_EQ(c.ask(head + "2\r\n\r\n").status, 100);
  EXPECT_EQ(c.ask("ok").body, "POST /a ok");
  EXPECT_EQ(c.ask(head + "11\r\n\r\n").status, 413);
  EXPECT_EQ(client().ask(head + "2\r\n\r\nok").status, 200);  // did not wait to be told
}

TEST_F(HttpServerTest, WritesLargeAnswersPieceByPiece) {
  start();
  sink.hold = true;
  RawClient c = client();
  c.send(kGet);
  const std::string large(8 * 1024 * 1024, 'x');
  sink.answer(large);
  EXPECT_EQ(c.reply().body, large);
  sink.hold = false;
  EXPECT_EQ(c.ask(kGet).status, 200);
}

TEST_F(HttpServerTest, SurvivesClientsThatLeave) {
  start();
  sink.hold = true;
  RawClient head = client();
  head.send("GET /a HT");
  head.reset();
  RawClient body = client();
  body.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n1");
  body.close();
  RawClient working = client();
  working.send(kGet);
  working.reset();
  EXPECT_EQ(server->connections(), 1u);
  sink.answer("nobody reads this");
  harness.settle();
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServerTest, AnswersAClientThatHasEndedItsSide) {
  start();
  RawClient c = client();
  c.send(kGet);
  c.end_writing();
  EXPECT_EQ(c.reply().status, 200);
  EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerTest, AnswersForAStoppedRoute) {
  start();
  route->sink = nullptr;
  const RawReply reply = client().ask(kGet);
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(reply.has("Retry-After: 1"));
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  start();
  ServerSettings taken;
  taken.host = "127.0.0.1";
  taken.port = server->port();
  auto second = std::make_shared<HttpServer>(harness.io(), harness.clock(), harness.log(), taken);
  const Result<void> started = harness.run(second->start());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().kind, ErrorKind::config);
  EXPECT_NE(started.error().message().find(std::to_string(taken.port)), std::string::npos);
  taken.host = "no address";
  auto third = std::make_shared<HttpServer>(harness.io(), harness.clock(), harness.log(), taken);
  EXPECT_FALSE(harness.run(third->start()));
}

TEST(HttpServerSettings, ReadOurNamesAndCamels) {
  Harness harness;
  harness.property_map = {
      {"camel.server.port", "81"}, {"quarkus.http.port", "82"}, {"drom.http.idleTimeout", "5s"}};
  Result<ServerSettings> settings = read_server_settings(harness);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->port, 81);
  EXPECT_EQ(settings->host, "0.0.0.0");
  EXPECT_EQ(settings->idle_timeout, seconds(5));
  harness.property_map["drom.http.port"] = "0";
  EXPECT_EQ(read_server_settings(harness)->port, 0);
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"drom.http.port", "65536"},
                                          {"drom.http.maxConnections", "0"},
                                          {"drom.http.writeTimeout", "soon"},
                                          {"drom.http.drainTimeout", "0"},
                                          {"drom.http.maxRequests", "0"},
                                          {"drom.http.minRate", "fast"},
                                          {"drom.http.clientAuth", "need"},
                                          {"drom.http.clientCaFile", "ca.pem"},
                                          {"drom.http.keyFile", "key.pem"}}) {
    harness.property_map = {{key, value}};
    const Result<ServerSettings> wrong = read_server_settings(harness);
    ASSERT_FALSE(wrong) << key;
    EXPECT_EQ(wrong.error().kind, ErrorKind::config);
  }
}

TEST(ManagementSettings, AreOffUntilAskedForAndOnLoopback) {
  Harness harness;
  EXPECT_FALSE(*read_management_settings(harness));
  harness.property_map = {{"drom.management.host", "0.0.0.0"}, {"drom.http.port", "80"}};
  EXPECT_FALSE(*read_management_settings(harness)) << "an address alone asks for nothing";
  harness.property_map = {{"drom.management.port", "0"}};
  EXPECT_EQ((*read_management_settings(harness))->port, 0);
  EXPECT_EQ((*read_management_settings(harness))->host, "127.0.0.1");
  harness.property_map["drom.management.enabled"] = "false";
  EXPECT_FALSE(*read_management_settings(harness));
  harness.property_map = {{"camel.management.enabled", "true"},
                          {"camel.management.host", "10.0.0.1"}};
  EXPECT_EQ((*read_management_settings(harness))->port, 9876);
  EXPECT_EQ((*read_management_settings(harness))->host, "10.0.0.1");
  harness.property_map["drom.management.enabled"] = "yes";
  ASSERT_FALSE(read_management_settings(harness).ok());
  EXPECT_EQ(read_management_settings(harness).error().kind, ErrorKind::config);
}

}  // namespace
}  // namespace drom::http
