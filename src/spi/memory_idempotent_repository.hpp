// The in-memory idempotent repository: forgets at restart, holds a bounded number of keys, drops
// the one that was seen longest ago. A key is first claimed by an exchange, then confirmed, or
// given free when the exchange fails or its unit of work rolls back. Shard thread.
#pragma once

#include <memory>

#include "drom/spi/idempotent_repository.hpp"

namespace drom {

class Registry;

std::shared_ptr<IdempotentRepository> make_memory_idempotent_repository(size_t cache_size);

// The bean type `drom.memoryIdempotentRepository`, also under Camel's class name.
void register_memory_idempotent_repository(Registry& registry);

}  // namespace drom
