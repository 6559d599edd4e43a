// The steps of this room. Each has its own pair of files; the header says when to use it.
#pragma once

namespace drom {

class Registry;

void register_steps(Registry& registry);

}  // namespace drom
