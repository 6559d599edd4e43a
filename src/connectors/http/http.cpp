#include "connectors/http/http.hpp"

#include "connectors/http/http_producer.hpp"
#include "connectors/http/platform_http.hpp"
#include "connectors/http/webhook.hpp"

namespace drom {

void register_http(Registry& registry) {
  registry.add(http::platform_http_component());
  registry.add(http::http_component());
  registry.add(http::webhook_component());
}

}  // namespace drom
