#include "drom/spi/processor.hpp"

#include <algorithm>

#include "drom/rt/body_stream.hpp"

namespace drom {
namespace {

bool all_running(const Batch& batch) {
  for (const Exchange& exchange : batch)
    if (!exchange.running()) return false;
  return true;
}

bool any_running(const Batch& batch) {
  for (const Exchange& exchange : batch)
    if (exchange.running()) return true;
  return false;
}

void place_errors(Batch& batch, const Step& step, std::string_view route) {
  for (Exchange& exchange : batch) {
    if (!exchange.failed() || !exchange.error->where.empty()) continue;
    exchange.error->where = std::string(route) + "/" + step.id;
  }
}

// The running exchanges of a mixed batch, with the way back to their places. A step may not change
// the number of exchanges (split and filter work on children of their own).
struct Extracted {
  Batch running;
  std::vector<size_t> places;

  explicit Extracted(Batch& batch) {
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!batch[i].running()) continue;
      places.push_back(i);
      running.push_back(std::move(batch[i]));
    }
  }
  void put_back(Batch& batch) {
    DROM_ASSERT(running.size() == places.size());
    for (size_t i = 0; i < places.size(); ++i) batch[places[i]] = std::move(running[i]);
  }
};

class FunctionProcessor final : public Processor {
 public:
  explicit FunctionProcessor(ProcessFunction function) : function_(std::move(function)) {}
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) call(exchange);
  }

 private:
  // User code may throw; that is its way to fail an exchange.
  void call(Exchange& exchange) {
    try {
      function_(exchange);
    } catch (const std::exception& e) {
      exchange.fail(Error(ErrorKind::bug, std::string("the processor threw: ") + e.what()));
    } catch (...) {
      exchange.fail(
          Error(ErrorKind::bug, "the processor threw something that is no std::exception"));
    }
  }
  ProcessFunction function_;
};

}  // namespace

Pipeline::Pipeline(std::vector<Step> steps) : steps_(std::move(steps)) {
  for (const Step& step : steps_) plain_ = plain_ && step.plain != nullptr;
}

bool Pipeline::takes_batches() const {
  return std::ranges::all_of(
      steps_, [](const Step& step) { return step.plain || step.waiting->takes_batches(); });
}

bool Pipeline::pipelines() const {
  if (steps_.empty() || steps_.back().plain) return false;
  return steps_.back().waiting->pipelines() &&
         std::all_of(steps_.begin(), steps_.end() - 1,
                     [](const Step& step) { return step.plain != nullptr; });
}

void Pipeline::run_plain(Batch& batch, Scope& scope) {
  DROM_ASSERT(plain_);
  for (Step& step : steps_) {
    scope.step = step.id;
    if (all_running(batch)) {
      step.plain->run(batch, scope);
    } else {
      Extracted part(batch);
      if (part.running.empty()) return;
      step.plain->run(part.running, scope);
      part.put_back(batch);
    }
    place_errors(batch, step, scope.route);
  }
}

namespace {

Batch copies_for(const ErrorPolicy* policy, const Batch& batch) {
  Batch copies;
  if (policy && policy->redelivers())
    for (const Exchange& exchange : batch) copies.push_back(exchange.copy());
  return copies;
}

// Runs one step over a batch of running exchanges, then lets the error policy decide about each
// that failed here.
async<> run_step(Step& step, Batch& batch, Scope& scope) {
  scope.step = step.id;
  ErrorPolicy* const policy = scope.errors;
  const Batch before = copies_for(policy, batch);
  if (step.plain) {
    step.plain->run(batch, scope);
  } else {
    co_await step.waiting->run(batch, scope);
  }
  place_errors(batch, step, scope.route);
  if (!policy) co_return;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!batch[i].failed() || batch[i].error_exhausted) continue;
    const Exchange* copy = before.empty() ? nullptr : &before[i];
    co_await policy->handle(batch[i], copy, step, scope);
  }
}

// Streams become bodies for a step that wants those. What cannot be read has failed at this step;
// it is not worth another try.
async<> read_in_for(Step& step, Batch& batch, Scope& scope) {
  scope.step = step.id;
  co_await read_in(batch);
  place_errors(batch, step, scope.route);
  if (!scope.errors) co_return;
  for (Exchange& exchange : batch)
    if (exchange.failed() && !exchange.error_exhausted)
      co_await scope.errors->handle(exchange, nullptr, step, scope);
}

// The same over a batch in which some may run no more.
async<> run_step_for_running(Step& step, Batch& batch, Scope& scope) {
  if (has_streams(batch) && !step.takes_streams()) co_await read_in_for(step, batch, scope);
  if (all_running(batch)) {
    co_await run_step(step, batch, scope);
    co_return;
  }
  Extracted part(batch);
  if (!part.running.empty()) co_await run_step(step, part.running, scope);
  part.put_back(batch);
}

}  // namespace

async<> Pipeline::run(Batch& batch, Scope& scope) {
  for (Step& step : steps_) {
    if (!any_running(batch)) co_return;
    co_await run_step_for_running(step, batch, scope);
  }
}

async<> Pipeline::run_to_send(Batch& batch, Batch& before, Scope& scope) {
  DROM_ASSERT(pipelines());
  for (size_t i = 0; i + 1 < steps_.size(); ++i)
    co_await run_step_for_running(steps_[i], batch, scope);
  before = copies_for(scope.errors, batch);
  Scope unguarded = scope;
  unguarded.errors = nullptr;
  co_await run_step_for_running(steps_.back(), batch, unguarded);
}

std::unique_ptr<Processor> make_processor(ProcessFunction function) {
  return std::make_unique<FunctionProcessor>(std::move(function));
}

async<> run_one(Step& step, Exchange& exchange, Scope& scope) {
  Batch batch;
  batch.push_back(std::move(exchange));
  scope.step = step.id;
  if (has_streams(batch) && !step.takes_streams()) co_await read_in(batch);
  if (!batch.front().running()) {
    // Its stream cannot be read.
  } else if (step.plain) {
    step.plain->run(batch, scope);
  } else {
    co_await step.waiting->run(batch, scope);
  }
  place_errors(batch, step, scope.route);
  exchange = std::move(batch.front());
}

async<> run_one(AsyncProcessor& processor, Exchange& exchange, Scope& scope) {
  Batch batch;
  batch.push_back(std::move(exchange));
  if (has_streams(batch) && !processor.takes_streams()) co_await read_in(batch);
  if (batch.front().running()) co_await processor.run(batch, scope);
  exchange = std::move(batch.front());
}

}  // namespace drom
