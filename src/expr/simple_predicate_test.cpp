// Operators, coercion, null and truth in `simple` predicates, and what wrong text is answered with.
#include <gtest/gtest.h>

#include "drom/base/json.hpp"
#include "support/eval_env.hpp"

namespace drom {
namespace {

class Predicate : public ::testing::Test {
 protected:
  Predicate() {
    exchange.message.headers.set("foo", "abc");
    exchange.message.headers.set("bar", 123);
  }
  // "true", "false", or what went wrong.
  std::string test(std::string_view text) {
    ExpressionError problem;
    const ExpressionPtr predicate =
        compile_expression("simple", text, ExpressionUse::predicate, problem);
    if (!predicate) return "syntax: " + problem.what;
    const Result<bool> answer = predicate->matches(exchange, scope);
    return answer ? (*answer ? "true" : "false") : "error: " + answer.error().what;
  }
  bool yes(std::string_view text) {
    const std::string answer = test(text);
    if (answer == "true") return true;
    if (answer != "false") ADD_FAILURE() << text << ": " << answer;
    return false;
  }

  testing::FixedEnv env;
  EvalScope scope{env, "route1", "step1"};
  Exchange exchange;
};

// C53: a flag without an operator is an operand like any other.
TEST_F(Predicate, BareFlagsAreOperandsOfLogic) {
  struct Case {
    Value vip;
    int total;
    bool expected;
  };
  const Case cases[] = {{true, 1, true},
                        {false, 101, true},
                        {Value(), 1, false},
                        {"false", 1, false},
                        {"", 1, false}};
  for (const Case& c : cases) {
    exchange.message.headers.erase("vip");
    if (!c.vip.is_null()) exchange.message.headers.set("vip", c.vip);
    exchange.message.headers.set("total", c.total);
    EXPECT_EQ(yes("${header.vip} || ${header.total} > 100"), c.expected) << c.vip.to_text();
    EXPECT_EQ(yes("${header.total} > 100 || ${header.vip}"), c.expected) << c.vip.to_text();
  }
}

TEST_F(Predicate, TruthOfValues) {
  EXPECT_TRUE(is_truthy(true));
  EXPECT_TRUE(is_truthy(0));
  EXPECT_TRUE(is_truthy("TRUE"));
  EXPECT_TRUE(is_truthy("no"));
  EXPECT_TRUE(is_truthy(Object()));
  EXPECT_FALSE(is_truthy(Value()));
  EXPECT_FALSE(is_truthy("False"));
  EXPECT_FALSE(is_truthy("  "));
  EXPECT_FALSE(is_truthy(List()));
  EXPECT_FALSE(yes(""));
  EXPECT_FALSE(yes(" "));
  EXPECT_TRUE(yes("true"));
  EXPECT_TRUE(yes("!${header.absent}"));
}

TEST_F(Predicate, NumbersCompareByValueAndExactly) {
  exchange.message.body =
      *parse_json(R"({"id":9007199254740993,"big":12345678901234567890,"d":1.10})");
  EXPECT_TRUE(yes("${body.id} == 9007199254740993"));
  EXPECT_FALSE(yes("${body.id} == 9007199254740992"));
  EXPECT_TRUE(yes("${body.id} > 9007199254740992"));
  EXPECT_FALSE(yes("${body.big} == 12345678901234567891"));
  EXPECT_TRUE(yes("${body.big} == '12345678901234567890'"));
  EXPECT_TRUE(yes("${body.big} < 12345678901234567891"));
  EXPECT_TRUE(yes("${body.d} == 1.1"));
  EXPECT_TRUE(yes("${body.d} > 1"));
  EXPECT_TRUE(yes("${body.d} range 1..2"));
}

TEST_F(Predicate, TextsOfDigitsCompareAsNumbersButEqualsComparesText) {
  exchange.message.headers.set("a", "0001");
  exchange.message.headers.set("b", "001");
  EXPECT_TRUE(yes("${header.a} == ${header.b}"));
  EXPECT_FALSE(yes("${header.a} equals ${header.b}"));
  EXPECT_TRUE(yes("${header.a} !equals ${header.b}"));
  exchange.message.headers.set("a", "100.50");
  EXPECT_TRUE(yes("${header.a} > 100"));
  EXPECT_TRUE(yes("${header.a} > '100'"));
  EXPECT_TRUE(yes("${header.a} == 100.5"));
}

TEST_F(Predicate, NullComparesLikeInCamel) {
  EXPECT_TRUE(yes("${header.x} == null"));
  EXPECT_FALSE(yes("${header.x} == 'abc'"));
  EXPECT_TRUE(yes("${header.x} != 'abc'"));
  EXPECT_FALSE(yes("${header.x} < 5"));
  EXPECT_FALSE(yes("${header.x} > 5"));
  EXPECT_FALSE(yes("${header.x} < ${header.y}"));
  EXPECT_TRUE(yes("${header.x} <= ${header.y}"));
  EXPECT_FALSE(yes("${header.x} contains 'a'"));
  EXPECT_TRUE(yes("${header.x} !contains 'a'"));
  EXPECT_FALSE(yes("${header.x} regex '.*'"));
  EXPECT_FALSE(yes("${header.x} startsWith 'a'"));
}

TEST_F(Predicate, BooleansCompareWithTheirTexts) {
  exchange.message.headers.set("on", true);
  EXPECT_TRUE(yes("${header.on} == true"));
  EXPECT_TRUE(yes("${header.on} == 'TRUE'"));
  EXPECT_FALSE(yes("${header.on} == 'yes'"));
  EXPECT_FALSE(yes("${header.on} == 1"));
}

TEST_F(Predicate, BytesCompareLikeText) {
  exchange.message.headers.set("tenant", Bytes(std::string("abc")));
  EXPECT_TRUE(yes("${header.tenant} == 'abc'"));
  EXPECT_TRUE(yes("${header.tenant} contains 'b'"));
}

TEST_F(Predicate, SetsAndLists) {
  exchange.message.headers.set("medal", "");
  EXPECT_FALSE(yes("${header.medal} in ',gold'"));
  EXPECT_TRUE(yes("${header.medal} in ',,gold'"));
  EXPECT_TRUE(yes("${header.medal} in 'a,,gold'"));
  exchange.message.body = *parse_json(R"(["gold",7])");
  EXPECT_TRUE(yes("${body} contains 'gold'"));
  EXPECT_TRUE(yes("${body} contains 7"));
  EXPECT_TRUE(yes("'gold' in ${body}"));
  EXPECT_FALSE(yes("${header.foo} in ${body}"));
}

TEST_F(Predicate, LogicGoesFromLeftToRightWithoutPrecedence) {
  EXPECT_FALSE(yes("true || true && false"));
  EXPECT_TRUE(yes("true && false || true"));
  EXPECT_TRUE(yes("${header.foo} == 'abc' and ${header.bar} == 123"));
  EXPECT_TRUE(yes("${header.foo} == 'x' or ${header.bar} == 123"));
}

TEST_F(Predicate, LogicStopsWhenTheAnswerIsKnown) {
  exchange.message.body = "not json";
  EXPECT_TRUE(yes("${header.foo} == 'abc' || ${body.x} == 1"));
  EXPECT_FALSE(yes("${header.foo} == 'x' && ${body.x} == 1"));
  EXPECT_EQ(test("${body.x} == 1 || ${header.foo} == 'abc'"),
            "error: the text is no JSON, so it has no field 'x'");
}

TEST_F(Predicate, QuotesHoldOperatorsAndFunctions) {
  exchange.message.body = "a && b == 'c'";
  EXPECT_TRUE(yes("${body} == \"a && b == 'c'\""));
  EXPECT_TRUE(yes("${header.foo} == '${header.foo}'"));
  EXPECT_TRUE(yes("${header.bar} == \"${header.bar}\""));
}

TEST_F(Predicate, DatesCompareWithTextsAndMilliseconds) {
  exchange.message.headers.set("due", env.time);
  EXPECT_TRUE(yes("${header.due} == ${date:now}"));
  EXPECT_TRUE(yes("${header.due} > '2024-02-29T13:05:09Z'"));
  EXPECT_TRUE(yes("${date:now-1h} < ${header.due}"));
}

TEST_F(Predicate, WhatHasNoOrderIsADataError) {
  exchange.message.body = *parse_json("[1]");
  EXPECT_EQ(test("${body} > 3"), "error: a list and a integer have no order");
}

TEST_F(Predicate, APatternThatExplodesIsADataErrorAndNoHang) {
  exchange.message.body = std::string(60, 'a') + "!";
  EXPECT_EQ(test("${body} regex '(a+)+b'").substr(0, 6), "error:");
  EXPECT_EQ(test("${body} regex '(((a*)*)*)*b'").substr(0, 6), "error:");
}

TEST_F(Predicate, SyntaxErrorsPointAtTheirPlace) {
  struct Case {
    std::string_view text;
    size_t offset;
    std::string_view what, hint;
  };
  const Case cases[] = {
      {"${header.foo} is com.mycompany.DoesNotExist", 17, "'com.mycompany.DoesNo' is no value",
       "write '...'"},
      {"${header.foo} is 'Sting'", 17, "there is no type 'Sting'", "did you mean 'String'?"},
      {"${header.foo} range 'abc..200'", 20, "'abc..200' is no range", "write it like 100..199"},
      {"${header.foo} range 100.200 x", 20, "'100.200 x' is no value", ""},
      {"${header.foo} == ", 14, "the operator == has no right side", ""},
      {"== 'x'", 0, "the operator == has no left side", ""},
      {"${header.foo}=='x'", 13, "'=='x'' is not expected here",
       "operators have spaces on both sides"},
      {"${header.foo} == 'x' &&", 23, "the logical operator has no right side", ""},
      {"${header.foo} == 'x", 17, "the quoted text has no end", ""},
      {"${header.foo", 0, "the function has no closing }", "close it"},
      {"${heder.foo} == 'x'", 2, "there is no function 'heder'", "did you mean 'header'?"},
      {"${headerfoo}", 2, "there is no function 'headerfoo'", ""},
      {"${uuidv7}", 2, "there is no function 'uuidv7'", "did you mean 'uuid'?"},
      {"${ref:order} == 1", 2, "Camel's function 'ref' is not supported", ""},
      {"${jq(.a | length)} == 1", 5, "only paths such as", "use jsonpath"},
      {"${header.foo} regex '('", 20, "'(' is no regular expression", ""},
      {"${body.toUperCase()}", 7, "there is no method toUperCase()", "did you mean 'toUpperCase'?"},
      {"${body.substring()}", 7, "the method substring() takes 1 argument(s)", ""},
      {"${random(1,2,3)}", 2, "random() takes 1 to 2 arguments, not 3", ""},
      {"${date:nwo}", 7, "'nwo' is no source of a date", "did you mean 'now'?"},
      {"${date:now:yyyy-MM-ddTHH}", 21, "'T' is no letter of a date pattern", "use yyyy"},
      {"${jsonpath($.a[)}", 10, "the parenthesis is not closed", ""},
      {"${jsonpath($.a[x])}", 15, "a number, a quoted name", ""},
      {"${}", 2, "the function is empty", ""},
      {"foo", 0, "'foo' is no value", "write '...' for text"},
  };
  for (const Case& c : cases) {
    ExpressionError problem;
    EXPECT_EQ(compile_expression("simple", c.text, ExpressionUse::predicate, problem), nullptr)
        << c.text;
    EXPECT_EQ(problem.offset, c.offset) << c.text;
    EXPECT_NE(problem.what.find(c.what), std::string::npos) << c.text << ": " << problem.what;
    EXPECT_NE(problem.hint.find(c.hint), std::string::npos) << c.text << ": " << problem.hint;
  }
}

TEST_F(Predicate, DeepAndLargeTextsAreRefused) {
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += "${trim(";
  EXPECT_NE(test(deep).find("syntax: "), std::string::npos);
  for (int i = 0; i < 2000; ++i) deep += ")}";
  EXPECT_NE(test(deep).find("syntax: "), std::string::npos);
  EXPECT_NE(test(std::string(5000, '!') + "${body}").find("syntax: "), std::string::npos);
  EXPECT_EQ(test(std::string(70'000, 'x')), "syntax: the expression is larger than 65536 bytes");
  std::string wide = "${header.foo} == 'abc'";
  for (int i = 0; i < 2000; ++i) wide += " && ${header.foo} == 'abc'";
  EXPECT_TRUE(yes(wide));
}

}  // namespace
}  // namespace drom
