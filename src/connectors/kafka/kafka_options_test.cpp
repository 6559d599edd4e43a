#include "connectors/kafka/kafka_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "connectors/kafka/kafka.hpp"
#include "connectors/kafka/kafka_client.hpp"
#include "connectors/kafka/kafka_error.hpp"
#include "support/endpoints.hpp"

namespace drom::kafka {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

class KafkaOptions : public ::testing::Test {
 protected:
  Config config(const ConfigSpec& spec, const Texts& options) {
    std::vector<OptionText> texts;
    for (const auto& [name, text] : options) {
      OptionText one;
      one.name = name;
      one.text = text;
      texts.push_back(std::move(one));
    }
    Diagnostics problems;
    Config out = Config::validate(spec, texts, Location(), harness, problems);
    EXPECT_FALSE(problems.has_errors());
    return out;
  }
  Result<Options> read(Texts options, const Texts* bean = nullptr) {
    options.emplace_back("topic", "orders");
    const Config given = config(endpoint_spec(), options);
    if (!bean) return read_options(given, nullptr);
    const ConnectionFactory factory{config(bean_spec(), *bean)};
    return read_options(given, &factory);
  }
  static std::string setting(const Settings& settings, const std::string& name) {
    std::string out = "(none)";
    for (const auto& [key, value] : settings)
      if (key == name) out = value;
    return out;
  }
  drom::testing::Harness harness;
};

TEST_F(KafkaOptions, TheEndpointOverridesTheBeanPointByPoint) {
  const Texts bean = {{"brokers", "a:1"}, {"acks", "1"}, {"groupId", "of-bean"}, {"lingerMs", "7"}};
  const Result<Options> options = read({{"groupId", "own"}}, &bean);
  ASSERT_TRUE(options.ok()) << options.error().message();
  EXPECT_EQ(options.value().group, "own");
  EXPECT_EQ(setting(options.value().consumer_settings, "bootstrap.servers"), "a:1");
  EXPECT_EQ(setting(options.value().producer_settings, "acks"), "1");
  EXPECT_EQ(setting(options.value().producer_settings, "enable.idempotence"), "false");
  EXPECT_EQ(setting(options.value().producer_settings, "linger.ms"), "7");
  EXPECT_EQ(setting(options.value().consumer_settings, "enable.auto.commit"), "false");
}

TEST_F(KafkaOptions, TheOnlyBeanIsUsedUnlessTheEndpointNamesItsOwnBrokers) {
  register_kafka(harness.registry());
  const auto bind = [&](const std::string& name) {
    harness.registry().bind<ConnectionFactory>(
        name, std::make_shared<ConnectionFactory>(ConnectionFactory{config(
                  bean_spec(),
                  {{"brokers", "a:1"}, {"securityProtocol", "SASL_SSL"}, {"saslUsername", "u"}})}));
  };
  const auto made = [&](std::vector<std::pair<std::string, std::string>> options) {
    options.emplace_back("topic", "orders");
    const auto endpoint = drom::testing::try_endpoint(harness, "kafka", options);
    return endpoint ? std::string("made") : endpoint.error().message();
  };
  EXPECT_NE(made({}).find("does not say where Kafka is"), std::string::npos);
  bind("one");
  // Its security counts: the password is missing.
  EXPECT_NE(made({}).find("lacks saslUsername or saslPassword"), std::string::npos) << made({});
  EXPECT_EQ(made({{"brokers", "b:2"}}), "made");  // without the bean's user
  EXPECT_NE(made({{"connectionFactory", "#two"}}).find("there is no drom.kafka bean 'two'"),
            std::string::npos);
  bind("two");
  EXPECT_NE(made({}).find("there are several drom.kafka beans"), std::string::npos);
  EXPECT_NE(made({{"connectionFactory", "#two"}}).find("lacks"), std::string::npos);
}

TEST_F(KafkaOptions, DefaultsAreSafeAndKnownToTheLibrary) {
  const Result<Options> options = read({{"brokers", "a:1"}, {"groupId", "g"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(setting(options.value().producer_settings, "acks"), "all");
  EXPECT_EQ(setting(options.value().producer_settings, "enable.idempotence"), "true");
  EXPECT_EQ(setting(options.value().consumer_settings, "isolation.level"), "read_committed");
  EXPECT_TRUE(ClientSettings::make("u", options.value().producer_settings).ok());
  EXPECT_TRUE(ClientSettings::make("u", options.value().consumer_settings).ok());
}

TEST_F(KafkaOptions, EverythingIsAcceptedByTheLibrary) {
  const Result<Options> options = read({{"brokers", "a:1"},
                                        {"groupId", "g"},
                                        {"groupInstanceId", "m1"},
                                        {"clientId", "c"},
                                        {"securityProtocol", "SASL_SSL"},
                                        {"saslMechanism", "SCRAM-SHA-512"},
                                        {"saslUsername", "u"},
                                        {"saslPassword", "p"},
                                        {"sslEndpointIdentificationAlgorithm", "none"},
                                        {"partitionAssignmentStrategy", "cooperativeSticky"},
                                        {"compressionType", "zstd"},
                                        {"autoOffsetReset", "none"},
                                        {"additionalProperties", "fetch.min.bytes=10"}});
  ASSERT_TRUE(options.ok()) << options.error().message();
  for (const Settings* one :
       {&options.value().producer_settings, &options.value().consumer_settings}) {
    const auto made = ClientSettings::make("u", *one);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
    EXPECT_EQ(setting(*one, "fetch.min.bytes"), "10");
  }
}

TEST_F(KafkaOptions, AGroupIsRequiredOfASourceOnly) {
  const Result<Options> options = read({{"brokers", "a:1"}});
  ASSERT_TRUE(options.ok());
  const Result<void> fit = check_consumer(options.value());
  ASSERT_FALSE(fit.ok());
  EXPECT_EQ(fit.error().kind, ErrorKind::config);
  EXPECT_NE(fit.error().message().find("groupId"), std::string::npos);
}

TEST_F(KafkaOptions, WhatCannotBeIsRefusedWithAHint) {
  for (const Texts& bad : std::vector<Texts>{
           {},
           {{"brokers", "a"}, {"seekTo", "yesterday"}},
           {{"brokers", "a"}, {"partitionNumber", "1,x"}},
           {{"brokers", "a"}, {"additionalProperties", "fetch.min.bytes"}},
           {{"brokers", "a"}, {"additionalProperties", "enable.auto.commit=true"}},
           {{"brokers", "a"}, {"securityProtocol", "SASL_SSL"}, {"saslUsername", "u"}},
           {{"brokers", "a"}, {"acks", "1"}, {"enableIdempotence", "true"}}}) {
    const Result<Options> options = read(bad);
    ASSERT_FALSE(options.ok());
    EXPECT_EQ(options.error().kind, ErrorKind::config);
    EXPECT_FALSE(options.error().hint.empty()) << options.error().what;
  }
}

TEST_F(KafkaOptions, AnUnknownSettingIsNamedAndNoSecretIsRepeated) {
  auto made = ClientSettings::make("kafka:t", {{"no.such.setting", "x"}});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().what.find("no.such.setting"), std::string::npos);
  made = ClientSettings::make("kafka:t", {{"sasl.passwordx", "geheim"}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message().find("geheim"), std::string::npos);
}

TEST(KafkaErrors, AreClassed) {
  EXPECT_EQ(kafka_error("u", RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE).kind, ErrorKind::data);
  EXPECT_EQ(kafka_error("u", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED).kind,
            ErrorKind::rejected);
  EXPECT_EQ(kafka_error("u", RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS).kind, ErrorKind::transient);
  EXPECT_EQ(kafka_error("u", RD_KAFKA_RESP_ERR__MSG_TIMED_OUT).kind, ErrorKind::timeout);
  EXPECT_EQ(kafka_error("u", RD_KAFKA_RESP_ERR__TRANSPORT).kind, ErrorKind::not_connected);
}

}  // namespace
}  // namespace drom::kafka
