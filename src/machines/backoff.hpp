// Exponential backoff with jitter, in saturating arithmetic: no attempt count can make a wait
// negative, zero or longer than the maximum. Pure; any thread.
#pragma once

#include <cstdint>

#include "drom/base/time.hpp"

namespace drom {

struct Backoff {
  milliseconds initial{1000};
  double multiplier = 2;
  milliseconds maximum{60'000};
  double jitter = 0.2;  // the wait lies in [(1 - jitter) * full, full]

  // The wait before try number `attempt` + 1, for attempt >= 1. `dice` is any random number.
  milliseconds delay(int attempt, uint64_t dice) const;
};

}  // namespace drom
