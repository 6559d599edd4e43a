#include "support/eip_fixture.hpp"

#include "drom/base/json.hpp"
#include "drom/spi/aggregation_strategy.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class Split : public EipTest {
 protected:
  // Children note body, index, size and complete of each part.
  StepSpec noting_split(ExpressionSpec expression) {
    StepSpec out = step("split", {call([this](Exchange& e) { note(e); })});
    out.set("expression", std::move(expression));
    return out;
  }
  void note(const Exchange& e) {
    const auto property = [&](std::string_view name) {
      const Value* const value = e.properties.find(name);
      return value ? value->to_text() : std::string("-");
    };
    notes.push_back(e.message.body.to_text() + " " + property("CamelSplitIndex") + "/" +
                    property("CamelSplitSize") + " " + property("CamelSplitComplete"));
  }
  static Value list(std::initializer_list<const char*> items) {
    List out;
    for (const char* item : items) out.emplace_back(item);
    return Value(std::move(out));
  }
  std::vector<std::string> notes;
};

TEST_F(Split, GivesEachElementOfAListAndKeepsTheOriginal) {
  const Exchange out = run(noting_split(simple("${body}")), exchange_of(list({"a", "b", "c"})));
  EXPECT_EQ(notes, (std::vector<std::string>{"a 0/3 false", "b 1/3 false", "c 2/3 true"}));
  EXPECT_EQ(out.message.body, list({"a", "b", "c"}));
  EXPECT_EQ(*out.properties.find("CamelSplitSize"), Value(3));
}

// C38: the size of a JSON array is known; while streaming only the last part has it.
TEST_F(Split, KnowsTheSizeOfAJsonArray) {
  const ExpressionSpec all{"jsonpath", "$[*]", {}, nullptr};
  run(noting_split(all), exchange_of(R"([{"n":1},{"n":2},{"n":3}])"));
  EXPECT_EQ(notes, (std::vector<std::string>{R"({"n":1} 0/3 false)", R"({"n":2} 1/3 false)",
                                             R"({"n":3} 2/3 true)"}));
  notes.clear();
  run(noting_split(all).set("streaming", "true"), exchange_of(R"([{"n":1},{"n":2}])"));
  EXPECT_EQ(notes, (std::vector<std::string>{R"({"n":1} 0/- false)", R"({"n":2} 1/2 true)"}));
}

// C39: empty input gives no part, no error, and the route goes on once.
TEST_F(Split, GivesNoPartForEmptyInput) {
  for (const Value& empty : {Value(""), Value(" \n"), Value(List()), Value()}) {
    const Exchange out = run(noting_split(simple("${body}")), exchange_of(empty));
    EXPECT_TRUE(notes.empty());
    EXPECT_TRUE(out.running());
    EXPECT_EQ(out.message.body, empty);
    EXPECT_EQ(*out.properties.find("CamelSplitSize"), Value(0));
  }
}

TEST_F(Split, CutsTextsAtTheDelimiterLiterally) {
  struct Case {
    const char* text;
    const char* delimiter;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"a,b", ",", {"a", "b"}},       {"a,,b", ",", {"a", "", "b"}}, {"a,b,", ",", {"a", "b"}},
      {"a.b", ".", {"a", "b"}},       {"a, b", ",", {"a", " b"}},    {"a,b", "false", {"a,b"}},
      {"a--b-c", "--", {"a", "b-c"}}, {"x\ny\n", "\n", {"x", "y"}},
  };
  for (const Case& c : cases) {
    std::vector<std::string> parts;
    StepSpec spec =
        step("split", {call([&](Exchange& e) { parts.push_back(e.message.body.to_text()); })});
    run(spec.set("expression", simple("${body}")).set("delimiter", c.delimiter),
        exchange_of(c.text));
    EXPECT_EQ(parts, c.parts) << c.text << " at " << c.delimiter;
  }
}

TEST_F(Split, TriesAllPartsThenFailsWithTheLatestError) {
  StepSpec spec = step("split", {call([this](Exchange& e) {
                         note(e);
                         if (e.message.body != Value("b"))
                           e.fail(Error(ErrorKind::data, "bad " + e.message.body.to_text()));
                       })});
  spec.set("expression", simple("${body}"));
  RetryPolicy policy(0);
  const Exchange out = run(spec, exchange_of("a,b,c"), &policy);
  EXPECT_EQ(notes.size(), 3U);
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "bad c");
  EXPECT_EQ(out.message.body, Value("a,b,c"));
  // The parts had their error handling; the split is not redelivered as a whole.
  EXPECT_TRUE(out.error_exhausted);
  EXPECT_EQ(policy.steps, (std::vector<std::string>{"process", "process"}));
}

TEST_F(Split, StopsAtTheFirstFailureWhenAsked) {
  StepSpec spec = step("split", {call([this](Exchange& e) {
                         note(e);
                         if (e.message.body == Value("b")) e.fail(Error(ErrorKind::data, "bad b"));
                       })});
  spec.set("expression", simple("${body}")).set("stopOnException", "true");
  const Exchange out = run(spec, exchange_of("a,b,c"));
  EXPECT_EQ(notes.size(), 2U);
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "bad b");
}

TEST_F(Split, StopsAtTheFirstFailureInsideATransaction) {
  StepSpec spec = step("split", {call([this](Exchange& e) {
                         note(e);
                         EXPECT_TRUE(e.unit);
                         e.fail(Error(ErrorKind::data, "bad"));
                       })});
  spec.set("expression", simple("${body}"));
  const Exchange out = run(step("transacted", {spec}), exchange_of("a,b"));
  EXPECT_TRUE(out.failed());
  EXPECT_EQ(notes.size(), 1U);
}

TEST_F(Split, StopInAPartEndsOnlyThatPart) {
  StepSpec only_b = step("filter", {step("stop")});
  only_b.set("expression", simple("${body} == 'b'"));
  StepSpec spec = step("split", {only_b, call([this](Exchange& e) { note(e); })});
  spec.set("expression", simple("${body}"));
  const Exchange out = run(spec, exchange_of("a,b,c"));
  EXPECT_TRUE(out.running());
  EXPECT_EQ(notes.size(), 2U);
}

TEST_F(Split, GathersTheBodiesOfItsParts) {
  StepSpec spec = step("split", {append("!")});
  spec.set("expression", simple("${body}"))
      .set("aggregationStrategy",
           "#class:org.apache.camel.processor.aggregate.GroupedBodyAggregationStrategy");
  EXPECT_EQ(run(spec, exchange_of("a,b")).message.body, list({"a!", "b!"}));
}

TEST_F(Split, MergesInOrderThoughPartsArriveInAnother) {
  // The later the part, the shorter it takes.
  StepSpec wait = step("delay");
  wait.set("expression", computed([](const Exchange& e) {
             return Value(300 - 100 * *e.properties.find("CamelSplitIndex")->as_int());
           }));
  StepSpec spec = step("split", {wait, call([this](Exchange& e) { note(e); })});
  spec.set("expression", simple("${body}"))
      .set("parallelProcessing", "true")
      .set("aggregationStrategy", "StringAggregationStrategy");
  const SteadyTime start = harness.clock().steady();
  const Exchange out = run(spec, exchange_of("a,b,c"));
  EXPECT_EQ(out.message.body, Value("abc"));
  EXPECT_EQ(notes.front().substr(0, 1), "c");
  EXPECT_EQ(harness.clock().steady() - start, milliseconds(300));
}

TEST_F(Split, HasAtMostTwentyPartsOnTheirWay) {
  int now = 0;
  int most = 0;
  StepSpec spec = step(
      "split", {call([&](Exchange&) { most = std::max(most, ++now); }),
                step("delay").set("expression", constant("10")), call([&](Exchange&) { --now; })});
  List parts(100, Value("x"));
  spec.set("expression", simple("${body}")).set("parallelProcessing", "true");
  run(spec, exchange_of(Value(std::move(parts))));
  EXPECT_EQ(most, 20);
  EXPECT_EQ(now, 0);
}

TEST_F(Split, NamesTheNearestStrategyForAnUnknownOne) {
  harness.registry().bind("totals", std::make_shared<AggregationStrategy>());
  const std::string problem = problem_of(
      step("split", {}).set("expression", simple("${body}")).set("aggregationStrategy", "#totls"));
  EXPECT_NE(problem.find("E0502"), std::string::npos);
  EXPECT_NE(problem.find("totals"), std::string::npos);
}

class Multicast : public EipTest {};

TEST_F(Multicast, GivesEachBranchItsOwnCopyAndKeepsTheLastReply) {
  const Exchange out = run(step("multicast", {append("1"), append("2")}), exchange_of("x"));
  EXPECT_EQ(out.message.body, Value("x2"));
  EXPECT_EQ(*out.properties.find("CamelMulticastIndex"), Value(1));
}

TEST_F(Multicast, TriesAllBranchesThenFailsAndKeepsTheMessage) {
  bool reached = false;
  const Exchange out =
      run(step("multicast", {fail_with(Error(ErrorKind::transient, "first")),
                             call([&](Exchange& e) { reached = true, e.message.body = "y"; })}),
          exchange_of("x"));
  EXPECT_TRUE(reached);
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "first");
  EXPECT_EQ(out.message.body, Value("x"));
}

TEST_F(Multicast, TakesAsLongAsItsSlowestBranchInParallel) {
  StepSpec spec = step("multicast", {step("delay").set("expression", constant("300")),
                                     step("delay").set("expression", constant("100"))});
  const SteadyTime start = harness.clock().steady();
  run(spec.set("parallelProcessing", "true"), exchange_of("x"));
  EXPECT_EQ(harness.clock().steady() - start, milliseconds(300));
}

// C41: what the strategy throws reaches the caller at once, sequential and parallel.
TEST_F(Multicast, FailsWithWhatTheStrategyThrows) {
  AggregationStrategy broken;
  broken.merge = [](std::optional<Exchange> merged, Exchange part) {
    if (merged) throw std::runtime_error("cannot add");
    return part;
  };
  harness.registry().bind("broken", std::make_shared<AggregationStrategy>(broken));
  for (const char* parallel : {"false", "true"}) {
    StepSpec spec = step("multicast", {append("1"), append("2"), append("3")});
    const Exchange out =
        run(spec.set("aggregationStrategy", "#broken").set("parallelProcessing", parallel),
            exchange_of("x"));
    ASSERT_TRUE(out.failed());
    EXPECT_EQ(out.error->kind, ErrorKind::bug);
    EXPECT_NE(out.error->what.find("cannot add"), std::string::npos);
  }
}

TEST_F(Multicast, LetsAStrategySwallowTheErrorOfABranch) {
  AggregationStrategy best_effort;
  best_effort.merge = [](std::optional<Exchange> merged, Exchange part) {
    if (!part.failed()) return part;
    return merged ? std::move(*merged) : exchange_of("fallback");
  };
  harness.registry().bind("bestEffort", std::make_shared<AggregationStrategy>(best_effort));
  StepSpec spec = step("multicast", {append("1"), fail_with(Error(ErrorKind::timeout, "slow"))});
  const Exchange out = run(spec.set("aggregationStrategy", "bestEffort"), exchange_of("x"));
  EXPECT_TRUE(out.running());
  EXPECT_EQ(out.message.body, Value("x1"));
}

}  // namespace
}  // namespace drom
