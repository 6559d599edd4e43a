// The aggregation strategies that every engine has, by Camel's names, and the lookup of those that
// users register. An error of a part is never lost: the built-in strategies carry the latest one
// over to the merged exchange.
#pragma once

#include <memory>

#include "drom/spi/aggregation_strategy.hpp"
#include "drom/spi/build_context.hpp"

namespace drom {

struct MergeRule {
  std::shared_ptr<const AggregationStrategy> strategy;
  // The merged exchange only carries errors; the original message stays.
  bool keeps_original = false;
};

// The last reply wins.
MergeRule use_latest();
// Nothing is kept but the latest error.
MergeRule use_original();

// The option `aggregationStrategy`: a registered bean, or a built-in by its class name
// ("#class:..." or the simple name); `fallback` when the route names none. No strategy in the
// answer: reported.
MergeRule merge_rule(const Config& config, MergeRule fallback, BuildContext& context);

// Calls the strategy; what it throws is the error.
Result<Exchange> merge(const AggregationStrategy& strategy, std::optional<Exchange> merged,
                       Exchange part);

}  // namespace drom
