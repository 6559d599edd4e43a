// The HTTP connector: `platform-http` serves routes over one shared server, `http` and `https` send
// requests through one shared connection pool. This is the only header that others include.
// Load time.
#pragma once

namespace drom {

class Registry;

void register_http(Registry& registry);

}  // namespace drom
