// sendCaptured: the end of a route that relays the sends which a data source keeps in its outbox.
#pragma once

namespace drom {
class Registry;
void register_send_captured(Registry& registry);
}  // namespace drom
