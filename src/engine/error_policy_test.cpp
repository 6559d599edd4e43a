#include "engine/error_policy.hpp"

#include <gtest/gtest.h>

#include "drom/spi/route_specs.hpp"
#include "support/harness.hpp"
#include "support/pieces.hpp"

namespace drom {
namespace {

using testing::Harness;

// A dead letter endpoint that keeps what it gets, or fails.
class FakeProducer final : public Producer {
 public:
  async<> run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      bodies.push_back(exchange.message.body);
      if (broken) exchange.fail(Error(ErrorKind::not_connected, "nobody there"));
    }
    co_return;
  }
  std::vector<Value> bodies;
  bool broken = false;
};

class ErrorPolicyTest : public ::testing::Test {
 protected:
  // A step that fails `failures` times, then appends "!" to the body.
  void failing_step(int failures, ErrorKind kind = ErrorKind::transient) {
    step_ = Step(make_processor([this, failures, kind](Exchange& exchange) {
      ++attempts_;
      exchange.message.body = exchange.message.body.to_text() + "!";
      if (attempts_ <= failures) exchange.fail(Error(kind, "attempt " + std::to_string(attempts_)));
    }));
    step_.id = "flaky";
  }
  RoutePolicy::Clause& clause(std::string exception) {
    RoutePolicy::Clause& added = policy_.clauses.emplace_back();
    added.exceptions = {std::move(exception)};
    return added;
  }
  static std::unique_ptr<Pipeline> steps(ProcessFunction function) {
    std::vector<Step> out;
    out.emplace_back(make_processor(std::move(function)));
    return std::make_unique<Pipeline>(std::move(out));
  }
  static ExpressionPtr always(bool value) {
    return make_expression([value](const Exchange&) { return Value(value); });
  }
  Exchange run() {
    Pipeline pipeline(one());
    Scope scope = harness_.scope("orders");
    scope.errors = &policy_;
    Batch batch;
    batch.emplace_back(Message{Value("b"), {}});
    batch.front().original = std::make_shared<const Message>(Message{Value("original"), {}});
    harness_.run(pipeline.run(batch, scope));
    return std::move(batch.front());
  }
  milliseconds elapsed() {
    return std::chrono::duration_cast<milliseconds>(
        harness_.manual_clock.steady().time_since_epoch());
  }

  std::vector<Step> one() {
    std::vector<Step> out;
    out.push_back(std::move(step_));
    return out;
  }

  Harness harness_;
  StopSource stop_;
  RouteCounters counters_;
  RoutePolicy policy_{stop_, counters_};
  Step step_;
  int attempts_ = 0;
};

TEST(RedeliveryDelay, GrowsByTheMultiplierUpToTheMaximumAndNeverOverflows) {
  Rng rng(1);
  RedeliveryPolicy policy;
  policy.exponential = true;
  EXPECT_EQ(redelivery_delay(policy, 1, rng), milliseconds(1000));
  EXPECT_EQ(redelivery_delay(policy, 2, rng), milliseconds(2000));
  EXPECT_EQ(redelivery_delay(policy, 6, rng), milliseconds(32'000));
  EXPECT_EQ(redelivery_delay(policy, 7, rng), milliseconds(60'000));
  EXPECT_EQ(redelivery_delay(policy, 1'000'000'000, rng), milliseconds(60'000));
}

TEST(RedeliveryDelay, StaysFixedWithoutBackOff) {
  Rng rng(1);
  RedeliveryPolicy policy;
  policy.delay = milliseconds(250);
  EXPECT_EQ(redelivery_delay(policy, 1, rng), milliseconds(250));
  EXPECT_EQ(redelivery_delay(policy, 9, rng), milliseconds(250));
}

TEST(RedeliveryDelay, FollowsThePattern) {
  Rng rng(1);
  RedeliveryPolicy policy;
  policy.pattern = {{2, milliseconds(100)}, {5, milliseconds(900)}};
  EXPECT_EQ(redelivery_delay(policy, 1, rng), milliseconds(0));
  EXPECT_EQ(redelivery_delay(policy, 4, rng), milliseconds(100));
  EXPECT_EQ(redelivery_delay(policy, 7, rng), milliseconds(900));
}

TEST(RedeliveryDelay, AvoidsCollisionsWithinItsFactor) {
  Rng rng(3);
  RedeliveryPolicy policy;
  policy.collision_avoidance = true;
  milliseconds low = milliseconds::max(), high{0};
  for (int i = 0; i < 1000; ++i) {
    const milliseconds wait = redelivery_delay(policy, 1, rng);
    low = std::min(low, wait);
    high = std::max(high, wait);
  }
  EXPECT_GE(low, milliseconds(850));
  EXPECT_LE(high, milliseconds(1150));
  EXPECT_LT(low, milliseconds(900));
  EXPECT_GT(high, milliseconds(1100));
}

TEST(RedeliveryPolicyOptions, RefuseAPatternThatIsNone) {
  Harness harness;
  for (const char* text : {"x", "5", "5:x", "5:100;3:100", "5:100;5:200"}) {
    Diagnostics problems;
    StepSpec spec;
    spec.set("redeliveryPolicy.delayPattern", text);
    const Config config =
        Config::validate(default_error_handler_spec(), spec.options, Location(), harness, problems);
    redelivery_policy(config, {}, problems);
    EXPECT_TRUE(problems.has_errors()) << text;
  }
}

TEST_F(ErrorPolicyTest, RunsTheFailedStepAgainFromItsCopy) {
  failing_step(2);
  policy_.redelivery.maximum_redeliveries = 2;
  const Exchange out = run();
  EXPECT_TRUE(out.running());
  EXPECT_EQ(attempts_, 3);
  EXPECT_EQ(out.message.body, Value("b!"));
  EXPECT_EQ(counters_.redelivered, 2U);
  EXPECT_EQ(elapsed(), milliseconds(2000));
}

TEST_F(ErrorPolicyTest, TheStepSeesTheCounterAndLaterStepsDoNot) {  // C49
  Value seen;
  step_ = Step(make_processor([&](Exchange& exchange) {
    if (const Value* counter = exchange.message.headers.find("CamelRedeliveryCounter"))
      seen = *counter;
    if (++attempts_ <= 2) exchange.fail(Error(ErrorKind::transient, "again"));
  }));
  policy_.redelivery.maximum_redeliveries = 3;
  const Exchange out = run();
  EXPECT_EQ(seen, Value(2));
  EXPECT_EQ(out.message.headers.find("CamelRedeliveryCounter"), nullptr);
  EXPECT_EQ(out.message.headers.find("CamelRedelivered"), nullptr);
}

TEST_F(ErrorPolicyTest, GivesUpAfterTheMaximumAndKeepsTheLastError) {
  failing_step(9);
  policy_.redelivery.maximum_redeliveries = 2;
  const Exchange out = run();
  ASSERT_TRUE(out.failed());
  EXPECT_TRUE(out.error_exhausted);
  EXPECT_EQ(out.error->what, "attempt 3");
  EXPECT_EQ(out.error->where, "orders/flaky");
  EXPECT_TRUE(harness_.captured.contains("gave up at orders/flaky after 2 redeliveries"));
}

TEST_F(ErrorPolicyTest, DoesNotRedeliverByDefault) {
  failing_step(1);
  const Exchange out = run();
  EXPECT_TRUE(out.failed());
  EXPECT_EQ(attempts_, 1);
}

TEST_F(ErrorPolicyTest, WaitsAtLeastAsLongAsTheOtherSideAsked) {
  step_ = Step(make_processor([this](Exchange& exchange) {
    if (++attempts_ > 1) return;
    Error busy(ErrorKind::transient, "busy");
    busy.retry_after = std::chrono::minutes(5);
    exchange.fail(std::move(busy));
  }));
  policy_.redelivery.maximum_redeliveries = 1;
  EXPECT_TRUE(run().running());
  EXPECT_EQ(elapsed(), milliseconds(std::chrono::minutes(5)));
}

TEST_F(ErrorPolicyTest, TheClosestClauseWinsWhateverTheOrder) {
  failing_step(1, ErrorKind::not_connected);
  clause("java.lang.Exception").steps = steps([](Exchange& e) { e.message.body = "general"; });
  clause("java.net.ConnectException").steps = steps([](Exchange& e) { e.message.body = "close"; });
  for (RoutePolicy::Clause& c : policy_.clauses) c.handled = always(true);
  const Exchange out = run();
  EXPECT_EQ(out.flow, Flow::stopped);
  EXPECT_EQ(out.message.body, Value("close"));
}

TEST_F(ErrorPolicyTest, OnWhenTakesAClauseOut) {
  failing_step(1);
  RoutePolicy::Clause& first = clause("transient");
  first.on_when = always(false);
  first.handled = always(true);
  EXPECT_TRUE(run().failed());
}

TEST_F(ErrorPolicyTest, HandledEndsWellAndShowsTheErrorToItsSteps) {
  failing_step(1);
  std::string seen;
  RoutePolicy::Clause& only = clause("transient");
  only.handled = always(true);
  only.steps = steps([&](Exchange& e) { seen = e.caught->what; });
  const Exchange out = run();
  EXPECT_EQ(out.flow, Flow::stopped);
  EXPECT_EQ(out.error, nullptr);
  EXPECT_EQ(seen, "attempt 1");
}

TEST_F(ErrorPolicyTest, ContinuedGoesOnAfterTheFailedStep) {
  failing_step(1);
  clause("transient").continued = always(true);
  EXPECT_TRUE(run().running());
}

TEST_F(ErrorPolicyTest, AClauseWithoutHandledRunsItsStepsAndKeepsTheError) {
  failing_step(1);
  bool ran = false;
  clause("transient").steps = steps([&](Exchange&) { ran = true; });
  const Exchange out = run();
  EXPECT_TRUE(ran);
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "attempt 1");
}

TEST_F(ErrorPolicyTest, RetryWhileOverridesTheMaximum) {
  failing_step(100);
  RoutePolicy::Clause& only = clause("transient");
  only.retry_while = make_expression([this](const Exchange&) { return Value(attempts_ < 4); });
  EXPECT_TRUE(run().failed());
  EXPECT_EQ(attempts_, 4);
}

TEST_F(ErrorPolicyTest, LooksForTheClauseAgainWhenTheErrorChanges) {
  step_ = Step(make_processor([this](Exchange& exchange) {
    exchange.fail(Error(++attempts_ == 1 ? ErrorKind::transient : ErrorKind::data, "changed"));
  }));
  clause("transient").redelivery.maximum_redeliveries = 5;
  RoutePolicy::Clause& data = clause("data");
  data.handled = always(true);
  EXPECT_EQ(run().flow, Flow::stopped);
  EXPECT_EQ(attempts_, 2);
}

TEST_F(ErrorPolicyTest, AnErrorInsideTheHandlerIsTheNewError) {
  failing_step(1);
  RoutePolicy::Clause& only = clause("transient");
  only.handled = always(true);
  only.steps = steps([](Exchange& e) { e.fail(Error(ErrorKind::bug, "the handler broke")); });
  const Exchange out = run();
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "the handler broke");
  EXPECT_TRUE(out.error_exhausted);
}

TEST_F(ErrorPolicyTest, TheDeadLetterEndpointGetsTheMessageOnce) {
  failing_step(9);
  FakeProducer dead;
  policy_.redelivery.maximum_redeliveries = 1;
  policy_.dead_letter = RoutePolicy::DeadLetter();
  policy_.dead_letter->producer = &dead;
  const Exchange out = run();
  EXPECT_EQ(out.flow, Flow::stopped);
  EXPECT_EQ(dead.bodies, std::vector<Value>{Value("b!")});
}

TEST_F(ErrorPolicyTest, TheDeadLetterEndpointMayAskForTheOriginal) {
  failing_step(1);
  FakeProducer dead;
  policy_.dead_letter = RoutePolicy::DeadLetter();
  policy_.dead_letter->producer = &dead;
  policy_.dead_letter->use_original_message = true;
  run();
  EXPECT_TRUE(policy_.wants_original());
  EXPECT_EQ(dead.bodies, std::vector<Value>{Value("original")});
}

TEST_F(ErrorPolicyTest, AFailingDeadLetterEndpointKeepsTheMessageWithItsSource) {
  failing_step(1);
  FakeProducer dead;
  dead.broken = true;
  policy_.dead_letter = RoutePolicy::DeadLetter();
  policy_.dead_letter->producer = &dead;
  policy_.dead_letter->uri = "file:dead";
  const Exchange out = run();
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::transient);
  EXPECT_NE(out.error->what.find("attempt 1"), std::string::npos);
  EXPECT_NE(out.error->what.find("file:dead failed: nobody there"), std::string::npos);
  EXPECT_EQ(counters_.dead_letter_failed, 1U);  // C46
}

TEST_F(ErrorPolicyTest, CancelledErrorsGoBackUntouched) {
  failing_step(9, ErrorKind::cancelled);
  policy_.redelivery.maximum_redeliveries = -1;
  clause("java.lang.Throwable").handled = always(true);
  const Exchange out = run();
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::cancelled);
  EXPECT_EQ(attempts_, 1);
}

TEST_F(ErrorPolicyTest, AStopDuringTheWaitGivesTheExchangeBack) {
  failing_step(9);
  policy_.redelivery.maximum_redeliveries = -1;
  policy_.redelivery.while_stopping = false;
  Pipeline pipeline(one());
  Scope scope = harness_.scope("orders");
  scope.errors = &policy_;
  Batch batch;
  batch.emplace_back(Message{Value("b"), {}});
  harness_.spawn(pipeline.run(batch, scope));
  harness_.settle();
  EXPECT_EQ(attempts_, 1);
  stop_.stop();
  harness_.settle();
  ASSERT_TRUE(batch.front().failed());
  EXPECT_EQ(batch.front().error->kind, ErrorKind::cancelled);
}

// Passes a stream on, reads of it, and fails.
class FailingReader final : public AsyncProcessor {
 public:
  explicit FailingReader(int& calls) : calls_(calls) {}
  bool takes_streams() const override { return true; }
  async<> run(Batch& batch, Scope&) override {
    ++calls_;
    if (reads) {
      const Result<std::string> piece = co_await batch.front().message.stream->next();
      EXPECT_TRUE(piece.ok());
    }
    batch.front().fail(Error(ErrorKind::transient, "broken"));
  }
  bool reads = true;

 private:
  int& calls_;
};

TEST_F(ErrorPolicyTest, RedeliversAStreamOnlyWhileNothingOfItHasBeenRead) {
  policy_.redelivery.maximum_redeliveries = 3;
  for (const bool reads : {false, true}) {
    int calls = 0;
    auto reader = std::make_unique<FailingReader>(calls);
    reader->reads = reads;
    step_ = Step(std::move(reader));
    Pipeline pipeline(one());
    Scope scope = harness_.scope("orders");
    scope.errors = &policy_;
    Batch batch;
    batch.push_back(
        testing::streamed(std::make_shared<testing::Pieces>(std::vector<std::string>{"a", "b"})));
    harness_.run(pipeline.run(batch, scope));
    EXPECT_EQ(calls, reads ? 1 : 4);
    EXPECT_EQ(batch.front().error->what, "broken");
  }
}

}  // namespace
}  // namespace drom
