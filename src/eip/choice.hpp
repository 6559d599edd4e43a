// Content-Based Router (`choice`) and Message Filter (`filter`): predicates decide which children
// an exchange goes through; without a match it goes on after the block. The exchanges of a batch
// keep their order: neighbours that take the same branch walk through it together. Plain when all
// children are pure (children.hpp).
#pragma once

namespace drom {

class Registry;

void register_choice(Registry& registry);

}  // namespace drom
