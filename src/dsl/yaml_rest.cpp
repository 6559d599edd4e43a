#include "drom/spi/route_specs.hpp"
#include "dsl/yaml_node_reader.hpp"
#include "dsl/yaml_routes.hpp"

namespace drom {

void read_rest(const YamlEntry& entry, ContextSpec& out, YamlContext& context) {
  StepSpec rest;
  rest.name = "rest";
  rest.where = entry.name_where;
  read_node(rest_spec(), entry.value, rest, context);
  out.rests.push_back(std::move(rest));
}

void read_rest_configuration(const YamlEntry& entry, ContextSpec& out, YamlContext& context) {
  if (!out.rest_configuration.name.empty()) {
    context.error("E0315", entry.name_where, "a second restConfiguration",
                  "the first is at " + out.rest_configuration.where.text());
    return;
  }
  out.rest_configuration.name = "restConfiguration";
  out.rest_configuration.where = entry.name_where;
  read_node(rest_configuration_spec(), entry.value, out.rest_configuration, context);
}

}  // namespace drom
