// `platform-http`: serves a route over the shared HTTP server. One request is one InOut exchange;
// the message that the route leaves behind is the answer. Load time.
#pragma once

#include "drom/spi/registry.hpp"

namespace drom::http {

ComponentInfo platform_http_component();

}  // namespace drom::http
