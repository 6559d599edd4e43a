// What the tests of this room share: steps written in a line, exchanges, an error policy that
// counts, a producer and a database that only take notes. Tests only.
#pragma once

#include <gtest/gtest.h>

#include "drom/rt/unit_of_work.hpp"
#include "eip/steps.hpp"
#include "support/harness.hpp"

namespace drom::testing {

inline ExpressionSpec simple(std::string text) { return {"simple", std::move(text), {}, nullptr}; }
inline ExpressionSpec constant(std::string text) {
  return {"constant", std::move(text), {}, nullptr};
}
inline ExpressionSpec computed(std::function<Value(const Exchange&)> function) {
  return {{}, {}, {}, make_expression(std::move(function))};
}

inline StepSpec step(std::string name) {
  StepSpec out;
  out.name = std::move(name);
  return out;
}
inline StepSpec step(std::string name, std::vector<StepSpec> children) {
  StepSpec out = step(std::move(name));
  out.steps = std::move(children);
  out.has_steps = true;
  return out;
}
inline StepSpec call(ProcessFunction function) {
  StepSpec out = step("process");
  out.function = std::move(function);
  return out;
}
inline StepSpec fail_with(Error error) {
  return call([error](Exchange& exchange) { exchange.fail(error); });
}
// Appends a text to the body.
inline StepSpec append(std::string text) {
  return call([text](Exchange& e) { e.message.body = e.message.body.to_text() + text; });
}

inline Exchange exchange_of(Value body) { return Exchange(Message{std::move(body), {}}); }

// Redelivers a failed step `times`, then gives up.
class RetryPolicy final : public ErrorPolicy {
 public:
  explicit RetryPolicy(int times) : times_(times) {}
  bool redelivers() const override { return times_ > 0; }
  async<> handle(Exchange& exchange, const Exchange* before, Step& failed, Scope& scope) override {
    Scope inner = scope;
    inner.errors = nullptr;
    steps.push_back(failed.id);
    for (int i = 0; i < times_ && exchange.failed(); ++i) {
      exchange = before->copy();
      co_await run_one(failed, exchange, inner);
    }
    if (exchange.failed()) exchange.error_exhausted = true;
  }
  std::vector<std::string> steps;  // where errors came to the policy

 private:
  int times_;
};

// Notes what it is sent.
class NotingProducer final : public Producer {
 public:
  async<> run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      sent.push_back(exchange.message.body.to_text());
      patterns.push_back(exchange.pattern);
      if (behaviour) behaviour(exchange);
    }
    co_return;
  }
  bool defers_in_transaction() const override { return defers; }
  bool defers_when_in_only() const override { return replies; }
  std::vector<std::string> sent;
  std::vector<ExchangePattern> patterns;
  ProcessFunction behaviour;
  bool defers = false;
  bool replies = false;  // a reply that the step may decline
};

// A database transaction that notes its end.
class NotingTransaction final : public TransactionResource {
 public:
  explicit NotingTransaction(std::vector<std::string>& notes,
                             std::optional<Error> commit_error = {})
      : notes_(notes), commit_error_(std::move(commit_error)) {}
  async<Result<void>> commit() override {
    notes_.emplace_back("commit");
    if (commit_error_) co_return *commit_error_;
    co_return Result<void>();
  }
  async<> rollback() override {
    notes_.emplace_back("rollback");
    co_return;
  }

 private:
  std::vector<std::string>& notes_;
  std::optional<Error> commit_error_;
};

class EipTest : public ::testing::Test {
 protected:
  EipTest() { register_steps(harness.registry()); }

  Step make(const StepSpec& spec) {
    Step out = harness.make_step(spec);
    EXPECT_FALSE(harness.problems.has_errors()) << harness.problems.render();
    return out;
  }
  Exchange run(const StepSpec& spec, Exchange exchange, ErrorPolicy* errors = nullptr) {
    Batch batch;
    batch.push_back(std::move(exchange));
    run(spec, batch, errors);
    return std::move(batch.front());
  }
  void run(const StepSpec& spec, Batch& batch, ErrorPolicy* errors = nullptr) {
    std::vector<Step> steps;
    steps.push_back(make(spec));
    ASSERT_TRUE(steps.front().plain || steps.front().waiting);
    Pipeline pipeline(std::move(steps));
    Scope scope = harness.scope();
    scope.errors = errors;
    harness.run(pipeline.run(batch, scope));
  }
  // The problems of a step that must not be made.
  std::string problem_of(const StepSpec& spec) {
    const Step made = harness.make_step(spec);
    EXPECT_FALSE(made.plain || made.waiting);
    return harness.problems.render();
  }

  Harness harness;
};

}  // namespace drom::testing
