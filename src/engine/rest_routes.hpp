// Makes routes of `rest`: each operation becomes one from platform-http to its target, and the
// OpenAPI document one of its own. Load time, before the routes are built.
#pragma once

#include "drom/config/config.hpp"
#include "drom/spi/route_spec.hpp"

namespace drom {

// Appends to spec.routes. Errors go to `diagnostics`.
void expand_rests(ContextSpec& spec, const PropertySource& properties, Diagnostics& diagnostics);

}  // namespace drom
