#include "connectors/mock/mock.hpp"
#include "drom/spi/build_context.hpp"

namespace drom {
namespace {

class MockProducer final : public Producer {
 public:
  MockProducer(Mock& mock, bool transacted) : mock_(mock), transacted_(transacted) {}

  bool defers_in_transaction() const override { return transacted_; }

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      Mock::Decision decision = mock_.arrive(exchange);
      if (decision.delay > milliseconds(0)) co_await scope.clock.sleep(decision.delay);
      if (decision.error) {
        exchange.fail(std::move(*decision.error));
        continue;
      }
      mock_.take(exchange);
      if (decision.reply) decision.reply(exchange);
    }
  }

 private:
  Mock& mock_;
  bool transacted_;
};

class MockEndpoint final : public Endpoint {
 public:
  MockEndpoint(Mock& mock, bool transacted) : mock_(mock), transacted_(transacted) {}
  std::string uri() const override { return "mock:" + mock_.name(); }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return std::unique_ptr<Producer>(std::make_unique<MockProducer>(mock_, transacted_));
  }

 private:
  Mock& mock_;
  bool transacted_;
};

ConfigSpec mock_spec() {
  ConfigSpec spec;
  spec.name = "mock";
  spec.title = "Mock";
  spec.doc =
      "Keeps the messages that are sent to it, for tests: `drom test` and C++ tests say what "
      "should "
      "come and ask afterwards. At most 100000 messages are kept; all are counted.";
  spec.syntax = "mock:name";
  spec.produces = true;
  spec.options = {
      {.name = "name",
       .doc = "Name by which the test finds the mock.",
       .example = "result",
       .required = true,
       .path = true},
      {.name = "expectedCount",
       .type = OptionType::integer,
       .doc = "How many messages should come.",
       .example = "2",
       .minimum = 0},
      {.name = "retainFirst",
       .type = OptionType::integer,
       .doc = "Keeps only the first so many messages.",
       .example = "10",
       .minimum = 0},
      {.name = "retainLast",
       .type = OptionType::integer,
       .doc = "Keeps only the last so many messages.",
       .example = "10",
       .minimum = 0},
      {.name = "transacted",
       .type = OptionType::boolean,
       .doc =
           "Whether a send inside a transacted block waits for the commit, as a send to a broker "
           "would; by default the mock sees the message at once.",
       .fallback = "false"},
  };
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: direct:in\n"
      "      steps:\n"
      "        - to: mock:result\n";
  return spec;
}

Result<std::unique_ptr<Endpoint>> make_mock(const Config& config, BuildContext& context) {
  Mock& mock = mocks(context.registry()).get(config.text("name"));
  const auto number = [&](const char* name) { return static_cast<size_t>(config.integer(name)); };
  if (config.given("expectedCount")) mock.expect_count(number("expectedCount"));
  if (config.given("retainFirst")) mock.retain_first(number("retainFirst"));
  if (config.given("retainLast")) mock.retain_last(number("retainLast"));
  return std::unique_ptr<Endpoint>(std::make_unique<MockEndpoint>(mock, config.flag("transacted")));
}

}  // namespace

void register_mock(Registry& registry) {
  registry.bind<Mocks>("mocks", std::make_shared<Mocks>());
  ComponentInfo info;
  info.scheme = "mock";
  info.spec = mock_spec;
  info.make = make_mock;
  registry.add(std::move(info));
}

}  // namespace drom
