// Message Endpoint: `to` sends to a fixed endpoint; the reply, if there is one, becomes the
// message. Inside `transacted`, sends to the outside wait for the commit (send.hpp).
#pragma once

namespace drom {

class Registry;

void register_to(Registry& registry);

}  // namespace drom
