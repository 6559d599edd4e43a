// Which of its media types a route answers in, by the Accept header. Pure; any thread. RFC 9110,
// 12.5.1.
#pragma once

#include <optional>
#include <string_view>

namespace drom::http {

// The one of `types` (comma separated) that `accept` likes best; of equals the first. The most
// specific range decides about a type: `text/html;q=0, */*` takes everything but HTML. Empty
// `accept`: the first type. Empty `types`: an empty text, as the route has left its type open.
// nullopt: none is accepted. The view is into `types`.
std::optional<std::string_view> negotiate(std::string_view accept, std::string_view types);

}  // namespace drom::http
