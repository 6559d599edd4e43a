// timer: starts a route at intervals of the engine's clock. Ticks that come while the route is
// still busy are not kept: they become one.
#pragma once

namespace drom {

class Registry;

void register_timer(Registry& registry);

}  // namespace drom
