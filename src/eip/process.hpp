// Calls C++: `process` and `bean` run a function that was registered by name, or one that the
// fluent DSL carries along. Plain steps; what the function throws fails the exchange.
#pragma once

namespace drom {

class Registry;

void register_process(Registry& registry);

}  // namespace drom
