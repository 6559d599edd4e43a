#include <gtest/gtest.h>

#include "support/harness.hpp"
#include "support/pieces.hpp"

namespace drom {
namespace {

using testing::Harness;

Step function_step(std::string id, ProcessFunction function) {
  Step step(make_processor(std::move(function)));
  step.id = std::move(id);
  return step;
}

void append(Exchange& exchange, std::string_view text) {
  exchange.message.body = exchange.message.body.to_text() + std::string(text);
}

Batch batch_of(std::initializer_list<std::string_view> bodies) {
  Batch batch;
  for (const auto body : bodies) batch.emplace_back(Message{Value(body), {}});
  return batch;
}

TEST(Pipeline, RunsStepsInOrderOverTheBatch) {
  Harness harness;
  std::vector<Step> steps;
  steps.push_back(function_step("a", [](Exchange& e) { append(e, "a"); }));
  steps.push_back(function_step("b", [](Exchange& e) { append(e, "b"); }));
  Pipeline pipeline(std::move(steps));
  Batch batch = batch_of({"1", "2"});
  Scope scope = harness.scope();
  harness.run(pipeline.run(batch, scope));
  EXPECT_EQ(batch[0].message.body, Value("1ab"));
  EXPECT_EQ(batch[1].message.body, Value("2ab"));
}

TEST(Pipeline, KeepsStoppedAndFailedExchangesInTheirPlaceAndAwayFromLaterSteps) {
  Harness harness;
  std::vector<Step> steps;
  steps.push_back(function_step("judge", [](Exchange& e) {
    if (e.message.body == Value("stop")) e.stop();
    if (e.message.body == Value("fail")) e.fail(Error(ErrorKind::data, "bad"));
  }));
  steps.push_back(function_step("mark", [](Exchange& e) { append(e, "!"); }));
  Pipeline pipeline(std::move(steps));
  Batch batch = batch_of({"stop", "go", "fail", "on"});
  Scope scope = harness.scope("orders");
  harness.run(pipeline.run(batch, scope));
  EXPECT_EQ(batch[0].message.body, Value("stop"));
  EXPECT_EQ(batch[1].message.body, Value("go!"));
  EXPECT_EQ(batch[2].flow, Flow::failed);
  EXPECT_EQ(batch[2].error->where, "orders/judge");
  EXPECT_EQ(batch[3].message.body, Value("on!"));
}

TEST(Pipeline, TurnsAThrownExceptionOfUserCodeIntoAFailure) {
  Harness harness;
  std::vector<Step> steps;
  steps.push_back(function_step("user", [](Exchange&) { throw std::runtime_error("boom"); }));
  Pipeline pipeline(std::move(steps));
  Batch batch = batch_of({"x"});
  Scope scope = harness.scope();
  harness.run(pipeline.run(batch, scope));
  ASSERT_TRUE(batch[0].failed());
  EXPECT_EQ(batch[0].error->kind, ErrorKind::bug);
  EXPECT_NE(batch[0].error->what.find("boom"), std::string::npos);
}

// Runs the failed step again, once, from the copy.
class RetryOnce final : public ErrorPolicy {
 public:
  bool redelivers() const override { return true; }
  async<> handle(Exchange& exchange, const Exchange* before, Step& step, Scope& scope) override {
    exchange = before->copy();
    ++calls;
    co_await run_one(step, exchange, scope);
    if (exchange.failed()) exchange.error_exhausted = true;
  }
  int calls = 0;
};

TEST(Pipeline, GivesThePolicyACopyFromBeforeTheFailedStep) {
  Harness harness;
  int attempts = 0;
  std::vector<Step> steps;
  steps.push_back(function_step("a", [](Exchange& e) { append(e, "a"); }));
  steps.push_back(function_step("flaky", [&attempts](Exchange& e) {
    append(e, "?");
    if (++attempts == 1) e.fail(Error(ErrorKind::transient, "first"));
  }));
  Pipeline pipeline(std::move(steps));
  RetryOnce policy;
  Batch batch = batch_of({"1"});
  Scope scope = harness.scope();
  scope.errors = &policy;
  harness.run(pipeline.run(batch, scope));
  EXPECT_EQ(policy.calls, 1);
  EXPECT_EQ(batch[0].message.body, Value("1a?"));
  EXPECT_TRUE(batch[0].running());
}

// Notes what it was given.
class Taker final : public AsyncProcessor {
 public:
  Taker(bool streams, std::vector<std::string>& seen) : streams_(streams), seen_(seen) {}
  bool takes_streams() const override { return streams_; }
  async<> run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch)
      seen_.push_back(exchange.message.stream ? "a stream" : exchange.message.body.to_text());
    co_return;
  }

 private:
  bool streams_;
  std::vector<std::string>& seen_;
};

class StreamPipeline : public ::testing::Test {
 protected:
  void add(bool streams) { steps.emplace_back(std::make_unique<Taker>(streams, seen)); }
  Batch run(std::shared_ptr<BodyStream> stream, ErrorPolicy* policy = nullptr) {
    Pipeline pipeline(std::move(steps));
    Batch batch;
    batch.push_back(testing::streamed(std::move(stream)));
    Scope scope = harness.scope("orders");
    scope.errors = policy;
    harness.run(pipeline.run(batch, scope));
    return batch;
  }
  Harness harness;
  std::vector<Step> steps;
  std::vector<std::string> seen;
};

TEST_F(StreamPipeline, ReadsStreamsInForStepsThatWantBodies) {
  add(true);
  add(false);
  add(true);
  const Batch batch = run(std::make_shared<testing::Pieces>(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(seen, (std::vector<std::string>{"a stream", "ab", "ab"}));
  EXPECT_TRUE(batch.front().running());
}

// Counts the calls and gives up.
class GiveUp final : public ErrorPolicy {
 public:
  bool redelivers() const override { return true; }
  async<> handle(Exchange& exchange, const Exchange* before, Step&, Scope&) override {
    ++calls;
    had_copy = had_copy || before;
    exchange.error_exhausted = true;
    co_return;
  }
  int calls = 0;
  bool had_copy = false;
};

TEST_F(StreamPipeline, FailsAtTheStepForWhichAStreamCannotBeReadIn) {
  add(true);
  add(false);
  const auto stream = std::make_shared<testing::Pieces>(std::vector<std::string>{"a"});
  stream->failure = Error(ErrorKind::transient, "gone");
  GiveUp policy;
  steps.back().id = "look";
  const Batch batch = run(stream, &policy);
  EXPECT_EQ(seen, std::vector<std::string>{"a stream"});
  ASSERT_TRUE(batch.front().failed());
  EXPECT_EQ(batch.front().error->where, "orders/look");
  EXPECT_EQ(policy.calls, 1);
  EXPECT_FALSE(policy.had_copy);  // a second try would find nothing
}

}  // namespace
}  // namespace drom
