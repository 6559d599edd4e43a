#include "machines/backoff.hpp"

#include <algorithm>
#include <cmath>

namespace drom {

milliseconds Backoff::delay(int attempt, uint64_t dice) const {
  const double limit = static_cast<double>(maximum.count());
  const double factor = std::max(1.0, multiplier);
  // pow() overflows to infinity, which min() brings back to the limit.
  const double raw =
      static_cast<double>(initial.count()) * std::pow(factor, std::max(0, attempt - 1));
  const double full = std::min(raw, limit);
  const double share = std::clamp(jitter, 0.0, 1.0) * static_cast<double>(dice >> 11) * 0x1.0p-53;
  return milliseconds(static_cast<int64_t>(full - full * share));
}

}  // namespace drom
