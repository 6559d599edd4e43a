// What split and multicast have in common: parts of one exchange go through children, one after
// another or several at once, and their replies are merged in the order of the parts.
//   - Each part has its own error handling; what is still failed afterwards fails the whole step.
//     Without stopOnException all other parts are tried first, and the latest error wins.
//   - Inside a transaction the first failure ends the step (nothing could commit any more), and the
//     parts go one after another, because they share one connection.
//   - A part that stops ends only itself.
// Shard thread.
#pragma once

#include <optional>

#include "drom/spi/processor.hpp"
#include "eip/aggregation.hpp"

namespace drom {

// How many parts are on their way at once with parallelProcessing: Camel's largest pool.
inline constexpr size_t kParallelMax = 20;

struct Part {
  Exchange exchange;
  AsyncProcessor* children = nullptr;
};

class PartSource {
 public:
  virtual ~PartSource() = default;
  virtual size_t size() const = 0;
  // nullopt at the end, after size() parts.
  virtual std::optional<Part> next() = 0;
};

struct FanOutOptions {
  MergeRule merge;
  bool parallel = false;
  bool stop_on_exception = false;
};

// Sends the parts through their children; `original` receives the merged message, properties and
// variables, or the error. On error its message stays as it was.
async<> fan_out(Exchange& original, PartSource& parts, const FanOutOptions& options, Scope& scope);

}  // namespace drom
