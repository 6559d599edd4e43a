#include "support/eip_fixture.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class SetValue : public EipTest {};

TEST_F(SetValue, SetsTheBody) {
  const Exchange out =
      run(step("setBody").set("expression", simple("Hello ${body}")), exchange_of("you"));
  EXPECT_EQ(out.message.body, Value("Hello you"));
}

TEST_F(SetValue, KeepsTheTypeOfALoneExpression) {
  Exchange in = exchange_of("x");
  in.message.headers.set("n", 7);
  const Exchange out =
      run(step("transform").set("expression", simple("${header.n}")), std::move(in));
  EXPECT_EQ(out.message.body, Value(7));
}

TEST_F(SetValue, SetsHeaderPropertyAndVariableEachInItsPlace) {
  const Exchange out =
      run(step("pipeline", {step("setHeader").set("name", "h").set("expression", constant("1")),
                            step("setProperty").set("name", "p").set("expression", constant("2")),
                            step("setVariable").set("name", "v").set("expression", constant("3"))}),
          exchange_of("x"));
  EXPECT_EQ(out.message.headers.text("H"), "1");
  ASSERT_TRUE(out.properties.find("p"));
  EXPECT_EQ(*out.properties.find("p"), Value("2"));
  ASSERT_TRUE(out.variables.find("v"));
  EXPECT_EQ(*out.variables.find("v"), Value("3"));
  EXPECT_FALSE(out.properties.find("h"));
}

TEST_F(SetValue, ComputesNamesThatHoldExpressions) {
  const Exchange out =
      run(step("setHeader").set("name", "x-${body}").set("expression", constant("1")),
          exchange_of("a"));
  EXPECT_EQ(out.message.headers.text("x-a"), "1");
}

TEST_F(SetValue, SetsHeadersInTheOrderWritten) {
  StepSpec spec = step("setHeaders");
  spec.clauses.push_back(step("headers").set("name", "a").set("expression", constant("1")));
  spec.clauses.push_back(
      step("headers").set("name", "b").set("expression", simple("${header.a}2")));
  const Exchange out = run(spec, exchange_of("x"));
  EXPECT_EQ(out.message.headers.text("b"), "12");
}

TEST_F(SetValue, FailsOnlyTheExchangeWhoseExpressionFails) {
  Batch batch;
  for (const char* body : {"{\"a\":1}", "no json", "{\"a\":3}"}) batch.push_back(exchange_of(body));
  StepSpec spec = step("setHeader").set("name", "a");
  spec.set("expression", ExpressionSpec{"jsonpath", "$.a", {}, nullptr});
  run(spec, batch);
  EXPECT_TRUE(batch[0].running());
  ASSERT_TRUE(batch[1].failed());
  EXPECT_EQ(batch[1].error->kind, ErrorKind::data);
  EXPECT_EQ(batch[1].message.body, Value("no json"));
  EXPECT_TRUE(batch[2].running());
}

TEST_F(SetValue, RefusesVariablesOfOtherScopes) {
  EXPECT_NE(problem_of(step("setBody")).find("expression"), std::string::npos);
  harness.problems = {};
  harness.make_step(step("setVariable").set("name", "global:x").set("expression", constant("1")));
  EXPECT_NE(harness.problems.render().find("E0505"), std::string::npos);
}

class RemoveValue : public EipTest {
 protected:
  static Exchange with_headers() {
    Exchange out = exchange_of("x");
    for (const char* name : {"CamelA", "camelB", "tenant", "Tenant-Id"})
      out.message.headers.set(name, 1);
    return out;
  }
  static std::string names(const Exchange& exchange) {
    std::string out;
    for (const auto& [name, value] : exchange.message.headers) out += name + " ";
    return out;
  }
};

TEST_F(RemoveValue, RemovesOneHeaderWhateverItsCase) {
  EXPECT_EQ(names(run(step("removeHeader").set("name", "TENANT"), with_headers())),
            "CamelA camelB Tenant-Id ");
}

TEST_F(RemoveValue, RemovesByPrefixNameAndRegularExpression) {
  EXPECT_EQ(names(run(step("removeHeaders").set("pattern", "Camel*"), with_headers())),
            "tenant Tenant-Id ");
  EXPECT_EQ(names(run(step("removeHeaders").set("pattern", "tenant"), with_headers())),
            "CamelA camelB Tenant-Id ");
  EXPECT_EQ(names(run(step("removeHeaders").set("pattern", "(camela|tenant.+)"), with_headers())),
            "camelB tenant ");
}

TEST_F(RemoveValue, KeepsWhatIsExcluded) {
  EXPECT_EQ(names(run(step("removeHeaders").set("pattern", "*").set("excludePattern", "tenant*"),
                      with_headers())),
            "tenant Tenant-Id ");
}

TEST_F(RemoveValue, RefusesAWrongPattern) {
  EXPECT_NE(problem_of(step("removeHeaders").set("pattern", "(")).find("E0505"), std::string::npos);
}

TEST_F(RemoveValue, RemovesPropertiesAndVariables) {
  Exchange in = exchange_of("x");
  in.properties.set("tmp1", 1);
  in.properties.set("keep", 1);
  in.variables.set("v", 1);
  const Exchange out = run(step("pipeline", {step("removeProperties").set("pattern", "tmp*"),
                                             step("removeVariable").set("name", "v"),
                                             step("removeProperty").set("name", "absent")}),
                           std::move(in));
  EXPECT_FALSE(out.properties.find("tmp1"));
  EXPECT_TRUE(out.properties.find("keep"));
  EXPECT_FALSE(out.variables.find("v"));
}

}  // namespace
}  // namespace drom
