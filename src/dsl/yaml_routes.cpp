#include "dsl/yaml_routes.hpp"

#include "drom/spi/route_specs.hpp"
#include "dsl/yaml_names.hpp"
#include "dsl/yaml_node_reader.hpp"
#include "dsl/yaml_steps.hpp"

namespace drom {
namespace {

void read_from(const YamlEntry& entry, RouteSpec& route, bool steps_elsewhere,
               YamlContext& context) {
  ConfigSpec spec = from_spec();
  // Steps beside `from` have been reported; they are not missing as well.
  if (steps_elsewhere) spec.steps = StepsRule::optional;
  route.from.name = "from";
  route.from.where = entry.name_where;
  read_node(spec, entry.value, route.from, context);
  route.steps = std::move(route.from.steps);
  route.from.steps.clear();
}

std::vector<OptionText> without(std::vector<OptionText> options, std::string_view name,
                                std::string& text) {
  std::vector<OptionText> out;
  for (OptionText& option : options) {
    if (option.name == name) {
      text = option.text;
    } else {
      out.push_back(std::move(option));
    }
  }
  return out;
}

}  // namespace

void report_steps_beside_from(const YamlEntry& steps, YamlContext& context) {
  context.error("E0304", steps.name_where, "'steps' stands beside 'from'",
                "since Camel 3.15 steps belong inside of `from:`; indent them by one level");
  read_steps(steps.value, context);
}

void read_route(const YamlEntry& entry, ContextSpec& out, YamlContext& context) {
  if (!entry.value.is_map()) {
    context.wrong_kind(entry.value, "route", "a map",
                       "write `from:` with `uri:` and `steps:` under it");
    return;
  }
  RouteSpec route;
  route.where = entry.name_where;
  StepSpec node;
  node.where = entry.name_where;
  const ConfigSpec spec = route_spec();
  const bool steps_beside = entry.value.find("steps") != nullptr;
  bool has_from = false;
  for (const YamlEntry& part : entry.value.entries) {
    if (part.name == "from") {
      read_from(part, route, steps_beside, context);
      has_from = true;
    } else if (part.name == "steps") {
      report_steps_beside_from(part, context);
    } else if (part.name == "errorHandler") {
      read_error_handler(part, route.error_handler, context);
    } else {
      read_entry(spec, part, node, context);
    }
  }
  if (!has_from) {
    context.error("E0305", entry.name_where, "the route has no 'from'",
                  "add `from:` with `uri:` and `steps:`");
    return;
  }
  route.options = without(std::move(node.options), "id", route.id);
  out.routes.push_back(std::move(route));
}

void read_from_item(const YamlEntry& entry, bool steps_beside, ContextSpec& out,
                    YamlContext& context) {
  RouteSpec route;
  route.where = entry.name_where;
  read_from(entry, route, steps_beside, context);
  out.routes.push_back(std::move(route));
}

void read_on_exception(const YamlEntry& entry, std::vector<StepSpec>& out, YamlContext& context) {
  StepSpec clause;
  clause.name = "onException";
  clause.where = entry.name_where;
  read_node(on_exception_spec(), entry.value, clause, context);
  out.push_back(std::move(clause));
}

void read_handler(const YamlEntry& entry, StepSpec& out, YamlContext& context) {
  const auto known = [](const std::string& name) {
    return name == "deadLetterChannel" || name == "defaultErrorHandler" || name == "noErrorHandler";
  };
  const std::string name = context.modern_name(entry, known);
  if (!known(name)) {
    if (is_camel_item(name)) {
      context.not_supported(entry.name_where, "the error handler", name);
    } else {
      context.error(
          "E0201", entry.name_where, "unknown error handler '" + entry.name + "'",
          did_you_mean(name, {"deadLetterChannel", "defaultErrorHandler", "noErrorHandler"}));
    }
    return;
  }
  if (!out.name.empty()) {
    context.error("E0312", entry.name_where, "a second error handler",
                  "the first is at " + out.where.text() + "; keep one");
    return;
  }
  out.name = name;
  out.where = entry.name_where;
  const ConfigSpec spec = name == "deadLetterChannel"     ? dead_letter_channel_spec()
                          : name == "defaultErrorHandler" ? default_error_handler_spec()
                                                          : no_error_handler_spec();
  read_node(spec, entry.value, out, context);
}

void read_error_handler(const YamlEntry& entry, StepSpec& out, YamlContext& context) {
  if (!entry.value.is_map() || entry.value.entries.empty()) {
    context.wrong_kind(
        entry.value, "errorHandler", "a map",
        "write `deadLetterChannel:`, `defaultErrorHandler:` or `noErrorHandler:` under it");
    return;
  }
  for (const YamlEntry& part : entry.value.entries)
    if (part.name != "id") read_handler(part, out, context);
}

void read_route_configuration(const YamlEntry& entry, ContextSpec& out, YamlContext& context) {
  if (!entry.value.is_map()) {
    context.wrong_kind(entry.value, "routeConfiguration", "a map");
    return;
  }
  RouteConfigurationSpec configuration;
  configuration.where = entry.name_where;
  StepSpec node;
  node.where = entry.name_where;
  const ConfigSpec spec = route_configuration_spec();
  for (const YamlEntry& part : entry.value.entries) {
    if (part.name == "errorHandler") {
      read_error_handler(part, configuration.error_handler, context);
    } else if (is_camel_item(part.name) || part.name == "precondition") {
      context.not_supported(part.name_where, "the part", part.name);
    } else {
      read_entry(spec, part, node, context);
    }
  }
  without(std::move(node.options), "id", configuration.id);
  for (StepSpec& clause : node.clauses) configuration.on_exceptions.push_back(std::move(clause));
  out.configurations.push_back(std::move(configuration));
}

}  // namespace drom
