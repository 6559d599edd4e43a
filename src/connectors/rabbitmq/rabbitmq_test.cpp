// Options and mapping, without a broker.
#include "connectors/rabbitmq/rabbitmq.hpp"

#include "connectors/rabbitmq/message.hpp"
#include "support/endpoints.hpp"

namespace drom::testing {
namespace {

class RabbitOptions : public ::testing::Test {
 protected:
  RabbitOptions() { register_rabbitmq(harness.registry()); }
  // What is said about these; "" when they are good.
  std::string problem(Options options) {
    options.emplace_back("exchangeName", "ev");
    const Result<std::unique_ptr<Endpoint>> made = try_endpoint(harness, "rabbitmq", options);
    if (made) return "";
    EXPECT_EQ(made.error().kind, ErrorKind::config);
    return made.error().message();
  }
  Harness harness;
};

TEST_F(RabbitOptions, GoodOnesAreTaken) {
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({{"queues", "a,b"},
                     {"arg.queue.x-queue-type", "quorum"},
                     {"arg.exchange.durable", "false"},
                     {"arg.binding.x-match", "any"},
                     {"addresses", "a:5672,b"},
                     {"heartbeat", "5s"}}),
            "");
}

TEST_F(RabbitOptions, WrongOnesAreExplained) {
  EXPECT_NE(problem({{"prefetchCout", "1"}}).find("prefetchCount"), std::string::npos);
  EXPECT_NE(problem({{"arg.queu.x", "1"}}).find("arg.queue.NAME"), std::string::npos);
  EXPECT_NE(problem({{"addresses", "a:b"}}).find("host:port"), std::string::npos);
  EXPECT_NE(problem({{"sslKeyLocation", "/k"}}).find("sslCertificateLocation"), std::string::npos);
  EXPECT_NE(problem({{"deadLetterQueue", "d"}}).find("deadLetterExchange"), std::string::npos);
  EXPECT_NE(problem({{"mandatory", "false"}, {"unroutable", "drop"}}).find("mandatory"),
            std::string::npos);
  EXPECT_NE(problem({{"connectionFactory", "#none"}}).find("none"), std::string::npos);
  EXPECT_NE(problem({{"routingKey", "${header.x"}}).find("routingKey"), std::string::npos);
  EXPECT_NE(problem({{"arg.queue.x-queue-type", "quorum"}, {"arg.queue.exclusive", "true"}})
                .find("quorum"),
            std::string::npos);
  // Beyond what one frame can say.
  EXPECT_NE(problem({{"virtualHost", std::string(256, 'v')}}).find("255"), std::string::npos);
  EXPECT_NE(problem({{"queues", std::string(256, 'q')}}).find("255"), std::string::npos);
}

TEST_F(RabbitOptions, ASourceNeedsQueues) {
  const auto made = make_endpoint(harness, "rabbitmq", {{"exchangeName", "ev"}});
  const Result<std::unique_ptr<Consumer>> consumer = made->make_consumer();
  ASSERT_FALSE(consumer.ok());
  EXPECT_NE(consumer.error().message().find("queues"), std::string::npos);
}

TEST(RabbitMessage, AReturnedMessageIsKnownByEverythingInIt) {
  rabbitmq::Outgoing message;
  message.routing_key = "k";
  message.message_id = "1";
  message.headers.set("a", Value(1));
  message.headers.set("t", Value(Decimal{"1.10"}));
  message.body = Value("body");
  rabbitmq::Table table(message.headers);
  amqp_basic_properties_t wire = rabbitmq::to_properties(message, table);
  EXPECT_TRUE(rabbitmq::is_same(message, "k", wire, "body"));
  EXPECT_FALSE(rabbitmq::is_same(message, "l", wire, "body"));
  EXPECT_FALSE(rabbitmq::is_same(message, "k", wire, "bodx"));
  wire.message_id = rabbitmq::bytes("2");
  EXPECT_FALSE(rabbitmq::is_same(message, "k", wire, "body"));
  Headers other = message.headers;
  other.set("a", Value(2));
  rabbitmq::Table changed(other);
  EXPECT_FALSE(rabbitmq::is_same(message, "k", rabbitmq::to_properties(message, changed), "body"));
}

}  // namespace
}  // namespace drom::testing
