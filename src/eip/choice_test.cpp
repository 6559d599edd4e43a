#include "support/eip_fixture.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class Choice : public EipTest {
 protected:
  static StepSpec clause(std::string name, std::vector<StepSpec> children, std::string when = {}) {
    StepSpec out = step(std::move(name), std::move(children));
    if (!when.empty()) out.set("expression", simple(std::move(when)));
    return out;
  }
  static StepSpec by_body(StepSpec a, StepSpec b, std::optional<StepSpec> otherwise) {
    StepSpec out = step("choice");
    out.clauses.push_back(clause("when", {std::move(a)}, "${body} == 'a'"));
    out.clauses.push_back(clause("when", {std::move(b)}, "${body} == 'b'"));
    if (otherwise) out.clauses.push_back(clause("otherwise", {std::move(*otherwise)}));
    return out;
  }
  static StepSpec set(std::string text) {
    return step("setBody").set("expression", constant(std::move(text)));
  }
};

TEST_F(Choice, TakesTheFirstBranchThatHolds) {
  const StepSpec spec = by_body(set("A"), set("B"), set("C"));
  EXPECT_EQ(run(spec, exchange_of("a")).message.body, Value("A"));
  EXPECT_EQ(run(spec, exchange_of("b")).message.body, Value("B"));
  EXPECT_EQ(run(spec, exchange_of("z")).message.body, Value("C"));
}

TEST_F(Choice, GoesOnAfterTheBlockWithoutAMatch) {
  const Exchange out = run(by_body(set("A"), set("B"), std::nullopt), exchange_of("z"));
  EXPECT_EQ(out.message.body, Value("z"));
  EXPECT_TRUE(out.running());
}

TEST_F(Choice, KeepsTheOrderOfABatchInBothColours) {
  for (const bool waiting : {false, true}) {
    std::string order;
    const auto note = [&order](std::string text) {
      return call([&order, text](Exchange& e) {
        order += e.message.body.to_text();
        e.message.body = text;
      });
    };
    const StepSpec spec =
        waiting ? by_body(note("A"), note("B"), note("C")) : by_body(set("A"), set("B"), set("C"));
    Batch batch;
    for (const char* body : {"a", "a", "b", "z", "a"}) batch.push_back(exchange_of(body));
    run(spec, batch);
    std::string bodies;
    for (const Exchange& exchange : batch) bodies += exchange.message.body.to_text();
    EXPECT_EQ(bodies, "AABCA");
    if (waiting) {
      EXPECT_EQ(order, "aabza");
    }
  }
}

TEST_F(Choice, IsPlainOnlyAroundPureSteps) {
  EXPECT_TRUE(make(by_body(set("A"), set("B"), std::nullopt)).plain);
  EXPECT_TRUE(make(by_body(set("A"), append("B"), std::nullopt)).waiting);
}

TEST_F(Choice, RedeliversTheFailingChildAndNotItsNeighbours) {
  int neighbour = 0;
  int attempts = 0;
  StepSpec spec = step("choice");
  spec.clauses.push_back(clause("when",
                                {call([&](Exchange&) { ++neighbour; }), call([&](Exchange& e) {
                                   if (++attempts < 3)
                                     e.fail(Error(ErrorKind::transient, "not yet"));
                                 })},
                                "${body} == 'a'"));
  RetryPolicy policy(5);
  const Exchange out = run(spec, exchange_of("a"), &policy);
  EXPECT_TRUE(out.running());
  EXPECT_EQ(neighbour, 1);
  EXPECT_EQ(attempts, 3);
}

TEST_F(Choice, StopInABranchEndsTheExchange) {
  const Exchange out = run(by_body(step("stop"), set("B"), std::nullopt), exchange_of("a"));
  EXPECT_EQ(out.flow, Flow::stopped);
}

TEST_F(Choice, RefusesABlockWithoutBranches) {
  EXPECT_NE(problem_of(step("choice")).find("E0503"), std::string::npos);
}

TEST_F(Choice, FilterRunsItsStepsForMatchesOnly) {
  StepSpec spec = clause("filter", {set("big")}, "${header.n} > 5");
  spec.set("statusPropertyName", "matched");
  for (const auto& [n, body, matched] : {std::tuple{9, "big", true}, std::tuple{2, "x", false}}) {
    Exchange in = exchange_of("x");
    in.message.headers.set("n", n);
    const Exchange out = run(spec, std::move(in));
    EXPECT_EQ(out.message.body, Value(body));
    ASSERT_TRUE(out.properties.find("matched"));
    EXPECT_EQ(*out.properties.find("matched"), Value(matched));
  }
}

class LogStep : public EipTest {};

TEST_F(LogStep, WritesTheFilledTemplateUnderTheNameOfTheRoute) {
  Exchange in = exchange_of("secret");
  in.message.headers.set("id", 7);
  run(step("log").set("message", "order ${header.id}"), std::move(in));
  ASSERT_EQ(harness.captured.lines.size(), 1U);
  EXPECT_EQ(harness.captured.lines[0].message, "order 7");
  EXPECT_EQ(harness.captured.lines[0].category, "test");
  EXPECT_EQ(harness.captured.lines[0].level, LogLevel::info);
  EXPECT_FALSE(harness.captured.contains("secret"));
}

TEST_F(LogStep, TakesLevelNameAndMarker) {
  run(step("log")
          .set("message", "m")
          .set("loggingLevel", "WARN")
          .set("logName", "audit.${body}")
          .set("marker", "PAY"),
      exchange_of("eu"));
  ASSERT_EQ(harness.captured.lines.size(), 1U);
  EXPECT_EQ(harness.captured.lines[0].message, "[PAY] m");
  EXPECT_EQ(harness.captured.lines[0].category, "audit.eu");
  EXPECT_EQ(harness.captured.lines[0].level, LogLevel::warn);
}

TEST_F(LogStep, WritesNothingAtOff) {
  run(step("log").set("message", "m").set("loggingLevel", "OFF"), exchange_of("x"));
  EXPECT_TRUE(harness.captured.lines.empty());
}

}  // namespace
}  // namespace drom
