// The two ends of a rabbitmq endpoint; made in rabbitmq.cpp.
#pragma once

#include <memory>

#include "connectors/rabbitmq/options.hpp"
#include "drom/spi/endpoint.hpp"

namespace drom::rabbitmq {

std::unique_ptr<Consumer> make_consumer(EndpointOptions options, BuildContext& context);
std::unique_ptr<Producer> make_producer(EndpointOptions options, BuildContext& context);

}  // namespace drom::rabbitmq
