// The data formats of marshal and unmarshal.
#pragma once

namespace drom {

class Registry;

// Adds the steps `marshal` and `unmarshal`.
void register_formats(Registry& registry);

}  // namespace drom
