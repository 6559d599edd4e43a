// Lists of steps: which names are steps, and what to say about those that are not.
#pragma once

#include <vector>

#include "drom/spi/route_spec.hpp"
#include "dsl/yaml_context.hpp"

namespace drom {

// What is wrong is reported and left out.
std::vector<StepSpec> read_steps(const YamlNode& list, YamlContext& context);

}  // namespace drom
