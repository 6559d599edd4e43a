// The HTTP server for operators and their machines: /health/live, /health/ready, /health/startup,
// /metrics, the same below /observe as in Camel. It is there when a property asks for it
// (read_management_settings in connectors/http), and listens before the first route starts, so that
// the start can be watched. No secrets and no message data are shown. Shard thread only.
#pragma once

#include "connectors/http/server.hpp"
#include "drom/engine/engine.hpp"

namespace drom {

// Makes the server and drives the shard until it listens. It closes with the engine, which must be
// built and not started.
Result<void> serve_management(Engine& engine, http::ServerSettings settings);

}  // namespace drom
