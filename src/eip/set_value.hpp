// Message Translator in its smallest form: setBody, setHeader, setHeaders, setProperty,
// setVariable, transform. Evaluate an expression, put the value in its place. Names may hold ${...}
// and are then evaluated per message. Plain steps.
#pragma once

namespace drom {

class Registry;

void register_set_value(Registry& registry);

}  // namespace drom
