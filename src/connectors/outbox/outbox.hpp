// outbox: a table of events beside the business data. As a producer it inserts a row in the current
// unit of work; as a source it is the relay, which hands every committed row to its route, in order
// per key, until the route has accepted it.
#pragma once

namespace drom {

class Registry;

void register_outbox(Registry& registry);

}  // namespace drom
