// kafka: what goes wrong outside is said clearly, once, and classed.
#include "support/kafka_fixture.hpp"

namespace drom {
namespace {

using testing::KafkaTest;
using testing::Options;

class KafkaBadInput : public KafkaTest {
 protected:
  Options sasl(const std::string& user, const std::string& password, Options more = {},
               const std::string& mechanism = "PLAIN") {
    more.emplace_back("brokers", std::getenv("DROM_TEST_KAFKA_SASL"));
    more.emplace_back("securityProtocol", "SASL_PLAINTEXT");
    more.emplace_back("saslMechanism", mechanism);
    more.emplace_back("saslUsername", user);
    more.emplace_back("saslPassword", password);
    return more;
  }
  Options tls(const std::string& place, const char* ca, Options more = {}) {
    more.emplace_back("brokers", place);
    more.emplace_back("securityProtocol", "SSL");
    more.emplace_back("sslCaLocation", std::getenv(ca));
    return more;
  }
  static bool says(const Error& error, const std::string& text) {
    return error.message().find(text) != std::string::npos;
  }
};

TEST_F(KafkaBadInput, WrongCredentialsFailTheSendAtOnce) {
  const Exchange sent = send(producer(make_topic(), sasl("app", "wrong")), with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::rejected) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "kafka:" + name)) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "Invalid username or password")) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "saslPassword")) << sent.error->message();
  EXPECT_FALSE(says(*sent.error, "wrong")) << sent.error->message();
}

TEST_F(KafkaBadInput, WrongCredentialsAreToldByTheSource) {
  const Options options = sasl("app", "wrong", {{"groupId", name}, {"pollTimeoutMs", "300"}});
  Consumer& from = consumer(make_topic(), options);
  const std::optional<Error> error = poll_error(from);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::rejected) << error->message();
  EXPECT_TRUE(says(*error, "Invalid username or password")) << error->message();
}

TEST_F(KafkaBadInput, RightCredentialsWork) {
  const std::string topic = make_topic();
  EXPECT_FALSE(send(producer(topic, sasl("app", "app-secret")), with_body("x")).failed());
  Consumer& from = consumer(
      topic, sasl("app", "app-secret", {{"groupId", name}, {"autoOffsetReset", "earliest"}}));
  settle(from, std::move(*next(from)));
}

TEST_F(KafkaBadInput, ScramLetsTheRightPasswordIn) {
  const std::string topic = make_topic();
  EXPECT_FALSE(send(producer(topic, sasl("app", "app-secret", {}, "SCRAM-SHA-256")), with_body("x"))
                   .failed());
  const Exchange sent =
      send(producer(topic, sasl("app", "wrong", {}, "SCRAM-SHA-256")), with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::rejected) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "saslPassword")) << sent.error->message();
  EXPECT_FALSE(says(*sent.error, "wrong")) << sent.error->message();
}

TEST_F(KafkaBadInput, ABrokerMayAskForOurCertificate) {
  const std::string topic = make_topic();
  const std::string place = std::getenv("DROM_TEST_KAFKA_MUTUAL");
  const std::string client = std::getenv("DROM_TEST_KAFKA_CLIENT");
  const auto ours = [&](const std::string& password) {
    return tls(place, "DROM_TEST_KAFKA_CA",
               {{"sslCertificateLocation", client + ".crt"},
                {"sslKeyLocation", client + ".key"},
                {"sslKeyPassword", password}});
  };
  EXPECT_FALSE(send(producer(topic, ours("key-secret")), with_body("x")).failed());
  const Exchange sent = send(producer(topic, tls(place, "DROM_TEST_KAFKA_CA")), with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::rejected) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "sslCertificateLocation")) << sent.error->message();
  // Nothing to wait for: the key cannot be read.
  const auto endpoint = testing::make_endpoint(harness, "kafka", [&] {
    Options all = ours("no-such-secret");
    all.emplace_back("topic", topic);
    return all;
  }());
  Result<std::unique_ptr<Producer>> made = endpoint->make_producer();
  Result<void> opened = made ? harness.run((*made)->open()) : Result<void>(made.error());
  ASSERT_FALSE(opened.ok());
  EXPECT_FALSE(says(opened.error(), "no-such-secret")) << opened.error().message();
  EXPECT_TRUE(says(opened.error(), "sslKeyPassword")) << opened.error().message();
}

TEST_F(KafkaBadInput, ARefusedRightIsPermanent) {
  const std::string topic = make_topic();
  const Exchange sent =
      send(producer(topic, sasl("guest", "guest-secret",
                                {{"enableIdempotence", "false"}, {"messageTimeoutMs", "3s"}})),
           with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::rejected) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "authorization failed")) << sent.error->message();
  Consumer& from =
      consumer(topic, sasl("guest", "guest-secret", {{"groupId", name}, {"pollTimeoutMs", "500"}}));
  const std::optional<Error> error = poll_error(from);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::rejected) << error->message();
  EXPECT_TRUE(says(*error, "uthorization failed")) << error->message();
}

TEST_F(KafkaBadInput, AnUnknownTopicIsNamed) {
  const Exchange sent = send(producer("nosuch", {{"messageTimeoutMs", "10s"}}), with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::rejected) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "kafka:nosuch")) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "create the topic")) << sent.error->message();
  Consumer& from = consumer("nosuch", {{"groupId", name}, {"pollTimeoutMs", "500"}});
  const std::optional<Error> error = poll_error(from);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, ErrorKind::rejected) << error->message();
  EXPECT_TRUE(says(*error, "nosuch")) << error->message();
}

TEST_F(KafkaBadInput, ATooLargeMessageCostsOnlyItself) {
  const std::string topic = make_topic();
  Producer& ours = producer(topic, {});
  Exchange sent = send(ours, with_body(std::string(2'000'000, 'x')));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::data) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "maxRequestSize")) << sent.error->message();
  // Allowed by us, refused by the broker.
  Producer& theirs = producer(topic, {{"maxRequestSize", "5000000"}});
  sent = send(theirs, with_body(std::string(2'000'000, 'x')));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::data) << sent.error->message();
  EXPECT_FALSE(send(ours, with_body("small")).failed());
  EXPECT_FALSE(send(theirs, with_body("small")).failed());
  EXPECT_EQ(values(topic).size(), 2u);
}

TEST_F(KafkaBadInput, ACertificateForAnotherHostOrAnOldOneIsRefused) {
  const std::string topic = make_topic();
  const std::string place = std::getenv("DROM_TEST_KAFKA_SSL");
  EXPECT_FALSE(send(producer(topic, tls(place, "DROM_TEST_KAFKA_CA")), with_body("fine")).failed());
  const std::string elsewhere = "localhost" + place.substr(place.find(':'));
  Exchange sent = send(producer(topic, tls(elsewhere, "DROM_TEST_KAFKA_CA")), with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::rejected) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "hostname mismatch")) << sent.error->message();
  const Options old = tls(std::getenv("DROM_TEST_KAFKA_EXPIRED"), "DROM_TEST_KAFKA_EXPIRED_CA");
  sent = send(producer(topic, old), with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::rejected) << sent.error->message();
  EXPECT_TRUE(says(*sent.error, "has expired")) << sent.error->message();
}

TEST_F(KafkaBadInput, AnAbsentBrokerIsAWaitAndThenATimeOut) {
  Producer& to = producer("t", {{"brokers", "127.0.0.1:1"}, {"messageTimeoutMs", "1500ms"}});
  const Exchange sent = send(to, with_body("x"));
  ASSERT_TRUE(sent.failed());
  EXPECT_EQ(sent.error->kind, ErrorKind::timeout) << sent.error->message();
  EXPECT_TRUE(sent.error->retryable());
  EXPECT_TRUE(says(*sent.error, "Connection refused")) << sent.error->message();
}

}  // namespace
}  // namespace drom
