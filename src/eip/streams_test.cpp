// Which steps pass streams on, and which are given bodies.
#include "support/eip_fixture.hpp"
#include "support/pieces.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class Streams : public EipTest {
 protected:
  // Whether the stream is still one after the step.
  bool passes(const StepSpec& spec) {
    const auto stream = std::make_shared<Pieces>(std::vector<std::string>{"abc"});
    result = run(spec, streamed(stream));
    EXPECT_TRUE(result.running());
    return result.message.stream == stream && stream->reads == 0;
  }
  static StepSpec header(std::string text) {
    return step("setHeader").set("name", "h").set("expression", simple(std::move(text)));
  }
  static StepSpec choice(std::string when, StepSpec inner) {
    StepSpec out = step("choice");
    StepSpec clause = step("when", {std::move(inner)});
    clause.set("expression", simple(std::move(when)));
    out.clauses.push_back(std::move(clause));
    return out;
  }
  Exchange result;
};

TEST_F(Streams, PassThroughStepsThatLookAtOtherThings) {
  EXPECT_TRUE(passes(header("a ${header.b} ${exchangeProperty.c} ${variable.d}")));
  EXPECT_TRUE(passes(step("setProperty").set("name", "p").set("expression", constant("x"))));
  EXPECT_TRUE(passes(step("removeHeaders").set("pattern", "*")));
  EXPECT_TRUE(passes(step("removeHeader").set("name", "x")));
  EXPECT_TRUE(passes(step("log").set("message", "order ${header.id}")));
}

TEST_F(Streams, AreReadForStepsThatLookAtTheBody) {
  EXPECT_FALSE(passes(header("${body}")));
  EXPECT_EQ(result.message.headers.text("h"), "abc");
  EXPECT_EQ(result.message.body.to_text(), "abc");
  EXPECT_FALSE(passes(step("log").set("message", "${body.length}")));
  EXPECT_FALSE(passes(append("d")));
  EXPECT_EQ(result.message.body.to_text(), "abcd");
}

TEST_F(Streams, EndWhereAnotherBodyIsSet) {
  EXPECT_FALSE(passes(step("setBody").set("expression", constant("new"))));
  EXPECT_EQ(result.message.body, Value("new"));
  EXPECT_EQ(result.message.stream, nullptr);
}

TEST_F(Streams, TakeABranchByTheHeaders) {
  StepSpec send = step("doTry", {header("x")});
  send.clauses.push_back(step("doFinally", {}));
  EXPECT_FALSE(passes(choice("${body} == 'abc'", send)));
  EXPECT_FALSE(passes(choice("${header.a} == null", send)));
  EXPECT_TRUE(passes(choice("${header.a} == 'x' && ${header.b.c} == null", send)));
}

}  // namespace
}  // namespace drom
