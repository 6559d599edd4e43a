// Writes one line to the log per message. Plain; nothing is evaluated when the level is off. The
// line holds what the template says and no more: a body appears only where ${body} is written.
#pragma once

namespace drom {

class Registry;

void register_log_step(Registry& registry);

}  // namespace drom
