// log: writes messages, or how many there were, to the engine's log. Values whose names say that they
// are secrets are masked.
#pragma once

namespace drom {

class Registry;

void register_log(Registry& registry);

}  // namespace drom
