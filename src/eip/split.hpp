// Splitter: one message becomes many, each walks through the children, and the original goes on
// unchanged unless a strategy merges the parts. Lists give one part per element, texts are cut at
// the delimiter, anything else is one part; empty input gives none. The parts carry
// CamelSplitIndex, CamelSplitSize (streaming: only the last) and CamelSplitComplete; the original
// CamelSplitSize. Error rules and transactions: fan_out.hpp.
#pragma once

namespace drom {

class Registry;

void register_split(Registry& registry);

}  // namespace drom
