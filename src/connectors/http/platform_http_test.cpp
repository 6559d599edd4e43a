#include <gtest/gtest.h>

#include "connectors/http/http.hpp"
#include "connectors/http/server.hpp"
#include "drom/base/json.hpp"
#include "support/endpoints.hpp"
#include "support/raw_http.hpp"
#include "support/test_certificate.hpp"

namespace drom::http {
namespace {

using drom::testing::Harness;
using drom::testing::make_endpoint;
using drom::testing::Options;
using drom::testing::RawClient;
using drom::testing::RawReply;
using drom::testing::TestCertificate;
using drom::testing::try_endpoint;

// Runs a consumer as the engine does: polls, lets `work` act, settles. Ends when the consumer
// stops.
async<> serve(Consumer& consumer, std::function<Outcome(Exchange&)> work, bool& stopping) {
  Result<void> opened = co_await consumer.open();
  DROM_ASSERT(opened);
  while (true) {
    Result<Batch> batch = co_await consumer.poll(10);
    if (batch->empty() && stopping) break;
    std::vector<Receipt> receipts;
    for (Exchange& exchange : *batch) {
      const Outcome outcome = work(exchange);
      receipts.push_back(Receipt{std::move(exchange), outcome});
    }
    const Result<void> settled = co_await consumer.settle(std::move(receipts));
    EXPECT_TRUE(settled.ok());
  }
  co_await consumer.close();
}

class PlatformHttp : public ::testing::Test {
 protected:
  PlatformHttp() {
    harness.property_map["drom.http.host"] = "127.0.0.1";
    harness.property_map["drom.http.port"] = "0";
    register_http(harness.registry());
  }
  ~PlatformHttp() override {
    stop();
    consumers.clear();
    harness.stop();
  }
  void add(const Options& options, std::function<Outcome(Exchange&)> work) {
    endpoints.push_back(make_endpoint(harness, "platform-http", options));
    Result<std::unique_ptr<Consumer>> made = endpoints.back()->make_consumer();
    ASSERT_TRUE(made) << made.error().message();
    consumers.push_back(std::move(*made));
    works.push_back(std::move(work));
  }
  void start() {
    const Result<void> started = harness.start();
    ASSERT_TRUE(started) << started.error().message();
    server = *HttpServer::of(harness);
    for (size_t i = 0; i < consumers.size(); ++i)
      harness.spawn(serve(*consumers[i], works[i], stopping));
    harness.settle();
  }
  void stop() {
    stopping = true;
    for (auto& consumer : consumers) consumer->stop();
    harness.settle();
    harness.advance(milliseconds(100));
  }
  RawReply ask(std::string_view text) { return RawClient(harness, server->port()).ask(text); }
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(server->port()) + path;
  }
  // Sends through an http producer; the exchange holds what came back.
  Exchange send(const Options& options, Message message) {
    endpoints.push_back(make_endpoint(harness, "http", options));
    Result<std::unique_ptr<Producer>> made = endpoints.back()->make_producer();
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    Exchange exchange(std::move(message), ExchangePattern::in_out);
    if (!made) return exchange;
    drom::testing::send(harness, **made, exchange);
    return exchange;
  }

  Harness harness;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::unique_ptr<Consumer>> consumers;
  std::vector<std::function<Outcome(Exchange&)>> works;
  HttpServer* server = nullptr;
  bool stopping = false;
};

// The routes of the quickstart.
TEST_F(PlatformHttp, ServesTheOrdersOfTheQuickstart) {
  std::string created;
  add({{"path", "/orders"}, {"httpMethodRestrict", "POST"}, {"consumes", "application/json"}},
      [&](Exchange& e) {
        created = e.message.body.to_text();
        EXPECT_EQ(e.pattern, ExchangePattern::in_out);
        e.message.body = *parse_json(R"({"status":"accepted"})");
        e.message.headers.set("CamelHttpResponseCode", Value(202));
        return Outcome::done;
      });
  add({{"path", "orders/{id}"}, {"httpMethodRestrict", "GET"}}, [](Exchange& e) {
    e.message.body = Value("order " + std::string(e.message.headers.text("id")));
    return Outcome::done;
  });
  start();
  RawReply reply =
      ask("POST /orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: "
          "8\r\n\r\n{\"id\":7}");
  EXPECT_EQ(created, "{\"id\":7}");
  EXPECT_EQ(reply.status, 202);
  EXPECT_TRUE(reply.has("Content-Type: application/json"));
  EXPECT_EQ(reply.body, R"({"status":"accepted"})");
  EXPECT_EQ(ask("GET /orders/42 HTTP/1.1\r\nHost: h\r\n\r\n").body, "order 42");
  EXPECT_EQ(ask("GET /orders HTTP/1.1\r\nHost: h\r\n\r\n").status, 405);
  EXPECT_EQ(ask("POST /orders HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx").status, 415);
}

TEST_F(PlatformHttp, AnswersByTheFateOfTheExchange) {
  add({{"path", "/{fate}"}}, [](Exchange& e) {
    const std::string_view fate = e.message.headers.text("fate");
    e.serial = 9;
    if (fate == "released") return Outcome::released;
    if (fate == "silent") {
      e.message.body = Value();
      return Outcome::done;
    }
    e.fail(Error(fate == "data" ? ErrorKind::data : ErrorKind::bug, "told in words"));
    return Outcome::failed;
  });
  start();
  const RawReply data = ask("GET /data HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(data.status, 400);
  EXPECT_EQ(data.body,
            R"({"error":{"kind":"data","message":"told in words","exchangeId":"test-9"}})");
  const RawReply bug = ask("GET /bug HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(bug.status, 500);
  EXPECT_EQ(bug.body.find("told"), std::string::npos);
  const RawReply released = ask("GET /released HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(released.status, 503);
  EXPECT_TRUE(released.has("Retry-After: 1"));
  EXPECT_EQ(ask("GET /silent HTTP/1.1\r\nHost: h\r\n\r\n").status, 204);
  EXPECT_EQ(ask("GET /x?a=%0a HTTP/1.1\r\nHost: h\r\n\r\n").status, 400);
}

TEST_F(PlatformHttp, BoundsTheQueueAndStopsInOrder) {
  endpoints.push_back(
      make_endpoint(harness, "platform-http", {{"path", "/a"}, {"queueSize", "2"}}));
  consumers.push_back(std::move(*endpoints.back()->make_consumer()));
  Consumer& consumer = *consumers.back();
  ASSERT_TRUE(harness.start());
  server = *HttpServer::of(harness);
  const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(ask(get).status, 503);  // not yet open
  ASSERT_TRUE(harness.run(consumer.open()));
  RawClient one(harness, server->port());
  RawClient two(harness, server->port());
  one.send(get);
  two.send(get);
  EXPECT_EQ(ask(get).status, 503);  // the queue is full
  consumer.stop();
  Result<Batch> batch = harness.run(consumer.poll(10));
  ASSERT_EQ(batch->size(), 2u);  // accepted before the stop
  EXPECT_EQ(ask(get).status, 503);
  EXPECT_TRUE(harness.run(consumer.poll(10))->empty());
  std::vector<Receipt> receipts;
  for (Exchange& exchange : *batch) receipts.push_back(Receipt{std::move(exchange), Outcome::done});
  ASSERT_TRUE(harness.run(consumer.settle(std::move(receipts))));
  EXPECT_EQ(one.reply().status, 204);
  EXPECT_EQ(two.reply().status, 204);
  harness.run(consumer.close());
}

TEST_F(PlatformHttp, RefusesWrongOptionsAndDoubleRoutes) {
  EXPECT_FALSE(
      try_endpoint(harness, "platform-http", {{"path", "/a"}, {"httpMethodRestrict", "BREW"}}));
  EXPECT_FALSE(try_endpoint(harness, "platform-http", {{"path", "/a"}, {"produces", "a\r\nb"}}));
  add({{"path", "/a/{b}"}}, nullptr);
  auto second = make_endpoint(harness, "platform-http", {{"path", "/a/{c}"}});
  const Result<std::unique_ptr<Consumer>> made = second->make_consumer();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::config);
}

TEST_F(PlatformHttp, TalksToItsOwnProducer) {
  Headers seen;
  std::string body;
  add({{"path", "/echo"}}, [&](Exchange& e) {
    seen = e.message.headers;
    body = e.message.body.to_text();
    e.message.headers.set("X-Answer", Value("yes"));
    e.message.headers.set("Content-Type", Value("text/csv"));
    e.message.body = Value("a;b");
    return Outcome::done;
  });
  start();
  Message message;
  message.body = *parse_json(R"({"n":1})");
  message.headers.set("X-Id", Value(7));
  message.headers.set("CamelHttpMethod", Value("DELETE"));
  message.headers.set("CamelHttpUri", Value("http://evil"));
  message.headers.set("Host", Value("evil"));
  message.headers.set("Authorization", Value("Bearer inbound"));
  message.headers.set("Cookie", Value("inbound"));
  message.headers.set("X-Bad", Value("a\nb"));
  Exchange exchange =
      send({{"httpUri", url("/echo")}, {"q", "a b&c"}, {"authBearerToken", "t0ken"}},
           std::move(message));
  ASSERT_TRUE(exchange.running()) << exchange.error->message();
  EXPECT_EQ(body, R"({"n":1})");
  EXPECT_EQ(seen.text("CamelHttpMethod"), "POST");
  EXPECT_EQ(seen.text("CamelHttpUri"), "/echo?q=a%20b%26c");
  EXPECT_EQ(seen.text("q"), "a b&c");
  EXPECT_EQ(seen.text("X-Id"), "7");
  EXPECT_EQ(seen.text("Content-Type"), "application/json");
  EXPECT_EQ(seen.text("Host"), "127.0.0.1:" + std::to_string(server->port()));
  EXPECT_EQ(seen.text("Authorization"), "Bearer t0ken");
  EXPECT_EQ(seen.find("Cookie"), nullptr);
  EXPECT_EQ(seen.find("X-Bad"), nullptr);
  EXPECT_TRUE(harness.captured.contains("X-Bad"));
  EXPECT_EQ(exchange.message.body, Value(Bytes(std::string("a;b"))));
  EXPECT_EQ(exchange.message.headers.text("Content-Type"), "text/csv");
  EXPECT_EQ(exchange.message.headers.text("X-Answer"), "yes");
  EXPECT_EQ(*exchange.message.headers.find("CamelHttpResponseCode"), Value(200));
}

TEST_F(PlatformHttp, ChoosesTheMethodByOptionOrBody) {
  std::string method;
  add({{"path", "/m"}}, [&](Exchange& e) {
    method = e.message.headers.text("CamelHttpMethod");
    e.message.body = Value();
    return Outcome::done;
  });
  start();
  send({{"httpUri", url("/m")}}, Message());
  EXPECT_EQ(method, "GET");
  Message text;
  text.body = Value("x");
  send({{"httpUri", url("/m")}}, text);
  EXPECT_EQ(method, "POST");
  send({{"httpUri", url("/m")}, {"httpMethod", "DELETE"}}, text);
  EXPECT_EQ(method, "DELETE");
  Message credentials;
  credentials.headers.set("Authorization", Value("Bearer inbound"));
  EXPECT_TRUE(
      send({{"httpUri", url("/m")}, {"forwardCredentials", "true"}}, credentials).running());
}

TEST_F(PlatformHttp, TurnsStatusesIntoErrors) {
  add({{"path", "/status/{code}"}}, [](Exchange& e) {
    e.message.headers.set("CamelHttpResponseCode", Value(e.message.headers.text("code")));
    e.message.headers.set("Retry-After", Value(7));
    e.message.body = Value("sorry");
    return Outcome::done;
  });
  start();
  Exchange refused = send({{"httpUri", url("/status/409")}}, Message());
  ASSERT_TRUE(refused.failed());
  EXPECT_EQ(refused.error->kind, ErrorKind::rejected);
  EXPECT_EQ(refused.error->type, "org.apache.camel.http.base.HttpOperationFailedException");
  EXPECT_EQ(*refused.properties.find("CamelHttpResponseCode"), Value(409));
  EXPECT_EQ(refused.properties.find("CamelHttpResponseBody")->raw(), "sorry");
  EXPECT_TRUE(refused.message.headers.empty());
  for (const char* code : {"408", "429", "500", "503"}) {
    Exchange again = send({{"httpUri", url("/status/") + code}}, Message());
    ASSERT_TRUE(again.failed());
    EXPECT_EQ(again.error->kind, ErrorKind::transient) << code;
    EXPECT_EQ(again.error->retry_after, milliseconds(7000));
  }
  EXPECT_TRUE(
      send({{"httpUri", url("/status/404")}, {"throwExceptionOnFailure", "false"}}, Message())
          .running());
  EXPECT_TRUE(
      send({{"httpUri", url("/status/404")}, {"okStatusCodeRange", "200-299,404"}}, Message())
          .running());
  EXPECT_TRUE(send({{"httpUri", url("/status/302")}}, Message()).failed());
}

TEST_F(PlatformHttp, FollowsRedirectsOnlyWhenAskedAndKeepsCredentialsAtHome) {
  std::vector<std::string> seen;
  std::string location;
  add({{"path", "/from"}}, [&](Exchange& e) {
    seen.push_back("from " + std::string(e.message.headers.text("Authorization")));
    e.message.headers.set("CamelHttpResponseCode", Value(302));
    e.message.headers.set("Location", Value(location));
    return Outcome::done;
  });
  add({{"path", "/to"}}, [&](Exchange& e) {
    seen.push_back("to " + std::string(e.message.headers.text("Authorization")));
    return Outcome::done;
  });
  start();
  const Options options{{"httpUri", url("/from")},
                        {"followRedirects", "true"},
                        {"authUsername", "u"},
                        {"authPassword", "p"}};
  location = "/to";
  EXPECT_TRUE(send(options, Message()).running());
  location =
      "http://localhost:" + std::to_string(server->port()) + "/to";  // another name: another host
  EXPECT_TRUE(send(options, Message()).running());
  EXPECT_EQ(seen, (std::vector<std::string>{"from Basic dTpw", "to Basic dTpw", "from Basic dTpw",
                                            "to "}));
  seen.clear();
  location = "/from";
  EXPECT_TRUE(send(options, Message()).failed());
  EXPECT_EQ(seen.size(), 6u);
  Message post;
  post.body = Value("x");
  EXPECT_TRUE(send(options, post).failed());
  EXPECT_EQ(seen.size(), 12u);  // as GET from the second on
  for (const char* nowhere : {"ftp://h/", "http:///", "file:///etc/passwd", ""}) {
    location = nowhere;
    EXPECT_TRUE(send(options, Message()).failed()) << nowhere;
  }
}

// Case C58: no secret is ever told.
TEST_F(PlatformHttp, TellsNoSecrets) {
  const auto endpoint = make_endpoint(harness, "http",
                                      {{"httpUri", "http://127.0.0.1:1/q"},
                                       {"x", "1"},
                                       {"api-key", "K1SECRET"},
                                       {"authorization", "Bearer T2SECRET"},
                                       {"note", "a}b"},
                                       {"authPassword", "P3SECRET"},
                                       {"authUsername", "svc"}});
  const std::string uri = endpoint->uri();
  EXPECT_NE(uri.find("127.0.0.1:1/q?x=1"), std::string::npos);
  EXPECT_NE(uri.find("note=a"), std::string::npos);
  EXPECT_EQ(uri.find("SECRET"), std::string::npos);
  Exchange exchange =
      send({{"httpUri", "http://127.0.0.1:1/q"}, {"api-key", "K1SECRET"}}, Message());
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::not_connected);
  EXPECT_EQ(exchange.error->message().find("SECRET"), std::string::npos);
}

TEST_F(PlatformHttp, RefusesProducerOptionsThatCannotBeMeant) {
  const auto wrong = [&](Options more) {
    more.emplace_back("httpUri", "http://h");
    const auto made = try_endpoint(harness, "http", more);
    return made.ok() ? std::string() : made.error().what;
  };
  EXPECT_NE(wrong({{"cookieStore", "p"}}).find("cookieStore"), std::string::npos);
  EXPECT_NE(wrong({{"okStatusCodeRange", "200-"}}), "");
  EXPECT_NE(wrong({{"okStatusCodeRange", "300-200"}}), "");
  EXPECT_NE(wrong({{"authMethod", "Basic"}}), "");
  EXPECT_NE(wrong({{"authUsername", "u"}, {"authBearerToken", "t"}}), "");
  EXPECT_NE(wrong({{"httpMethod", "BREW"}}), "");
  EXPECT_EQ(wrong({{"bridgeEndpoint", "true"}, {"anything", "x"}}), "");
  EXPECT_FALSE(try_endpoint(harness, "http", {{"httpUri", "http://u:pw@h"}}));
}

class PlatformHttpTls : public PlatformHttp {
 protected:
  // Before the first route: the server is made with it.
  void use(const TestCertificate& certificate) {
    harness.property_map["drom.http.certificateFile"] = certificate.certificate();
    harness.property_map["drom.http.keyFile"] = certificate.key();
  }
  void serve_with(const TestCertificate& certificate) {
    use(certificate);
    add({{"path", "/tls"}}, [](Exchange& e) {
      e.message.body =
          Value(std::string(e.message.headers.text("CamelHttpUrl")) + e.message.body.to_text());
      return Outcome::done;
    });
    start();
  }
  std::string tls_url(const std::string& host = "127.0.0.1") const {
    return "https://" + host + ":" + std::to_string(server->port()) + "/tls";
  }
};

TEST_F(PlatformHttpTls, SpeaksTlsBothWaysAndReusesTheConnection) {
  const TestCertificate certificate("127.0.0.1");
  serve_with(certificate);
  for (int i = 0; i < 3; ++i) {
    Exchange exchange =
        send({{"httpUri", tls_url()}, {"caFile", certificate.certificate()}}, Message());
    ASSERT_TRUE(exchange.running()) << exchange.error->message();
    EXPECT_EQ(exchange.message.body.to_text(), tls_url());
  }
  EXPECT_EQ(server->connections(), 1u);
  Message large;
  large.body = Value(std::string(900'000, 'x'));
  Exchange exchange = send({{"httpUri", tls_url()}, {"caFile", certificate.certificate()}}, large);
  ASSERT_TRUE(exchange.running()) << exchange.error->message();
  EXPECT_EQ(exchange.message.body.raw().size(), 900'000 + tls_url().size());
  EXPECT_TRUE(harness.captured.contains("http listening on https://127.0.0.1:"));
}

TEST_F(PlatformHttpTls, TrustsNeitherStrangersNorOtherNames) {
  const TestCertificate certificate("shop.example");
  serve_with(certificate);
  Exchange wrong_name =
      send({{"httpUri", tls_url()}, {"caFile", certificate.certificate()}}, Message());
  ASSERT_TRUE(wrong_name.failed());
  EXPECT_EQ(wrong_name.error->kind, ErrorKind::rejected);
  Exchange stranger = send({{"httpUri", tls_url("localhost")}}, Message());
  ASSERT_TRUE(stranger.failed());
  EXPECT_FALSE(harness.captured.contains("trustAllCertificates"));
  Exchange careless = send({{"httpUri", tls_url()}, {"trustAllCertificates", "true"}}, Message());
  EXPECT_TRUE(careless.running());
  EXPECT_TRUE(harness.captured.contains("trustAllCertificates"));
}

TEST_F(PlatformHttpTls, NeverFollowsARedirectOutOfTls) {
  const TestCertificate certificate("127.0.0.1");
  use(certificate);
  add({{"path", "/away"}}, [](Exchange& e) {
    e.message.headers.set("CamelHttpResponseCode", Value(302));
    e.message.headers.set("Location", Value("http://127.0.0.1:1/"));
    return Outcome::done;
  });
  serve_with(certificate);
  const std::string away = "https://127.0.0.1:" + std::to_string(server->port()) + "/away";
  Exchange exchange =
      send({{"httpUri", away}, {"caFile", certificate.certificate()}, {"followRedirects", "true"}},
           Message());
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::rejected);  // the 302, not a failed connection
}

TEST_F(PlatformHttpTls, AnswersPlainTextOnATlsPortByClosing) {
  const TestCertificate certificate("127.0.0.1");
  serve_with(certificate);
  RawClient client(harness, server->port());
  client.send("GET /tls HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(PlatformHttpTls, RefusesFilesThatAreNoCertificates) {
  const TestCertificate one("127.0.0.1");
  const TestCertificate two("127.0.0.1");
  EXPECT_FALSE(make_server_tls(one.key(), one.key()));
  EXPECT_FALSE(make_server_tls(one.certificate(), two.key()));
  EXPECT_FALSE(make_server_tls(one.certificate(), "/no/such/file"));
  ClientTls client;
  client.ca_file = "/no/such/file";
  EXPECT_FALSE(make_client_tls(client));
}

}  // namespace
}  // namespace drom::http
