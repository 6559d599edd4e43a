// Pipes and Filters: `pipeline` and `step` group their children and change nothing else. Use `step`
// to give a group a name in metrics and traces, `pipeline` to make several steps one branch of a
// multicast.
#pragma once

namespace drom {

class Registry;

void register_pipeline(Registry& registry);

}  // namespace drom
