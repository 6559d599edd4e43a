// The fluent DSL and the engine behind it: what is written in C++ runs like its YAML, and what is
// wrong is reported with the place in the C++ source.
#include "drom/app.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "drom/drom.hpp"
#include "drom/rt/unit_of_work.hpp"
#include "support/harness.hpp"

namespace drom {
namespace {

EngineOptions quiet() {
  EngineOptions options;
  options.log = std::make_shared<testing::CapturedLog>();
  options.manual_time = true;
  options.seed = 1;
  return options;
}

Exchange with_body(Value body) {
  Message message;
  message.body = std::move(body);
  return Exchange(std::move(message), ExchangePattern::in_out);
}

std::string problems(Engine& engine) {
  std::string out;
  for (const Diagnostic& problem : engine.diagnostics().items())
    out += problem.code + " " + problem.where.text() + ": " + problem.what + "\n";
  return out;
}

class Fluent : public ::testing::Test {
 protected:
  void start() {
    ASSERT_TRUE(app.build()) << problems(app.engine());
    ASSERT_TRUE(app.engine().start_now().ok());
  }
  std::string reply(std::string uri, Value body) {
    const Exchange out = app.engine().send_now(std::move(uri), with_body(std::move(body)));
    return out.error ? "error: " + out.error->what : out.message.body.to_text();
  }
  App app{quiet()};
};

TEST_F(Fluent, LambdasAreProcessorsPredicatesAndExpressions) {
  app.routes()
      .from("direct:in")
      .process([](Exchange& e) { e.message.headers.set("seen", "1"); })
      .filter([](const Exchange& e) { return e.message.body.to_text() == "tea"; },
              [](Steps& s) { s.set_body(constant("hot tea")); })
      .set_body([](const Exchange& e) {
        return e.message.body.to_text() + std::string(e.message.headers.text("seen"));
      });
  start();
  EXPECT_EQ(reply("direct:in", "tea"), "hot tea1");
  EXPECT_EQ(reply("direct:in", "milk"), "milk1");
}

TEST_F(Fluent, ALambdaThatThrowsFailsItsExchangeOnly) {
  app.routes().from("direct:in").process([](Exchange& e) {
    if (e.message.body.to_text() == "bad") throw std::runtime_error("no such order");
  });
  start();
  EXPECT_EQ(reply("direct:in", "bad"), "error: the processor threw: no such order");
  EXPECT_EQ(reply("direct:in", "good"), "good");
}

TEST_F(Fluent, ChoiceTryAndExceptionClausesReadLikeTheirYaml) {
  Routes& routes = app.routes();
  routes.on_exception("data").handled().steps(
      [](Steps& s) { s.set_body(simple("refused: ${exception.message}")); });
  routes.from("direct:in").choice([](Choice& c) {
    c.when(simple("${body} == 'a'"), [](Steps& s) { s.set_body(constant("first")); })
        .when(simple("${body} == 'b'"),
              [](Steps& s) { s.throw_exception("data", "not a letter that we know"); })
        .otherwise([](Steps& s) {
          s.do_try([](Try& t) {
            t.steps([](Steps& inner) {
               inner.throw_exception("timeout", "slow");
             }).do_catch("timeout", [](Steps& inner) { inner.set_body(constant("caught")); });
          });
        });
  });
  start();
  EXPECT_EQ(reply("direct:in", "a"), "first");
  EXPECT_EQ(reply("direct:in", "b"), "refused: not a letter that we know");
  EXPECT_EQ(reply("direct:in", "c"), "caught");
}

TEST_F(Fluent, RegisteredFunctionsAreReachedByNameFromYaml) {
  app.registry().bind_processor("double", [](Exchange& e) {
    e.message.body = Value(e.message.body.to_text() + e.message.body.to_text());
  });
  const std::string file = ::testing::TempDir() + "drom_app_test.yaml";
  std::ofstream(file)
      << "- from:\n    uri: direct:yaml\n    steps:\n      - bean: { ref: double }\n";
  ASSERT_TRUE(app.load(file));
  start();
  EXPECT_EQ(reply("direct:yaml", "ab"), "abab");
  std::remove(file.c_str());
}

TEST_F(Fluent, AWrongOptionIsReportedWithThePlaceInTheSource) {
  app.routes().from("timer:tick?perod=1s").log("tick");
  EXPECT_FALSE(app.build());
  ASSERT_EQ(app.engine().diagnostics().items().size(), 1u) << problems(app.engine());
  const Diagnostic& problem = app.engine().diagnostics().items().front();
  EXPECT_NE(problem.what.find("'perod'"), std::string::npos) << problem.what;
  EXPECT_NE(problem.hint.find("period"), std::string::npos) << problem.hint;
  EXPECT_NE(problem.where.text().find("app_test.cpp:"), std::string::npos) << problem.where.text();
}

TEST_F(Fluent, AllErrorsOfAllRoutesComeAtOnce) {
  Routes& routes = app.routes();
  routes.from("direct:a").route_id("same").to("nowhere:x");
  routes.from("direct:b").route_id("same").set_body(simple("${body"));
  EXPECT_FALSE(app.build());
  EXPECT_EQ(app.engine().diagnostics().items().size(), 3u) << problems(app.engine());
}

TEST_F(Fluent, ADisabledStepIsLeftOut) {
  app.routes().from("direct:in").set_body(constant("changed")).with("disabled", "true");
  start();
  EXPECT_EQ(reply("direct:in", "same"), "same");
}

TEST_F(Fluent, DynamicTargetsAreBounded) {
  app.routes().from("direct:in").to_d("mock:${body}");
  start();
  std::string last;
  for (int i = 0; i < 2000 && !last.starts_with("error"); ++i)
    last = reply("direct:in", "m" + std::to_string(i));
  EXPECT_NE(last.find("different dynamic endpoints"), std::string::npos) << last;
  EXPECT_EQ(reply("direct:in", "m0"), "m0");  // those that exist still work
}

// A component of the user's own, as CONTRIBUTING shows it.
class ShoutProducer final : public Producer {
 public:
  explicit ShoutProducer(std::string mark) : mark_(std::move(mark)) {}
  async<> run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch)
      exchange.message.body = Value(exchange.message.body.to_text() + mark_);
    co_return;
  }

 private:
  std::string mark_;
};

class ShoutEndpoint final : public Endpoint {
 public:
  explicit ShoutEndpoint(std::string mark) : mark_(std::move(mark)) {}
  std::string uri() const override { return "shout:" + mark_; }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return std::unique_ptr<Producer>(std::make_unique<ShoutProducer>(mark_));
  }

 private:
  std::string mark_;
};

ConfigSpec shout_spec() {
  ConfigSpec spec;
  spec.name = "shout";
  spec.title = "Shout";
  spec.doc = "Says it louder.";
  spec.syntax = "shout:mark";
  spec.produces = true;
  spec.options = {
      {.name = "mark", .doc = "What is put behind the body.", .required = true, .path = true}};
  return spec;
}

Result<std::unique_ptr<Endpoint>> make_shout(const Config& config, BuildContext&) {
  return std::unique_ptr<Endpoint>(std::make_unique<ShoutEndpoint>(config.text("mark")));
}

TEST_F(Fluent, AUsersComponentIsLikeAnyOther) {
  app.registry().add(ComponentInfo{"shout", shout_spec, make_shout, {}});
  app.routes().from("direct:in").to("shout:!");
  start();
  EXPECT_EQ(reply("direct:in", "hey"), "hey!");
}

TEST_F(Fluent, AUsersComponentHasItsOptionsChecked) {
  app.registry().add(ComponentInfo{"shout", shout_spec, make_shout, {}});
  app.routes().from("direct:in").to("shout:!?loudly=true");
  EXPECT_FALSE(app.build());
  EXPECT_NE(problems(app.engine()).find("'loudly'"), std::string::npos) << problems(app.engine());
}

class AskedToStop final : public Producer {
 public:
  async<Result<void>> open() override {
    ::raise(SIGTERM);
    co_return Result<void>();
  }
  async<> run(Batch&, Scope&) override { co_return; }
};

class AskedToStopEndpoint final : public Endpoint {
 public:
  std::string uri() const override { return "asked:"; }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return std::unique_ptr<Producer>(std::make_unique<AskedToStop>());
  }
};

Result<std::unique_ptr<Endpoint>> make_asked(const Config&, BuildContext&) {
  return std::unique_ptr<Endpoint>(std::make_unique<AskedToStopEndpoint>());
}

// Routes may serve before the start has ended; by then SIGTERM must mean an orderly stop.
TEST_F(Fluent, ASignalDuringTheStartIsAnOrderlyStop) {
  app.registry().add(ComponentInfo{"shout", shout_spec, make_asked, {}});
  app.routes().from("direct:in").to("shout:!");
  ASSERT_TRUE(app.build()) << problems(app.engine());
  EXPECT_EQ(app.engine().run(), 0);
}

// Camel's older form: `transacted` without steps of its own takes the steps after it.
TEST_F(Fluent, TransactedWithoutStepsTakesItsSiblings) {
  bool in_unit = false;
  app.registry().bind_processor("look", [&](Exchange& e) { in_unit = e.unit != nullptr; });
  const std::string file = ::testing::TempDir() + "drom_app_test_tx.yaml";
  std::ofstream(file) << "- from:\n    uri: direct:in\n    steps:\n      - transacted: {}\n"
                         "      - bean: { ref: look }\n";
  ASSERT_TRUE(app.load(file));
  start();
  EXPECT_EQ(reply("direct:in", "x"), "x");
  EXPECT_TRUE(in_unit);
  std::remove(file.c_str());
}

}  // namespace
}  // namespace drom
