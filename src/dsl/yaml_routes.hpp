// What stands at the top level of a route file: routes, error handling, routeConfiguration, rest,
// beans. Each reads one item into the ContextSpec and reports what is wrong with it.
#pragma once

#include "drom/spi/route_spec.hpp"
#include "dsl/yaml_context.hpp"

namespace drom {

void read_route(const YamlEntry& entry, ContextSpec& out, YamlContext& context);
// `- from:`, a route without a name. Steps beside it are reported by the caller.
void read_from_item(const YamlEntry& entry, bool steps_beside, ContextSpec& out,
                    YamlContext& context);
void read_on_exception(const YamlEntry& entry, std::vector<StepSpec>& out, YamlContext& context);
// errorHandler: {deadLetterChannel: ...}
void read_error_handler(const YamlEntry& entry, StepSpec& out, YamlContext& context);
// deadLetterChannel, defaultErrorHandler or noErrorHandler alone.
void read_handler(const YamlEntry& entry, StepSpec& out, YamlContext& context);
void read_route_configuration(const YamlEntry& entry, ContextSpec& out, YamlContext& context);
void read_rest(const YamlEntry& entry, ContextSpec& out, YamlContext& context);
void read_rest_configuration(const YamlEntry& entry, ContextSpec& out, YamlContext& context);
void read_beans(const YamlEntry& entry, ContextSpec& out, YamlContext& context);

// `steps` beside `from`: the form that Camel gave up.
void report_steps_beside_from(const YamlEntry& steps, YamlContext& context);

}  // namespace drom
