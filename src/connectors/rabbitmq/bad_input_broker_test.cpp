// What people and messages get wrong, against a real broker: each a clear error that names the
// endpoint and holds no secret, of the right kind.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <thread>

#include "connectors/rabbitmq/rabbitmq_fixture.hpp"
#include "support/test_certificate.hpp"

namespace drom::testing {
namespace {

namespace asio = boost::asio;

class RabbitBadInputTest : public RabbitTest {
 protected:
  Error open_error(const std::string& exchange, Options options) {
    made_ = endpoint(exchange, std::move(options));
    Result<std::unique_ptr<Producer>> to = made_->make_producer();
    const Result<void> opened = harness.run((*to)->open());
    harness.run((*to)->close());
    if (opened) ADD_FAILURE() << "it was opened";
    return opened ? Error() : opened.error();
  }
  static void expect(const Error& error, ErrorKind kind, const std::vector<std::string>& parts) {
    EXPECT_EQ(error.kind, kind) << error.message();
    for (const std::string& part : parts)
      EXPECT_NE(error.message().find(part), std::string::npos) << part << " in " << error.message();
    EXPECT_FALSE(error.hint.empty()) << error.message();
  }
  static Options tls() {
    const BrokerPlace place = place_of(std::getenv("DROM_TEST_RABBITMQ_TLS"));
    return {{"addresses", place.host + ":" + std::to_string(place.port)},
            {"sslEnabled", "true"},
            {"sslCaLocation", std::getenv("DROM_TEST_RABBITMQ_CA")}};
  }
  static bool ctl(const std::string& arguments) {
    const char* program = std::getenv("DROM_TEST_RABBITMQ_CTL");
    return program &&
           std::system((std::string(program) + " " + arguments + " >/dev/null 2>&1").c_str()) == 0;
  }
  std::unique_ptr<Endpoint> made_;
};

// One TLS handshake after another, on a thread of its own.
class TlsServer {
 public:
  explicit TlsServer(const TestCertificate& certificate)
      : context_(asio::ssl::context::tls_server) {
    context_.use_certificate_chain_file(certificate.certificate());
    context_.use_private_key_file(certificate.key(), asio::ssl::context::pem);
    thread_ = std::thread([this] {
      while (!stop_) {
        boost::system::error_code ignored;
        asio::ip::tcp::socket socket(io_);
        acceptor_.accept(socket, ignored);
        asio::ssl::stream<asio::ip::tcp::socket> stream(std::move(socket), context_);
        if (!stop_) stream.handshake(asio::ssl::stream_base::server, ignored);
      }
    });
  }
  ~TlsServer() {
    stop_ = true;
    boost::system::error_code ignored;
    asio::ip::tcp::socket last(io_);
    last.connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  std::string port() const { return std::to_string(acceptor_.local_endpoint().port()); }

 private:
  asio::io_context io_;
  asio::ssl::context context_;
  asio::ip::tcp::acceptor acceptor_{io_,
                                    asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(RabbitBadInputTest, C58WrongCredentialsAreRefusedForGoodAndNoSecretIsShown) {
  const Error error = open_error("ev", {{"username", "nobody"}, {"password", "s3cr3t:p@ss"}});
  expect(error, ErrorKind::rejected, {"rabbitmq:ev", "403", "nobody", place.host});
  EXPECT_EQ(error.message().find("s3cr3t"), std::string::npos) << error.message();
  EXPECT_EQ(made_->uri().find("s3cr3t"), std::string::npos);
  for (const CapturedLog::Line& line : harness.captured.lines)
    EXPECT_EQ(line.message.find("s3cr3t"), std::string::npos) << line.message;
}

TEST_F(RabbitBadInputTest, AWrongVirtualHostIsRefusedForGood) {
  expect(open_error("ev", {{"virtualHost", "nowhere"}}), ErrorKind::rejected,
         {"rabbitmq:ev", "530", "nowhere"});
}

TEST_F(RabbitBadInputTest, NobodyListens) {
  expect(open_error("ev", {{"addresses", "127.0.0.1:1"}}), ErrorKind::not_connected,
         {"rabbitmq:ev", "127.0.0.1:1", "broker runs"});
  expect(open_error("ev", {{"addresses", "no-such-host.invalid:5672"}}), ErrorKind::not_connected,
         {"no-such-host.invalid", "host names"});
}

TEST_F(RabbitBadInputTest, TheNextAddressIsTriedWhenOneIsAway) {
  const auto to = producer(
      "default", {{"addresses", "127.0.0.1:1," + place.host + ":" + std::to_string(place.port)}});
  close(*to);
}

TEST_F(RabbitBadInputTest, AnotherDeclarationIsRefusedForGood) {
  const std::string queue = fresh("q");
  peer->queue(queue, {}, false);
  const auto from = endpoint("default", {{"queues", queue}});
  Result<std::unique_ptr<Consumer>> made = from->make_consumer();
  const Result<void> opened = harness.run((*made)->open());
  ASSERT_FALSE(opened.ok());
  expect(opened.error(), ErrorKind::rejected, {"rabbitmq:default", queue, "406", "durable"});
  harness.run((*made)->close());
  peer->remove(queue);
}

TEST_F(RabbitBadInputTest, TlsWithOurCertificateWorks) {
  Options options = tls();
  options.emplace_back("sslCertificateLocation", std::getenv("DROM_TEST_RABBITMQ_CLIENT_CERT"));
  options.emplace_back("sslKeyLocation", std::getenv("DROM_TEST_RABBITMQ_CLIENT_KEY"));
  const std::string queue = fresh("q");
  peer->queue(queue);
  options.emplace_back("routingKey", queue);
  const auto to = producer("default", options);
  Batch batch;
  for (int i = 0; i < 200; ++i) batch.push_back(exchange_of(Value(std::string(20000, 'x'))));
  run(*to, batch);
  for (const Exchange& exchange : batch) EXPECT_FALSE(exchange.failed()) << error_of(exchange);
  options.emplace_back("queues", queue);
  const auto from = consumer("default", options);
  settle(*from, polled(*from, 200));
  close(*from);
  close(*to);
  EXPECT_EQ(peer->count(queue), 0U);
  peer->remove(queue);
}

TEST_F(RabbitBadInputTest, TlsWithAWrongHostAnUnknownAuthorityOrAnExpiredCertificate) {
  Options wrong_host = tls();
  const std::string port = wrong_host[0].second.substr(wrong_host[0].second.find(':'));
  wrong_host[0].second = "127.0.0.1" + port;
  expect(open_error("ev", wrong_host), ErrorKind::not_connected,
         {"rabbitmq:ev", "127.0.0.1", "names another host"});
  wrong_host.emplace_back("sslVerifyHostname", "false");
  const auto trusting = producer("default", wrong_host);
  close(*trusting);

  const TestCertificate unknown("localhost");
  Options stranger = tls();
  stranger[2].second = unknown.certificate();
  expect(open_error("ev", stranger), ErrorKind::not_connected, {"rabbitmq:ev", "authority"});

  const TestCertificate expired("localhost", -60);
  const TlsServer server(expired);
  expect(open_error("ev", {{"addresses", "localhost:" + server.port()},
                           {"sslEnabled", "true"},
                           {"sslCaLocation", expired.certificate()}}),
         ErrorKind::not_connected, {"rabbitmq:ev", "valid now"});

  Options nothing = tls();
  nothing[2].second = "/nowhere/ca.pem";
  expect(open_error("ev", nothing), ErrorKind::rejected, {"rabbitmq:ev", "/nowhere/ca.pem"});
  // Not a port for TLS.
  Options plain = tls();
  plain[0].second = place.host + ":" + std::to_string(place.port);
  EXPECT_TRUE(open_error("ev", plain).retryable());
}

TEST_F(RabbitBadInputTest, ABodyOverTheBrokersLimitFailsForGoodAndTheOthersAreSent) {
  const std::string queue = fresh("q");
  peer->queue(queue);
  const auto to = producer("default", {{"routingKey", queue}});
  Batch batch;
  batch.push_back(exchange_of(Value("small")));
  batch.push_back(exchange_of(Value(std::string(17 * 1024 * 1024, 'x'))));
  batch.push_back(exchange_of(Value("last")));
  run(*to, batch);
  ASSERT_TRUE(batch[1].failed());
  expect(*batch[1].error, ErrorKind::rejected, {"rabbitmq:default", "message size"});
  for (size_t i : {0, 2}) {
    if (!batch[i].failed()) continue;
    EXPECT_EQ(batch[i].error->kind, ErrorKind::transient) << error_of(batch[i]);
    Exchange again;
    EXPECT_TRUE(until([&] {
      again = sent(*to, exchange_of(batch[i].message.body));
      return !again.failed();
    })) << error_of(again);
  }
  close(*to);
  EXPECT_GE(peer->count(queue), 2U);
  peer->remove(queue);
}

TEST_F(RabbitBadInputTest, TextThatIsNoUtf8ArrivesAsBytes) {
  const std::string queue = fresh("q");
  peer->queue(queue);
  rabbitmq::Outgoing properties;
  properties.type = "\xff\xfe";
  properties.headers.set("bad", Value("\xc3\x28"));
  properties.headers.set("good", Value("gr\xc3\xbc\xc3\x9f"));
  peer->publish("", queue, "\xff", properties);
  const auto from = consumer("default", {{"queues", queue}});
  Batch batch = polled(*from, 1);
  const Headers& headers = batch[0].message.headers;
  EXPECT_TRUE(headers.find("rabbitmq.type")->is_bytes());
  EXPECT_TRUE(headers.find("bad")->is_bytes());
  EXPECT_EQ(headers.text("bad"), "\xc3\x28");
  EXPECT_TRUE(headers.find("good")->is_text());
  settle(*from, std::move(batch));
  close(*from);
  peer->remove(queue);
}

TEST_F(RabbitBadInputTest, HeadersThatCannotBeSentFailAlone) {
  const std::string queue = fresh("q");
  peer->queue(queue);
  const auto to = producer("default", {{"routingKey", queue}, {"priority", "${header.p}"}});
  Headers long_name, many, priority;
  long_name.set(std::string(256, 'n'), Value(1));
  many.set("h", Value(std::string(200'000, 'x')));
  priority.set("p", Value("high"));
  for (const Headers& headers : {long_name, many, priority}) {
    const Exchange bad = sent(*to, exchange_of(Value("x"), headers));
    ASSERT_TRUE(bad.failed());
    EXPECT_EQ(bad.error->kind, ErrorKind::data);
    EXPECT_NE(error_of(bad).find("rabbitmq:default"), std::string::npos) << error_of(bad);
  }
  EXPECT_FALSE(sent(*to, exchange_of(Value("x"))).failed());
  close(*to);
  peer->remove(queue);
}

TEST_F(RabbitBadInputTest, HeadersOverTheFrameOfTheBrokerFailAloneAndBodiesAreCutToFit) {
  const std::string queue = fresh("q");
  peer->queue(queue);
  ASSERT_TRUE(ctl("eval 'application:set_env(rabbit, frame_max, 8192).'"));
  const auto to = producer("default", {{"routingKey", queue}});
  EXPECT_TRUE(ctl("eval 'application:set_env(rabbit, frame_max, 131072).'"));
  Headers large, small;
  large.set("h", Value(std::string(9'000, 'x')));
  small.set("h", Value(std::string(4'000, 'x')));
  const Exchange bad = sent(*to, exchange_of(Value("x"), large));
  ASSERT_TRUE(bad.failed());
  EXPECT_EQ(bad.error->kind, ErrorKind::data);
  EXPECT_NE(error_of(bad).find("do not fit into one frame"), std::string::npos) << error_of(bad);
  const std::string body(50'000, 'b');
  const Exchange good = sent(*to, exchange_of(Value(body), small));
  EXPECT_FALSE(good.failed()) << error_of(good);
  const auto from = consumer("default", {{"queues", queue}});
  Batch batch = polled(*from, 1);
  EXPECT_EQ(batch[0].message.body.to_text(), body);
  settle(*from, std::move(batch));
  close(*from);
  close(*to);
  peer->remove(queue);
}

TEST_F(RabbitBadInputTest, C52BinaryAndTypedHeadersStayWhatTheyAre) {
  const std::string in = fresh("in"), out = fresh("out");
  peer->queue(in);
  peer->queue(out);
  rabbitmq::Outgoing properties;
  properties.headers.set("tenant", Value("abc"));
  properties.headers.set("bin", Value(Bytes(std::string("\xff\0", 2))));
  properties.headers.set("n", Value());
  properties.headers.set("seven", Value(7));
  properties.headers.set("yes", Value(true));
  properties.headers.set("half", Value(0.5));
  properties.headers.set("list", Value(List{Value(1), Value("x")}));
  peer->publish("", in, "body", properties);
  const auto from = consumer("default", {{"queues", in}});
  const auto to = producer("default", {{"routingKey", out}});
  Batch batch = polled(*from, 1);
  run(*to, batch);
  EXPECT_FALSE(batch[0].failed()) << error_of(batch[0]);
  settle(*from, std::move(batch));
  const std::optional<Got> got = get(out);
  ASSERT_TRUE(got);
  for (const auto& [name, value] : properties.headers) {
    const Value* passed = got->message.headers.find(name);
    ASSERT_TRUE(passed) << name;
    EXPECT_EQ(passed->kind(), value.kind()) << name;
    EXPECT_EQ(*passed, value) << name;
  }
  close(*from);
  close(*to);
  peer->remove(in);
  peer->remove(out);
}

TEST_F(RabbitBadInputTest, C55TheTimestampIsInSeconds) {
  const std::string queue = fresh("q");
  peer->queue(queue);
  const WallTime before = clock->wall();
  const auto to = producer("default", {{"routingKey", queue}});
  EXPECT_FALSE(sent(*to, exchange_of(Value("x"))).failed());
  const uint64_t seconds = get(queue)->timestamp;
  const auto second_of = [](WallTime time) {
    return static_cast<uint64_t>(
        std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count());
  };
  EXPECT_GE(seconds, second_of(before));
  EXPECT_LE(seconds, second_of(clock->wall()));
  // And read back as the time that it is.
  rabbitmq::Outgoing properties;
  properties.timestamp_s = 1704164645;
  peer->publish("", queue, "y", properties);
  const auto from = consumer("default", {{"queues", queue}});
  Batch batch = polled(*from, 1);
  EXPECT_EQ(*batch[0].message.headers.find("rabbitmq.timestamp"),
            Value(WallTime(std::chrono::seconds(1704164645))));
  settle(*from, std::move(batch));
  close(*from);
  close(*to);
  peer->remove(queue);
}

TEST_F(RabbitBadInputTest, ABlockedConnectionSendsNothingAndSaysWhy) {
  const std::string queue = fresh("q");
  peer->queue(queue);
  const auto to = producer("default", {{"routingKey", queue}, {"confirmTimeout", "1s"}});
  ASSERT_TRUE(ctl("set_vm_memory_high_watermark 0.0000001"));
  Exchange blocked;
  EXPECT_TRUE(until([&] {
    blocked = sent(*to, exchange_of(Value("x")));
    return blocked.failed() && error_of(blocked).find("takes no messages") != std::string::npos;
  })) << error_of(blocked);
  EXPECT_EQ(blocked.error->kind, ErrorKind::timeout);
  EXPECT_NE(error_of(blocked).find("low on memory"), std::string::npos) << error_of(blocked);
  ASSERT_TRUE(ctl("set_vm_memory_high_watermark 0.8"));
  Exchange next;
  EXPECT_TRUE(until([&] {
    next = sent(*to, exchange_of(Value("y")));
    return !next.failed();
  })) << error_of(next);
  EXPECT_TRUE(harness.captured.contains("takes messages again"));
  close(*to);
  peer->remove(queue);
}

}  // namespace
}  // namespace drom::testing
