// log: writes messages, or how many there were, to the engine's log. Values whose names say that
// they are secrets are masked.
#pragma once

namespace drom {

class Registry;

// Not register_log: that is the log step.
void register_log_component(Registry& registry);

}  // namespace drom
