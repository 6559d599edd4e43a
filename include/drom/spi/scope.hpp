// Everything impure that a step may use comes through Scope: clock, log, randomness, the
// environment of expressions, the error policy in force. One per route, copied and narrowed by
// steps with children. Shard thread only; valid while the route runs.
#pragma once

#include <cstdint>
#include <string_view>

#include "drom/expr/expression.hpp"
#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/rt/random.hpp"

namespace drom {

class ErrorPolicy;

struct Scope {
  Clock& clock;
  Log& log;
  Rng& rng;
  const EvalEnv& env;
  std::string_view route;
  std::string_view step;
  // Null inside doTry and transacted: errors then stay on the exchange for the enclosing step.
  ErrorPolicy* errors = nullptr;

  EvalScope eval() const { return {env, route, step}; }
};

}  // namespace drom
