#include "drom/model/exchange.hpp"

#include <algorithm>

namespace drom {

Exchange Exchange::copy() const {
  Exchange out;
  out.message = message;
  out.properties = properties;
  out.variables = variables;
  out.pattern = pattern;
  out.depth = depth;
  out.delivery = delivery;
  if (caught) out.caught = std::make_unique<Error>(*caught);
  out.unit = unit;
  out.serial = serial;
  out.key = key;
  out.created = created;
  out.original = original;
  return out;
}

void Exchange::catch_error() {
  DROM_ASSERT(error);
  caught = std::move(error);
  flow = Flow::running;
  error_exhausted = false;
}

bool shares_a_unit(const Batch& batch) {
  if (batch.size() < 2 || !batch.front().unit) return false;
  return std::ranges::all_of(
      batch, [&](const Exchange& exchange) { return exchange.unit == batch.front().unit; });
}

}  // namespace drom
