// How the replies of several branches become one message: split, multicast, and every later pattern
// that gathers. A strategy is a bean, `registry.bind<AggregationStrategy>("name", ...)`, and is
// named in a route by `aggregationStrategy: "#name"`. Called on the shard, one call at a time per
// message, in the order of the parts whatever the order of arrival.
#pragma once

#include <functional>
#include <optional>

#include "drom/model/exchange.hpp"

namespace drom {

struct AggregationStrategy {
  // `merged` is empty for the first part. A part that failed comes with its error set: leave the
  // error out of the answer to swallow it; an answer that has failed fails the whole step. An
  // exception fails the step too.
  std::function<Exchange(std::optional<Exchange> merged, Exchange part)> merge;
};

}  // namespace drom
