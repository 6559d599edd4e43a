#include "connectors/http/webhook.hpp"

#include <gtest/gtest.h>

#include "connectors/http/http.hpp"
#include "support/endpoints.hpp"
#include "support/scripted_server.hpp"

namespace drom::http {
namespace {

using drom::testing::Harness;
using drom::testing::Options;
using drom::testing::ScriptedServer;

const char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const char kSecret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

// The example of the specification.
TEST(WebhookSignature, IsThatOfTheSpecification) {
  const Result<std::vector<std::string>> keys = signing_keys(kSecret);
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(
      signature(*keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "{\"test\": 2432232314}"),
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, SignsWithEveryKeyWhileOneReplacesTheOther) {
  const Result<std::vector<std::string>> keys = signing_keys("plain  whsec_YWJj");
  ASSERT_TRUE(keys.ok());
  EXPECT_EQ(*keys, (std::vector<std::string>{"plain", "abc"}));
  const std::string both = signature(*keys, "id", "1", "");
  EXPECT_EQ(both, signature({"plain"}, "id", "1", "") + " " + signature({"abc"}, "id", "1", ""));
}

TEST(WebhookSignature, AWrongSecretIsNotShown) {
  const Result<std::vector<std::string>> keys = signing_keys("whsec_no base64!");
  ASSERT_FALSE(keys.ok());
  EXPECT_EQ(keys.error().message().find("base64!"), std::string::npos);
}

class Webhook : public ::testing::Test {
 protected:
  Webhook() { register_http(harness.registry()); }
  ~Webhook() override {
    producer.reset();
    endpoint.reset();
    if (server) server->stop();
    harness.stop();
  }
  void serve(std::vector<std::string> script, Options options = {}) {
    server = std::make_unique<ScriptedServer>(harness, std::move(script));
    options.emplace_back("url", "http://127.0.0.1:" + std::to_string(server->port()) + "/hook");
    options.emplace_back("allowPrivateAddresses", "true");
    open(std::move(options));
  }
  void open(Options options) {
    endpoint = drom::testing::make_endpoint(harness, "webhook", options);
    Result<std::unique_ptr<Producer>> made = endpoint->make_producer();
    ASSERT_TRUE(made) << made.error().message();
    producer = std::move(*made);
  }
  Exchange send(std::string id = "e-1") {
    Exchange exchange;
    exchange.message.body = Value("{\"a\":1}");
    exchange.message.headers.set("outbox.eventId", Value(std::move(id)));
    Batch batch;
    batch.push_back(std::move(exchange));
    Scope scope = harness.scope();
    harness.run(producer->run(batch, scope));
    return std::move(batch.front());
  }
  std::string header(size_t request, const std::string& name) const {
    const std::string& text = server->requests.at(request);
    const size_t at = text.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t from = at + name.size() + 4;
    return text.substr(from, text.find("\r\n", from) - from);
  }

  Harness harness;
  std::unique_ptr<ScriptedServer> server;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Producer> producer;
};

TEST_F(Webhook, SendsASignedRequestAndKeepsTheMessage) {
  serve({kOk}, {{"secret", kSecret}});
  const Exchange out = send();
  EXPECT_TRUE(out.running());
  EXPECT_EQ(out.message.body, Value("{\"a\":1}"));
  EXPECT_TRUE(server->requests.at(0).starts_with("POST /hook HTTP/1.1\r\n"));
  EXPECT_TRUE(server->requests.at(0).ends_with("\r\n\r\n{\"a\":1}"));
  EXPECT_EQ(header(0, "webhook-id"), "e-1");
  EXPECT_EQ(header(0, "webhook-signature"),
            signature(*signing_keys(kSecret), "e-1", header(0, "webhook-timestamp"), "{\"a\":1}"));
}

TEST_F(Webhook, KeepsItsIdAndRenewsItsTimeAtEveryAttempt) {
  serve({"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", kOk}, {{"secret", kSecret}});
  EXPECT_EQ(send().error->kind, ErrorKind::transient);
  harness.advance(std::chrono::seconds(100));
  EXPECT_TRUE(send().running());
  EXPECT_EQ(header(0, "webhook-id"), header(1, "webhook-id"));
  EXPECT_NE(header(0, "webhook-timestamp"), header(1, "webhook-timestamp"));
  EXPECT_NE(header(0, "webhook-signature"), header(1, "webhook-signature"));
}

TEST_F(Webhook, HonoursRetryAfter) {
  serve({"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"});
  const Exchange out = send();
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->retry_after, std::chrono::seconds(7));
}

TEST_F(Webhook, SendsNothingMoreAfterGone) {
  serve({"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", kOk});
  EXPECT_EQ(send("e-1").error->kind, ErrorKind::rejected);
  EXPECT_EQ(send("e-2").error->kind, ErrorKind::rejected);
  EXPECT_EQ(server->requests.size(), 1u);
}

TEST_F(Webhook, FollowsNoRedirect) {
  serve({"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"});
  const Exchange out = send();
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::rejected);
  EXPECT_EQ(server->requests.size(), 1u);
}

TEST_F(Webhook, RefusesAddressesOfPrivateNetworks) {
  for (const char* url : {"http://127.0.0.1:9/x", "http://localhost:9/x", "http://10.1.2.3/x",
                          "http://[::ffff:127.0.0.1]:9/x", "http://169.254.169.254/latest"}) {
    open({{"url", url}});
    const Exchange out = send();
    ASSERT_TRUE(out.failed()) << url;
    EXPECT_EQ(out.error->kind, ErrorKind::rejected) << url << ": " << out.error->message();
    EXPECT_NE(out.error->message().find("allowPrivateAddresses"), std::string::npos);
  }
}

TEST_F(Webhook, NeedsAnIdFitForTheWire) {
  serve({kOk});
  const Exchange out = send("a\r\nX: y");
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::data);
  EXPECT_TRUE(server->requests.empty());
}

TEST_F(Webhook, WaitsForTheCommit) {
  serve({});
  EXPECT_TRUE(producer->defers_in_transaction());
}

}  // namespace
}  // namespace drom::http
