// The two colours of a step. A Processor is a plain function over a batch and never waits; an
// AsyncProcessor may. Neither throws for data: a failure is set on the exchange it concerns
// (Exchange::fail). Only running exchanges are given to a step. One route instance = one shard: no
// step needs a lock.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drom/config/location.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/async.hpp"
#include "drom/spi/scope.hpp"

namespace drom {

class Processor {
 public:
  virtual ~Processor() = default;
  virtual void run(Batch& batch, Scope& scope) = 0;
  // True when run() leaves bodies alone, or passes streams on (Message::stream). All other steps
  // are given bodies in memory.
  virtual bool takes_streams() const { return false; }
};

class AsyncProcessor {
 public:
  virtual ~AsyncProcessor() = default;
  virtual async<> run(Batch& batch, Scope& scope) = 0;
  // True when run() may get a batch where the route promises one exchange after another, because
  // nobody can see the difference: all effects belong to the transaction of the exchanges.
  virtual bool takes_batches() const { return false; }
  // True for a send that may be given several exchanges at once, and be called again while earlier
  // calls wait: effects come about in the order in which exchanges were given, and each exchange
  // learns its own end. As the last step of a route it lets the next exchanges start while one
  // waits; exchanges of one key are never given before the one ahead of them has ended.
  virtual bool pipelines() const { return false; }
  // As for a Processor.
  virtual bool takes_streams() const { return false; }
};

// One step of a plan: exactly one of the two pointers is set.
struct Step {
  std::unique_ptr<Processor> plain;
  std::unique_ptr<AsyncProcessor> waiting;
  std::string id;  // ${stepId}, metrics, error places
  Location where;

  bool takes_streams() const { return plain ? plain->takes_streams() : waiting->takes_streams(); }

  Step() = default;
  explicit Step(std::unique_ptr<Processor> p) : plain(std::move(p)) {}
  explicit Step(std::unique_ptr<AsyncProcessor> p) : waiting(std::move(p)) {}
};

// What happens to an exchange whose step failed: redelivery, onException, dead letter channel.
class ErrorPolicy {
 public:
  virtual ~ErrorPolicy() = default;
  // True when a failed step may be run again, so that the pipeline keeps a copy for it.
  virtual bool redelivers() const = 0;
  // `exchange` has failed at `step`; `before` is its copy from before the step (only when
  // redelivers()). Afterwards it runs, is stopped (handled) or has failed with error_exhausted.
  virtual async<> handle(Exchange& exchange, const Exchange* before, Step& step, Scope& scope) = 0;
};

// Steps one after another. Exchanges that stop or fail leave the walk but stay in the batch, in
// their place.
class Pipeline final : public AsyncProcessor {
 public:
  explicit Pipeline(std::vector<Step> steps);
  async<> run(Batch& batch, Scope& scope) override;
  bool plain() const { return plain_; }  // no step waits
  // Every step is plain or takes batches; who gives it a batch gives all one transaction, or none
  // of the steps has effects.
  bool takes_batches() const override;
  // Only the last step waits, and it pipelines: run_to_send() may be called while earlier calls
  // wait.
  bool pipelines() const override;
  bool takes_streams() const override { return true; }  // each step as it wants
  // The plain steps, then the last one without its error policy: what failed there is left to the
  // caller, with its copy from before the step in `before` (empty unless the policy redelivers).
  async<> run_to_send(Batch& batch, Batch& before, Scope& scope);
  bool empty() const { return steps_.empty(); }
  std::vector<Step>& steps() { return steps_; }
  // Only when plain(): the same without a coroutine. The error policy is not asked: failed
  // exchanges stay failed for the step that holds this pipeline.
  void run_plain(Batch& batch, Scope& scope);

 private:
  std::vector<Step> steps_;
  bool plain_ = true;
};

// A C++ function as a processor; the form that users register and write in the fluent DSL.
using ProcessFunction = std::function<void(Exchange&)>;
std::unique_ptr<Processor> make_processor(ProcessFunction function);

// Runs `step` on one exchange: a batch of one, moved in and out.
async<> run_one(Step& step, Exchange& exchange, Scope& scope);
async<> run_one(AsyncProcessor& processor, Exchange& exchange, Scope& scope);

}  // namespace drom
