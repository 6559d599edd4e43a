// rabbitmq: (also spring-rabbitmq:) and the bean drom.rabbitmq: AMQP 0-9-1 by librabbitmq.
#pragma once

#include "drom/spi/registry.hpp"

namespace drom {

void register_rabbitmq(Registry& registry);

}  // namespace drom
