// What every connector must do, by routes as users write them on a real engine and, where there is
// one, a real server. Delivery is at least once: the suite allows a message twice only where it has
// broken something on purpose.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <set>
#include <stdexcept>

#include "conformance/connectors/connector.hpp"
#include "drom/connectors/mock.hpp"
#include "drom/rt/random.hpp"
#include "observe/counters.hpp"
#include "support/harness.hpp"

namespace drom::conformance {
namespace {

using std::chrono::seconds;

constexpr seconds kPatience{60};  // a bound for a broken build, no promise

struct Variant {
  std::function<void(Steps&)> steps;  // before mock:out
  std::string dead_letters;           // URI
};

// An engine with two routes: `direct:send` into the connector, the connector into `mock:out`.
class Running {
 public:
  Running(Connector& connector, const std::string& queue, const Variant& setup = {}) {
    EngineOptions options;
    log_ = std::make_shared<testing::CapturedLog>();
    options.log = log_;
    options.shutdown_timeout = seconds(20);
    Diagnostics problems;
    options.properties = load_properties(connector.properties(), {}, problems);
    app_ = std::make_unique<App>(std::move(options));
    connector.prepare(app_->routes(), queue);
    Route& send = app_->routes().from("direct:send").route_id("send");
    send.on_exception("java.lang.Exception")
        .maximum_redeliveries(200)
        .redelivery_delay(milliseconds(100));
    send.to(connector.sink(queue));
    Route& take = app_->routes().from(connector.source(queue)).route_id("take");
    if (!setup.dead_letters.empty())
      take.dead_letter_channel(setup.dead_letters, {{"useOriginalMessage", "true"}});
    if (setup.steps) setup.steps(take);
    take.to("mock:out");
    if (!app_->build()) throw std::runtime_error(app_->engine().diagnostics().render());
    const Result<void> started = engine().start_now();
    if (!started) throw std::runtime_error(started.error().message());
  }
  ~Running() { engine().stop_now(); }

  Engine& engine() { return app_->engine(); }
  Mock& out() { return mock("out"); }
  Mock& mock(const std::string& name) { return mocks(app_->registry()).get(name); }
  const RouteCounters& taken() { return engine().counters().routes().at("take"); }
  // The end of the log.
  std::string said() const {
    std::string out;
    const auto& lines = log_->lines;
    for (size_t i = lines.size() < 30 ? 0 : lines.size() - 30; i < lines.size(); ++i)
      out += lines[i].category + ": " + lines[i].message + "\n";
    return out;
  }

  void send(Value body, Headers headers = {}) {
    const Exchange sent =
        engine().send_now("direct:send", Exchange(Message{std::move(body), std::move(headers)}));
    EXPECT_FALSE(sent.failed()) << sent.error->message();
  }
  // All at once; `ended` counts those that have ended well.
  void send_beside(std::vector<std::string> bodies) {
    for (std::string& body : bodies)
      boost::asio::co_spawn(engine().io(), send_one(std::move(body)), boost::asio::detached);
  }
  size_t ended() const { return ended_; }
  bool until(const std::function<bool()>& ready) { return engine().drive_until(ready, kPatience); }
  bool until_out(size_t count) {
    return until([&] { return out().count() >= count; });
  }
  // A moment in which something unwanted would come.
  void look_on() {
    engine().drive_until([] { return false; }, milliseconds(300));
  }

 private:
  async<> send_one(std::string body) {
    Exchange exchange(Message{Value(std::move(body)), {}});
    const Exchange sent = co_await engine().send("direct:send", std::move(exchange));
    if (!sent.failed()) ++ended_;
  }

  std::shared_ptr<testing::CapturedLog> log_;
  std::unique_ptr<App> app_;
  size_t ended_ = 0;
};

std::vector<std::string> texts(const Mock& mock) {
  std::vector<std::string> out;
  for (const Value& body : mock.bodies()) out.push_back(body.to_text());
  return out;
}

std::vector<std::string> numbered(const std::string& prefix, size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) out.push_back(prefix + std::to_string(i));
  return out;
}

std::set<std::string> set_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

class ConnectorTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const auto& [name, make] : connectors())
      if (name == GetParam()) connector_ = make();
    ASSERT_TRUE(connector_);
    if (const auto missing = connector_->missing()) {
      if (std::getenv("DROM_CI")) FAIL() << *missing << ", but DROM_CI is";
      GTEST_SKIP() << *missing;
    }
    queue_ = "q" + std::to_string(entropy_seed() % 1'000'000'000);
    connector_->create(queue_);
  }

  std::unique_ptr<Connector> connector_;
  std::string queue_;
};
class BytesTest : public ConnectorTest {};
class KeepingTest : public ConnectorTest {};
class AgainTest : public ConnectorTest {};
class BoundedTest : public ConnectorTest {};
class CuttableTest : public ConnectorTest {};
class RestartTest : public ConnectorTest {};

TEST_P(ConnectorTest, KeepsTheOrderOfOneSender) {
  Running running(*connector_, queue_);
  const std::vector<std::string> bodies = numbered("m", 200);
  Headers headers;
  headers.set("key", "k");
  for (const std::string& body : bodies) running.send(Value(body), headers);
  ASSERT_TRUE(running.until_out(bodies.size())) << running.said();
  running.look_on();
  EXPECT_EQ(texts(running.out()), bodies);
}

TEST_P(ConnectorTest, CarriesAnEmptyBody) {
  Running running(*connector_, queue_);
  running.send(Value(""));
  ASSERT_TRUE(running.until_out(1)) << running.said();
  EXPECT_EQ(running.out().received(0).message.body.to_text(), "");
}

TEST_P(ConnectorTest, CarriesTenMegabytesAsTheyAre) {
  Running running(*connector_, queue_);
  Rng random(7);
  std::string body;
  while (body.size() < size_t{10} * 1024 * 1024) body += std::to_string(random.next());
  running.send(Value(body));
  ASSERT_TRUE(running.until_out(1)) << running.said();
  EXPECT_TRUE(running.out().received(0).message.body.to_text() == body);
}

TEST_P(ConnectorTest, CarriesTextOfAllLanguages) {
  Running running(*connector_, queue_);
  const std::string text = "grüße, Ωμέγα, 漢字, 🐪, \"quoted\", line\nbreak";
  Headers headers;
  headers.set("greeting", connector_->features().unicode_headers ? text : "hello, camel");
  running.send(Value(text), headers);
  ASSERT_TRUE(running.until_out(1)) << running.said();
  const Exchange got = running.out().received(0);
  EXPECT_EQ(got.message.body.to_text(), text);
  const Value* const greeting = got.message.headers.find("greeting");
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->to_text(), headers.find("greeting")->to_text());
}

TEST_P(BytesTest, CarriesHeadersOfRawBytes) {
  Running running(*connector_, queue_);
  const std::string raw("\xff\x00\x80\x01", 4);
  Headers headers;
  headers.set("raw", Value(Bytes(raw)));
  running.send(Value("x"), headers);
  ASSERT_TRUE(running.until_out(1)) << running.said();
  const Exchange got = running.out().received(0);
  const Value* const header = got.message.headers.find("raw");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->to_text(), raw);
}

TEST_P(ConnectorTest, HasFiveHundredUnderWayAtOnce) {
  Running running(*connector_, queue_);
  const std::vector<std::string> bodies = numbered("m", 500);
  running.send_beside(bodies);
  ASSERT_TRUE(running.until([&] { return running.ended() == 500; })) << running.said();
  ASSERT_TRUE(running.until_out(500)) << running.said();
  running.look_on();
  EXPECT_EQ(running.out().count(), 500U);
  EXPECT_EQ(set_of(texts(running.out())), set_of(bodies));
}

TEST_P(AgainTest, GivesAMessageAgainWhoseRouteFailed) {
  Running running(*connector_, queue_);
  running.out().fail_next(2, Error(ErrorKind::transient, "not now"));
  for (const std::string& body : numbered("m", 5)) running.send(Value(body));
  ASSERT_TRUE(running.until_out(5)) << running.said();
  running.look_on();
  const std::vector<std::string> got = texts(running.out());
  EXPECT_EQ(set_of(got).size(), got.size()) << "one came twice";
}

TEST_P(ConnectorTest, APoisonMessageGoesToTheDeadLettersAndHoldsUpNobody) {
  Variant setup;
  setup.dead_letters = "mock:dead";
  Running running(*connector_, queue_, setup);
  running.out().fail_when([](const Exchange& e) { return e.message.body.to_text() == "m3"; },
                          Error(ErrorKind::data, "poison"));
  for (const std::string& body : numbered("m", 8)) running.send(Value(body));
  ASSERT_TRUE(running.until_out(7)) << running.said();
  ASSERT_TRUE(running.until([&] { return running.mock("dead").count() >= 1; }));
  running.look_on();
  EXPECT_EQ(texts(running.mock("dead")), (std::vector<std::string>{"m3"}));
  EXPECT_EQ(running.out().count(), 7U);
}

TEST_P(KeepingTest, DrainsOnStopAndGoesOnWhereItStood) {
  std::vector<std::string> got;
  {
    Variant setup;
    setup.steps = [](Steps& steps) { steps.delay(milliseconds(20)); };
    Running first(*connector_, queue_, setup);
    for (const std::string& body : numbered("m", 30)) first.send(Value(body));
    ASSERT_TRUE(first.until_out(5)) << first.said();
    first.engine().stop_now();
    got = texts(first.out());
    EXPECT_EQ(first.taken().completed, got.size());
  }
  Running second(*connector_, queue_);
  ASSERT_TRUE(second.until_out(30 - got.size())) << second.said();
  second.look_on();
  for (const std::string& body : texts(second.out())) got.push_back(body);
  EXPECT_EQ(got.size(), 30U);  // after a graceful stop nothing comes twice
  EXPECT_EQ(set_of(got), set_of(numbered("m", 30)));
}

TEST_P(BoundedTest, ABusyRouteLeavesTheRestWithItsSource) {
  Running running(*connector_, queue_);
  running.out().delay_next(1, milliseconds(1500));
  const std::vector<std::string> bodies = numbered(std::string(2000, 'x'), 3000);
  running.send_beside(bodies);
  size_t most = 0;
  ASSERT_TRUE(running.until([&] {
    const RouteCounters& now = running.taken();
    most = std::max<size_t>(most, now.received - now.completed - now.failed - now.released);
    return running.out().count() >= 3000;
  })) << running.said();
  EXPECT_LE(most, 1024U);
  EXPECT_EQ(set_of(texts(running.out())), set_of(bodies));
}

TEST_P(CuttableTest, SettlesAfterTheConnectionWasLostAndMissesNothing) {
  Variant setup;
  setup.steps = [](Steps& steps) { steps.delay(milliseconds(20)); };
  Running running(*connector_, queue_, setup);
  const std::vector<std::string> bodies = numbered("m", 40);
  running.send_beside(bodies);
  ASSERT_TRUE(running.until_out(5)) << running.said();
  connector_->cut();
  running.look_on();
  connector_->heal();
  ASSERT_TRUE(running.until([&] { return set_of(texts(running.out())).size() == 40; }))
      << running.said();
  // And it works on as before.
  running.send(Value("after"));
  ASSERT_TRUE(running.until([&] { return set_of(texts(running.out())).contains("after"); }))
      << running.said();
}

TEST_P(RestartTest, OutlivesAKilledServer) {
  Running running(*connector_, queue_);
  for (const std::string& body : numbered("before", 20)) running.send(Value(body));
  running.send_beside(numbered("during", 20));
  connector_->restart_server();
  for (const std::string& body : numbered("after", 20)) running.send(Value(body));
  std::set<std::string> all = set_of(numbered("before", 20));
  all.merge(set_of(numbered("during", 20)));
  all.merge(set_of(numbered("after", 20)));
  ASSERT_TRUE(running.until([&] { return set_of(texts(running.out())) == all; })) << running.said();
}

std::vector<std::string> names(bool Features::* promised = nullptr) {
  std::vector<std::string> out;
  for (const auto& [name, make] : connectors())
    if (!promised || make()->features().*promised) out.push_back(name);
  return out;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(All, ConnectorTest, ::testing::ValuesIn(names()), name_of);
INSTANTIATE_TEST_SUITE_P(All, BytesTest, ::testing::ValuesIn(names(&Features::bytes)), name_of);
INSTANTIATE_TEST_SUITE_P(All, KeepingTest, ::testing::ValuesIn(names(&Features::keeps)), name_of);
INSTANTIATE_TEST_SUITE_P(All, AgainTest, ::testing::ValuesIn(names(&Features::again)), name_of);
INSTANTIATE_TEST_SUITE_P(All, BoundedTest, ::testing::ValuesIn(names(&Features::bounded)), name_of);
INSTANTIATE_TEST_SUITE_P(All, CuttableTest, ::testing::ValuesIn(names(&Features::cuttable)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(All, RestartTest, ::testing::ValuesIn(names(&Features::restarts)),
                         name_of);
// In a build without a connector whose server can be disturbed.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CuttableTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RestartTest);

}  // namespace
}  // namespace drom::conformance
