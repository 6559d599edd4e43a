// mock: keeps what is sent to it, for tests. What a test does with it is in
// drom/connectors/mock.hpp.
#pragma once

#include "drom/connectors/mock.hpp"

namespace drom {

// Also binds the Mocks of this registry.
void register_mock(Registry& registry);

}  // namespace drom
