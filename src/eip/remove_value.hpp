// Content Filter in its smallest form: removeHeader(s), removeProperty, removeProperties,
// removeVariable. Plain steps; removing what is not there is fine.
#pragma once

namespace drom {

class Registry;

void register_remove_value(Registry& registry);

}  // namespace drom
