// Steps that end or interrupt a walk: stop, throwException, rollback, and delay. All but delay are
// plain.
#pragma once

#include <string_view>

namespace drom {

// Exchange property set by `rollback` with markRollbackOnly: the route asked for the rollback, so
// `transacted` does not take it for an accident.
inline constexpr std::string_view kRollbackAsked = "CamelRollbackOnly";

class Registry;

void register_flow_control(Registry& registry);

}  // namespace drom
