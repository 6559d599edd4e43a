#include "support/eip_fixture.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class DoTry : public EipTest {
 protected:
  static StepSpec catching(std::string exception, std::vector<StepSpec> children) {
    StepSpec out = step("doCatch", std::move(children));
    OptionText names;
    names.name = "exception";
    names.values = {std::move(exception)};
    names.is_list = true;
    out.options.push_back(std::move(names));
    return out;
  }
  static StepSpec attempt(std::vector<StepSpec> children, std::vector<StepSpec> clauses) {
    StepSpec out = step("doTry", std::move(children));
    out.clauses = std::move(clauses);
    return out;
  }
};

TEST_F(DoTry, GoesToTheFirstClauseThatNamesTheError) {
  const Exchange out = run(
      attempt({fail_with(Error(ErrorKind::not_connected, "down")), append("never")},
              {catching("java.lang.IllegalArgumentException", {append("-data")}),
               catching("java.io.IOException",
                        {append("-io"), step("setHeader")
                                            .set("name", "why")
                                            .set("expression", simple("${exception.message}"))}),
               catching("java.lang.Exception", {append("-all")})}),
      exchange_of("x"));
  EXPECT_TRUE(out.running());
  EXPECT_EQ(out.message.body, Value("x-io"));
  EXPECT_EQ(out.message.headers.text("why"), "down");
}

TEST_F(DoTry, KeepsTheErrorHandlerOut) {
  RetryPolicy policy(3);
  int attempts = 0;
  const Exchange out = run(attempt({call([&](Exchange& e) {
                                     ++attempts;
                                     e.fail(Error(ErrorKind::transient, "no"));
                                   })},
                                   {catching("java.lang.Exception", {})}),
                           exchange_of("x"), &policy);
  EXPECT_TRUE(out.running());
  EXPECT_EQ(attempts, 1);
  EXPECT_TRUE(policy.steps.empty());
}

TEST_F(DoTry, LeavesAnErrorThatNobodyTakesToTheErrorHandler) {
  RetryPolicy policy(0);
  const Exchange out = run(attempt({fail_with(Error(ErrorKind::data, "bad"))},
                                   {catching("java.io.IOException", {append("!")})}),
                           exchange_of("x"), &policy);
  EXPECT_TRUE(out.failed());
  EXPECT_EQ(out.message.body, Value("x"));
  EXPECT_EQ(policy.steps, std::vector<std::string>{"doTry"});
}

TEST_F(DoTry, AsksOnWhenWithTheErrorInSight) {
  StepSpec first = catching("java.lang.Exception", {append("-first")});
  first.set("onWhen", simple("${exception.message} contains 'retry'"));
  const auto body_for = [&](std::string what) {
    return run(attempt({fail_with(Error(ErrorKind::rejected, std::move(what)))},
                       {first, catching("java.lang.Exception", {append("-second")})}),
               exchange_of("x"))
        .message.body.to_text();
  };
  EXPECT_EQ(body_for("please retry"), "x-first");
  EXPECT_EQ(body_for("no"), "x-second");
}

TEST_F(DoTry, RunsFinallyInEveryCase) {
  const StepSpec finally = step("doFinally", {append("-end")});
  EXPECT_EQ(run(attempt({append("-ok")}, {finally}), exchange_of("x")).message.body,
            Value("x-ok-end"));

  const Exchange failed =
      run(attempt({fail_with(Error(ErrorKind::data, "bad"))}, {finally}), exchange_of("x"));
  ASSERT_TRUE(failed.failed());
  EXPECT_EQ(failed.error->what, "bad");
  EXPECT_EQ(failed.message.body, Value("x-end"));

  const Exchange stopped = run(attempt({step("stop")}, {finally}), exchange_of("x"));
  EXPECT_EQ(stopped.flow, Flow::stopped);
  EXPECT_EQ(stopped.message.body, Value("x-end"));

  const Exchange caught =
      run(attempt({fail_with(Error(ErrorKind::data, "bad"))},
                  {catching("java.lang.Exception", {append("-caught")}), finally}),
          exchange_of("x"));
  EXPECT_EQ(caught.message.body, Value("x-caught-end"));
}

TEST_F(DoTry, FailsWithTheErrorOfACatchOrFinally) {
  const Exchange in_catch =
      run(attempt({fail_with(Error(ErrorKind::data, "first"))},
                  {catching("java.lang.Exception", {fail_with(Error(ErrorKind::data, "second"))})}),
          exchange_of("x"));
  ASSERT_TRUE(in_catch.failed());
  EXPECT_EQ(in_catch.error->what, "second");
  const Exchange in_finally =
      run(attempt({append("!")}, {step("doFinally", {fail_with(Error(ErrorKind::data, "third"))})}),
          exchange_of("x"));
  ASSERT_TRUE(in_finally.failed());
  EXPECT_EQ(in_finally.error->what, "third");
}

TEST_F(DoTry, NeverCatchesTheStopOfTheEngine) {
  const Exchange out = run(attempt({fail_with(Error(ErrorKind::cancelled, "stopping"))},
                                   {catching("java.lang.Throwable", {})}),
                           exchange_of("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::cancelled);
}

TEST_F(DoTry, NeedsAClause) {
  EXPECT_EQ(harness.problems.items().size(), 0U);
  harness.make_step(attempt({append("x")}, {}));
  EXPECT_NE(harness.problems.render().find("E0503"), std::string::npos);
}

class FlowControl : public EipTest {};

TEST_F(FlowControl, ThrowsTheNamedErrorWithItsKind) {
  Exchange in = exchange_of("x");
  in.message.headers.set("id", 7);
  const Exchange out = run(step("throwException")
                               .set("exceptionType", "java.net.ConnectException")
                               .set("message", "no ${header.id}"),
                           std::move(in));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "no 7");
  EXPECT_EQ(out.error->type, "java.net.ConnectException");
  EXPECT_EQ(out.error->kind, ErrorKind::not_connected);
}

TEST_F(FlowControl, ThrowsUnknownClassesAsRejected) {
  const Exchange out =
      run(step("throwException").set("exceptionType", "com.acme.OutOfStock"), exchange_of("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::rejected);
  EXPECT_EQ(out.error->what, "com.acme.OutOfStock");
}

TEST_F(FlowControl, DelaysByNumberAndByText) {
  for (const auto& [text, expected] :
       {std::pair{"250", 250}, std::pair{"2s", 2000}, std::pair{"0", 0}}) {
    const SteadyTime start = harness.clock().steady();
    const Exchange out = run(step("delay").set("expression", constant(text)), exchange_of("x"));
    EXPECT_TRUE(out.running());
    EXPECT_EQ(harness.clock().steady() - start, milliseconds(expected)) << text;
  }
}

TEST_F(FlowControl, FailsADelayThatIsNoDuration) {
  const Exchange out = run(step("delay").set("expression", constant("soon")), exchange_of("x"));
  EXPECT_TRUE(out.failed());
}

}  // namespace
}  // namespace drom
