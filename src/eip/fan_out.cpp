#include "eip/fan_out.hpp"

#include <map>

#include "drom/rt/body_stream.hpp"
#include "rt/run_all.hpp"

namespace drom {
namespace {

// Merges in the order of the parts, whatever the order of arrival.
class Gathering {
 public:
  Gathering(const FanOutOptions& options, bool stop_on_error)
      : options_(options), stop_on_error_(stop_on_error) {}

  void arrived(size_t index, Exchange part) {
    if (part.failed() && stop_on_error_) stopped_ = true;
    waiting_.emplace(index, std::move(part));
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      take(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
      ++next_;
    }
  }
  bool stopped() const { return stopped_; }

  // When all parts that were started have arrived.
  void finish(Exchange& original) {
    DROM_ASSERT(waiting_.empty());
    if (error_) {
      original.fail(std::move(*error_));
      original.error_exhausted = exhausted_;
    } else if (merged_ && merged_->failed()) {
      original.fail(std::move(*merged_->error));
      original.error_exhausted = merged_->error_exhausted;
    } else if (merged_ && !options_.merge.keeps_original) {
      copy_results(original, *merged_);
    }
  }

 private:
  void take(Exchange part) {
    if (error_) return;
    if (part.failed() && stop_on_error_) return end(std::move(*part.error), part.error_exhausted);
    Result<Exchange> merged = merge(*options_.merge.strategy, std::move(merged_), std::move(part));
    if (!merged) return end(std::move(merged.error()), false);
    merged_ = std::move(*merged);
  }
  void end(Error error, bool exhausted) {
    error_ = std::make_unique<Error>(std::move(error));
    exhausted_ = exhausted;
    stopped_ = true;
  }

  static void copy_results(Exchange& original, Exchange& merged) {
    original.message = std::move(merged.message);
    for (auto& [name, value] : merged.properties) original.properties.set(name, value);
    for (auto& [name, value] : merged.variables) original.variables.set(name, value);
  }

  const FanOutOptions& options_;
  const bool stop_on_error_;
  std::map<size_t, Exchange> waiting_;
  std::optional<Exchange> merged_;
  std::unique_ptr<Error> error_;  // ended the step
  bool exhausted_ = false;
  size_t next_ = 0;
  bool stopped_ = false;
};

// Takes parts until there are none left. Several workers share the source and the gathering: one
// thread, and nothing waits between taking a part and its number.
async<> work(PartSource& parts, size_t& taken, Gathering& gathering, Scope& route_scope) {
  Scope scope = route_scope;
  while (!gathering.stopped()) {
    std::optional<Part> part = parts.next();
    if (!part) co_return;
    const size_t index = taken++;
    Batch batch;
    batch.push_back(std::move(part->exchange));
    co_await part->children->run(batch, scope);
    if (has_streams(batch)) co_await read_in(batch);  // to be merged
    gathering.arrived(index, std::move(batch.front()));
  }
}

}  // namespace

async<> fan_out(Exchange& original, PartSource& parts, const FanOutOptions& options, Scope& scope) {
  const bool in_transaction = original.unit != nullptr;
  Gathering gathering(options, options.stop_on_exception || in_transaction);
  size_t taken = 0;
  const size_t at_once =
      options.parallel && !in_transaction ? std::min(parts.size(), kParallelMax) : 1;
  if (at_once > 1) {
    std::vector<async<>> workers;
    for (size_t i = 0; i < at_once; ++i) workers.push_back(work(parts, taken, gathering, scope));
    co_await run_all(std::move(workers));
  } else {
    co_await work(parts, taken, gathering, scope);
  }
  gathering.finish(original);
}

}  // namespace drom
