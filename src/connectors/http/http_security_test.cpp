// OAuth, TLS and proxies of the http producer.
#include <gtest/gtest.h>

#include "connectors/http/producer_fixture.hpp"
#include "support/http_servers.hpp"
#include "support/test_certificate.hpp"

namespace drom::http {
namespace {

using drom::testing::TestCertificate;
using drom::testing::TlsServer;
using drom::testing::TunnelProxy;

std::string token_answer(const std::string& token, int seconds) {
  return answer(200, "Content-Type: application/json\r\n",
                "{\"access_token\":\"" + token +
                    "\",\"token_type\":\"Bearer\",\"expires_in\":" + std::to_string(seconds) + "}");
}

class HttpOAuth : public ProducerFixture {
 protected:
  Options oauth(const ScriptedServer& tokens, Options more = {}) {
    more.emplace_back("oauth2TokenEndpoint", url(tokens, "/token"));
    more.emplace_back("oauth2ClientId", "shop:1");
    more.emplace_back("oauth2ClientSecret", "S3CRET/+");
    return more;
  }
};

TEST_F(HttpOAuth, GetsATokenOnceAndKeepsItUntilShortlyBeforeItExpires) {
  ScriptedServer& tokens = serve({token_answer("T1", 100), token_answer("T2", 100)});
  ScriptedServer& server = serve({answer(200), answer(200), answer(200)});
  Producer& producer = open(url(server), oauth(tokens, {{"oauth2Scope", "read write"}}));
  EXPECT_TRUE(send(producer).running());
  harness.advance(std::chrono::seconds(90));
  EXPECT_TRUE(send(producer).running());
  EXPECT_EQ(tokens.requests.size(), 1u);
  harness.advance(std::chrono::seconds(6));  // 4 seconds before the end
  EXPECT_TRUE(send(producer).running());
  EXPECT_EQ(tokens.requests.size(), 2u);
  EXPECT_EQ(header(server.requests.at(1), "Authorization"), "Bearer T1");
  EXPECT_EQ(header(server.requests.at(2), "Authorization"), "Bearer T2");
  const std::string& request = tokens.requests.at(0);
  EXPECT_TRUE(request.starts_with("POST /token HTTP/1.1\r\n"));
  EXPECT_EQ(body_of(request), "grant_type=client_credentials&scope=read%20write");
  // "shop%3A1:S3CRET%2F%2B"
  EXPECT_EQ(header(request, "Authorization"), "Basic c2hvcCUzQTE6UzNDUkVUJTJGJTJC");
}

TEST_F(HttpOAuth, SendsTheSecretInTheBodyWhenToldSo) {
  ScriptedServer& tokens = serve({token_answer("T1", 100)});
  ScriptedServer& server = serve({answer(200)});
  EXPECT_TRUE(
      send(open(url(server), oauth(tokens, {{"oauth2BodyAuthentication", "true"}}))).running());
  EXPECT_EQ(header(tokens.requests.at(0), "Authorization"), "-");
  EXPECT_EQ(body_of(tokens.requests.at(0)),
            "grant_type=client_credentials&client_id=shop%3A1&client_secret=S3CRET%2F%2B");
}

async<> send_one(Producer& producer, Harness& harness, int& good) {
  Exchange exchange;
  Scope scope = harness.scope();
  co_await run_one(producer, exchange, scope);
  if (exchange.running()) ++good;
}

TEST_F(HttpOAuth, FetchesOneTokenForAllWhoWait) {
  ScriptedServer& tokens = serve({token_answer("T1", 100)});
  ScriptedServer& server = serve(std::vector<std::string>(8, answer(200)));
  Producer& producer = open(url(server), oauth(tokens));
  int good = 0;
  for (int i = 0; i < 8; ++i) harness.spawn(send_one(producer, harness, good));
  harness.advance(std::chrono::seconds(1));
  EXPECT_EQ(good, 8);
  EXPECT_EQ(tokens.requests.size(), 1u);
}

TEST_F(HttpOAuth, RenewsTheTokenOnceAfter401) {
  ScriptedServer& tokens = serve({token_answer("T1", 3600), token_answer("T2", 3600)});
  ScriptedServer& server = serve({answer(200), answer(401), answer(200), answer(401), answer(401)});
  Producer& producer = open(url(server), oauth(tokens));
  EXPECT_TRUE(send(producer).running());
  EXPECT_TRUE(send(producer, with_body("x")).running()) << "also POST: nothing was done";
  EXPECT_EQ(header(server.requests.at(2), "Authorization"), "Bearer T2");
  EXPECT_EQ(body_of(server.requests.at(2)), "x");
  const Exchange out = send(producer);
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::rejected);
  EXPECT_EQ(tokens.requests.size(), 2u) << "a fresh token that is refused is not renewed at once";
}

TEST_F(HttpOAuth, TellsWhyThereIsNoTokenAndDoesNotHammer) {
  ScriptedServer& tokens =
      serve({answer(401, "", "{\"error\":\"invalid_client\"}"), token_answer("T1", 100)});
  ScriptedServer& server = serve({answer(200)});
  Producer& producer = open(url(server), oauth(tokens, {{"maxRetries", "3"}}));
  for (int i = 0; i < 5; ++i) {
    const Exchange out = send(producer);
    ASSERT_TRUE(out.failed());
    EXPECT_EQ(out.error->kind, ErrorKind::rejected);
    EXPECT_NE(out.error->message().find("401 invalid_client"), std::string::npos) << wrong(out);
    EXPECT_NE(out.error->message().find("oauth2ClientSecret"), std::string::npos);
    EXPECT_EQ(out.error->message().find("S3CRET"), std::string::npos);
  }
  EXPECT_EQ(tokens.requests.size(), 1u);
  EXPECT_TRUE(server.requests.empty());
  harness.advance(std::chrono::seconds(2));
  EXPECT_TRUE(send(producer).running());
}

TEST_F(HttpOAuth, TakesNoTokenThatIsNone) {
  ScriptedServer& tokens =
      serve({answer(200, "", "<html>"), answer(200, "", R"({"access_token":"a\r\nb"})"),
             answer(200, "", R"({"access_token":"a","token_type":"mac"})"), answer(503)});
  ScriptedServer& server = serve({});
  Producer& producer = open(url(server), oauth(tokens));
  for (int i = 0; i < 4; ++i) {
    const Exchange out = send(producer);
    ASSERT_TRUE(out.failed());
    EXPECT_EQ(out.error->kind, i == 3 ? ErrorKind::transient : ErrorKind::rejected) << wrong(out);
    harness.advance(std::chrono::seconds(2));
  }
  EXPECT_TRUE(server.requests.empty());
}

TEST_F(HttpOAuth, RefusesOptionsThatCannotBeMeant) {
  const auto wrong_with = [&](Options more) {
    more.emplace_back("httpUri", "http://h");
    return !drom::testing::try_endpoint(harness, "http", more).ok();
  };
  EXPECT_TRUE(wrong_with({{"oauth2ClientId", "a"}}));
  EXPECT_TRUE(wrong_with({{"oauth2TokenEndpoint", "http://t"}, {"oauth2ClientId", "a"}}));
  EXPECT_TRUE(wrong_with({{"oauth2TokenEndpoint", "http://t"},
                          {"oauth2ClientId", "a"},
                          {"oauth2ClientSecret", "s"},
                          {"authBearerToken", "b"}}));
  EXPECT_TRUE(wrong_with({{"certificateFile", "c.pem"}}));
  EXPECT_TRUE(wrong_with({{"proxyPort", "80"}}));
  EXPECT_TRUE(wrong_with({{"proxyHost", "http://p"}}));
  EXPECT_TRUE(wrong_with({{"proxyHost", "p:3128"}}));
}

class HttpTls : public ProducerFixture {
 protected:
  ~HttpTls() override {
    if (tls) tls->stop();
    if (proxy) proxy->stop();
  }
  // `client`: the certificate that it wants to see.
  void serve_tls(const TestCertificate& certificate, const TestCertificate* client = nullptr) {
    auto context =
        std::make_shared<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
    context->use_certificate_chain_file(certificate.certificate());
    context->use_private_key_file(certificate.key(), boost::asio::ssl::context::pem);
    if (client) {
      context->load_verify_file(client->certificate());
      context->set_verify_mode(boost::asio::ssl::verify_peer |
                               boost::asio::ssl::verify_fail_if_no_peer_cert);
    }
    tls = std::make_unique<TlsServer>(harness, context, answer(200, "", "secret"));
  }
  std::string tls_url(const std::string& host = "127.0.0.1") const {
    return "https://" + host + ":" + std::to_string(tls->port()) + "/t";
  }
  // A second message right after the first asks nobody.
  void expect_refused(const Options& options, const std::string& why, const std::string& hint,
                      const std::string& host = "127.0.0.1") {
    Producer& producer = open(tls_url(host), options);
    for (int i = 0; i < 3; ++i) {
      const Exchange out = send(producer);
      ASSERT_TRUE(out.failed());
      EXPECT_EQ(out.error->kind, ErrorKind::rejected) << wrong(out);
      EXPECT_NE(out.error->message().find(why), std::string::npos) << wrong(out);
      EXPECT_NE(out.error->message().find(hint), std::string::npos) << wrong(out);
      EXPECT_NE(out.error->message().find(std::to_string(tls->port())), std::string::npos);
    }
    EXPECT_EQ(tls->connections(), 1u) << "no hammering";
    EXPECT_TRUE(tls->requests.empty());
  }

  std::unique_ptr<TlsServer> tls;
  std::unique_ptr<TunnelProxy> proxy;
};

TEST_F(HttpTls, RefusesACertificateForAnotherHost) {
  const TestCertificate certificate("shop.example");
  serve_tls(certificate);
  expect_refused({{"caFile", certificate.certificate()}, {"maxRetries", "5"}},
                 "is for another host", "use a name");
}

TEST_F(HttpTls, RefusesACertificateForAnotherName) {
  const TestCertificate certificate("shop.example");
  serve_tls(certificate);
  expect_refused({{"caFile", certificate.certificate()}}, "is for another host", "use a name",
                 "localhost");
}

TEST_F(HttpTls, RefusesAnExpiredCertificate) {
  const TestCertificate certificate("127.0.0.1", -10);
  serve_tls(certificate);
  expect_refused({{"caFile", certificate.certificate()}}, "has expired", "clock");
}

TEST_F(HttpTls, RefusesACertificateOfAnUnknownAuthority) {
  const TestCertificate certificate("127.0.0.1");
  const TestCertificate other("127.0.0.1");
  serve_tls(certificate);
  expect_refused({{"caFile", other.certificate()}}, "unknown authority", "caFile");
}

TEST_F(HttpTls, TriesAgainAfterASecond) {
  const TestCertificate certificate("shop.example");
  serve_tls(certificate);
  Producer& producer = open(tls_url(), {{"caFile", certificate.certificate()}});
  EXPECT_TRUE(send(producer).failed());
  harness.advance(milliseconds(1100));
  EXPECT_TRUE(send(producer).failed());
  EXPECT_EQ(tls->connections(), 2u);
}

TEST_F(HttpTls, ShowsItsCertificateToServersThatWantOne) {
  const TestCertificate certificate("127.0.0.1");
  const TestCertificate mine("client.example");
  const TestCertificate stranger("client.example");
  serve_tls(certificate, &mine);
  const std::string ca = certificate.certificate();
  const Exchange good = send(
      open(tls_url(),
           {{"caFile", ca}, {"certificateFile", mine.certificate()}, {"keyFile", mine.key()}}));
  ASSERT_TRUE(good.running()) << wrong(good);
  EXPECT_EQ(good.message.body.to_text(), "secret");
  const Exchange none = send(open(tls_url(), {{"caFile", ca}}));
  ASSERT_TRUE(none.failed());
  EXPECT_EQ(none.error->kind, ErrorKind::rejected) << wrong(none);
  EXPECT_NE(none.error->message().find("certificateFile"), std::string::npos) << wrong(none);
  const Exchange other = send(open(
      tls_url(),
      {{"caFile", ca}, {"certificateFile", stranger.certificate()}, {"keyFile", stranger.key()}}));
  ASSERT_TRUE(other.failed());
  EXPECT_EQ(other.error->kind, ErrorKind::rejected) << wrong(other);
  EXPECT_EQ(tls->requests.size(), 1u) << "each certificate has connections of its own";
}

TEST_F(HttpTls, FindsWrongCertificateFilesBeforeItStarts) {
  const TestCertificate mine("client.example");
  const TestCertificate other("client.example");
  const auto made = [&](const std::string& certificate, const std::string& key) {
    const auto endpoint = drom::testing::make_endpoint(
        harness, "http",
        {{"httpUri", "https://127.0.0.1"}, {"certificateFile", certificate}, {"keyFile", key}});
    const Result<std::unique_ptr<Producer>> producer = endpoint->make_producer();
    return producer ? std::string() : producer.error().message();
  };
  EXPECT_EQ(made(mine.certificate(), mine.key()), "");
  EXPECT_NE(made(mine.certificate(), other.key()).find("key.pem"), std::string::npos);
  EXPECT_NE(made("/no/such/file", mine.key()).find("/no/such/file"), std::string::npos);
}

TEST_F(HttpTls, TellsThatThereIsNoTls) {
  ScriptedServer& server = serve({"HTTP/1.1 400 Bad Request\r\n\r\n"});
  const TestCertificate certificate("127.0.0.1");
  Producer& producer =
      open("https://127.0.0.1:" + std::to_string(server.port()), {{"connectTimeout", "2s"}});
  const Exchange out = send(producer);
  ASSERT_TRUE(out.failed());
  EXPECT_TRUE(out.error->kind == ErrorKind::rejected ||
              out.error->kind == ErrorKind::not_connected);
  EXPECT_NE(out.error->message().find(std::to_string(server.port())), std::string::npos);
}

TEST_F(HttpTls, GoesThroughATunnel) {
  const TestCertificate certificate("127.0.0.1");
  serve_tls(certificate);
  proxy = std::make_unique<TunnelProxy>(harness, tls->port(),
                                        "HTTP/1.0 200 Connection established\r\n\r\n");
  Producer& producer = open(tls_url(), {{"caFile", certificate.certificate()},
                                        {"proxyHost", "127.0.0.1"},
                                        {"proxyPort", std::to_string(proxy->port())},
                                        {"proxyAuthUsername", "u"},
                                        {"proxyAuthPassword", "p"},
                                        {"authBearerToken", "T1"}});
  for (int i = 0; i < 2; ++i) {
    const Exchange out = send(producer);
    ASSERT_TRUE(out.running()) << wrong(out);
    EXPECT_EQ(out.message.body.to_text(), "secret");
  }
  ASSERT_EQ(proxy->requests.size(), 1u) << "the tunnel is used again";
  const std::string place = "127.0.0.1:" + std::to_string(tls->port());
  EXPECT_TRUE(proxy->requests[0].starts_with("CONNECT " + place + " HTTP/1.1\r\n"));
  EXPECT_EQ(header(proxy->requests[0], "Proxy-Authorization"), "Basic dTpw");
  EXPECT_EQ(header(proxy->requests[0], "Authorization"), "-");
  EXPECT_TRUE(tls->requests.at(0).starts_with("GET /t HTTP/1.1\r\n"));
  EXPECT_EQ(header(tls->requests.at(0), "Proxy-Authorization"), "-");
}

TEST_F(HttpTls, TellsThatAProxyGivesNoTunnel) {
  const TestCertificate certificate("127.0.0.1");
  serve_tls(certificate);
  proxy = std::make_unique<TunnelProxy>(harness, tls->port(),
                                        "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno");
  Producer& producer = open(tls_url(), {{"proxyHost", "127.0.0.1"},
                                        {"proxyPort", std::to_string(proxy->port())},
                                        {"proxyAuthUsername", "u"},
                                        {"proxyAuthPassword", "S3CRET"}});
  for (int i = 0; i < 3; ++i) {
    const Exchange out = send(producer);
    ASSERT_TRUE(out.failed());
    EXPECT_EQ(out.error->kind, ErrorKind::rejected) << wrong(out);
    EXPECT_NE(out.error->message().find("proxyAuthUsername"), std::string::npos) << wrong(out);
    EXPECT_EQ(out.error->message().find("S3CRET"), std::string::npos);
  }
  EXPECT_EQ(proxy->requests.size(), 1u) << "no hammering";
  EXPECT_EQ(tls->connections(), 0u);
}

class HttpProxy : public ProducerFixture {};

TEST_F(HttpProxy, GetsPlainRequestsWithTheWholeUrl) {
  ScriptedServer& proxy = serve({answer(200, "", "via"), answer(407)});
  const Options options{{"proxyHost", "127.0.0.1"},
                        {"proxyPort", std::to_string(proxy.port())},
                        {"proxyAuthUsername", "u"},
                        {"proxyAuthPassword", "p"},
                        {"nonProxyHosts", "localhost|127.*"}};
  const Exchange out = send(open("http://shop.example:81/a?x=1", options));
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_EQ(out.message.body.to_text(), "via");
  EXPECT_TRUE(
      proxy.requests.at(0).starts_with("GET http://shop.example:81/a?x=1 HTTP/1.1\r\nHost: "
                                       "shop.example:81\r\n"));
  EXPECT_EQ(header(proxy.requests.at(0), "Proxy-Authorization"), "Basic dTpw");
  const Exchange refused = send(open("http://shop.example/", options));
  ASSERT_TRUE(refused.failed());
  EXPECT_NE(refused.error->message().find("proxyAuthPassword"), std::string::npos);
  ScriptedServer& straight = serve({answer(200, "", "straight")});
  EXPECT_EQ(send(open(url(straight), options)).message.body.to_text(), "straight");
  EXPECT_EQ(header(straight.requests.at(0), "Proxy-Authorization"), "-");
}

}  // namespace
}  // namespace drom::http
