#include "drom/spi/endpoint.hpp"

namespace drom {

Result<std::unique_ptr<Consumer>> Endpoint::make_consumer() {
  return Error(ErrorKind::config, "'" + uri() + "' cannot be the source of a route");
}

Result<std::unique_ptr<Producer>> Endpoint::make_producer() {
  return Error(ErrorKind::config, "'" + uri() + "' cannot be sent to");
}

}  // namespace drom
