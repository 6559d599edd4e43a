// Multicast (Recipient List with fixed recipients): every child step is a branch and gets its own
// copy of the message; the replies are merged by a strategy, by default the last one wins.
// Error rules and transactions: fan_out.hpp.
#pragma once

namespace drom {

class Registry;

void register_multicast(Registry& registry);

}  // namespace drom
