// `paced:NAME?perSecond=2000&together=4&count=1000&writers=2`: a source that yields an exchange for
// every `together` events, each at its time; the headers first0, first1 ... number the events.
#pragma once

#include "drom/spi/registry.hpp"

namespace drom::bench {

void register_paced(Registry& registry);

}  // namespace drom::bench
