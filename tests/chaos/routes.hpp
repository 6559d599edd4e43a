// The route file that the engines of a campaign run: a writer with a unit of work and a deferred
// send, a relay to the sink, and a consumer behind an inbox.
#pragma once

#include <string>

namespace drom::chaos {

// `data_source` is the YAML of the properties of the bean `db`, after its type.
std::string route_file(const std::string& bean_type, const std::string& properties,
                       const std::string& lease, const std::string& mode);

}  // namespace drom::chaos
