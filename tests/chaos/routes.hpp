// The route file that the engines of a campaign run: a writer with a unit of work and a deferred
// send, a relay to the sink, and a consumer behind an inbox.
#pragma once

#include <string>

#include "chaos/broker.hpp"

namespace drom::chaos {

// `properties` is the YAML of the properties of the bean `db`. With a broker, the relay delivers to
// it and the consumer takes from it.
std::string route_file(const std::string& bean_type, const std::string& properties,
                       const std::string& lease, const std::string& mode, const Broker* broker);

}  // namespace drom::chaos
