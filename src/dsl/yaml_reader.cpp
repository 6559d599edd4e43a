#include "dsl/yaml_reader.hpp"

#include "config/yaml_tree.hpp"
#include "dsl/yaml_names.hpp"
#include "dsl/yaml_routes.hpp"

namespace drom {
namespace {

std::vector<std::string> item_names() {
  return {"route", "from", "routeConfiguration", "onException", "errorHandler", "deadLetterChannel",
          "beans", "rest", "restConfiguration"};
}

void unknown_item(const YamlEntry& entry, const std::string& name, YamlContext& context) {
  if (is_camel_item(name)) {
    context.not_supported(entry.name_where, "the item", name);
  } else if (context.registry.step(name) || is_camel_step(name)) {
    context.error("E0308", entry.name_where, "the step '" + name + "' stands outside of a route",
                  "steps belong to `steps:` inside of `from:`; check the indentation");
  } else {
    context.error("E0301", entry.name_where, "unknown item '" + entry.name + "'",
                  did_you_mean(name, item_names()));
  }
}

void read_item(const YamlEntry& entry, bool steps_beside, ContextSpec& out, YamlContext& context) {
  const std::string name = context.modern_name(entry, [](const std::string& n) {
    for (const std::string& item : item_names())
      if (item == n) return true;
    return is_camel_item(n);
  });
  if (name == "route") {
    read_route(entry, out, context);
  } else if (name == "from") {
    read_from_item(entry, steps_beside, out, context);
  } else if (name == "onException") {
    read_on_exception(entry, out.on_exceptions, context);
  } else if (name == "errorHandler") {
    read_error_handler(entry, out.error_handler, context);
  } else if (name == "deadLetterChannel") {
    read_handler(entry, out.error_handler, context);
  } else if (name == "routeConfiguration") {
    read_route_configuration(entry, out, context);
  } else if (name == "beans") {
    read_beans(entry, out, context);
  } else if (name == "rest") {
    read_rest(entry, out, context);
  } else if (name == "restConfiguration") {
    read_rest_configuration(entry, out, context);
  } else {
    unknown_item(entry, name, context);
  }
}

void read_items(const YamlNode& list, ContextSpec& out, YamlContext& context) {
  for (const YamlNode& item : list.items) {
    if (!item.is_map() || item.entries.empty()) {
      context.wrong_kind(item, "an item of the file", "a map", "write `- route:` or `- from:`");
      continue;
    }
    read_item(item.entries.front(), item.find("steps") != nullptr, out, context);
    for (size_t i = 1; i < item.entries.size(); ++i) {
      const YamlEntry& more = item.entries[i];
      if (more.name == "steps") {
        report_steps_beside_from(more, context);
      } else {
        context.error(
            "E0310", more.name_where,
            "'" + more.name + "' stands beside '" + item.entries.front().name + "'",
            "indent it under '" + item.entries.front().name + "', or start an item with '- '");
      }
    }
  }
}

// Documents of Kubernetes: Camel K's Integration holds a route file in spec.flows.
void read_resource(const YamlNode& root, const YamlNode& kind, ContextSpec& out,
                   YamlContext& context) {
  if (kind.text != "Integration") {
    context.not_supported(kind.where, "the kind", kind.text);
    return;
  }
  const YamlNode* const spec = root.find("spec");
  const YamlNode* const flows = spec ? spec->find("flows") : nullptr;
  if (flows && flows->is_list()) {
    read_items(*flows, out, context);
  } else {
    context.error("E0301", kind.where, "the Integration has no flows",
                  "add `spec:` with a list `flows:`");
  }
}

void read_root(const YamlNode& root, const Location& start, ContextSpec& out,
               YamlContext& context) {
  if (root.is_list()) {
    read_items(root, out, context);
  } else if (root.is_null()) {
    context.error("E0301", start, "the file is empty",
                  "write a list of routes: `- from:` or `- route:`");
  } else if (const YamlNode* kind = root.is_map() ? root.find("kind") : nullptr;
             kind && kind->is_scalar()) {
    read_resource(root, *kind, out, context);
  } else {
    const std::string first =
        root.is_map() && !root.entries.empty() ? root.entries.front().name : "route";
    context.wrong_kind(root, "a route file", "a list",
                       "write `- " + first + ":`, with what is inside indented");
  }
}

size_t errors_in(const Diagnostics& diagnostics) {
  size_t out = 0;
  for (const Diagnostic& item : diagnostics.items())
    out += item.severity == Severity::error ? 1 : 0;
  return out;
}

}  // namespace

bool read_yaml(std::string_view text, const std::string& file, const Registry& registry,
               ContextSpec& out, Diagnostics& diagnostics) {
  const size_t before = errors_in(diagnostics);
  const auto name = std::make_shared<const std::string>(file);
  if (text.size() <= kYamlBytesMax) diagnostics.add_source(file, std::string(text));
  const std::optional<YamlNode> root = parse_yaml(text, name, diagnostics);
  if (root) {
    YamlContext context(registry, diagnostics);
    read_root(*root, Location{name, 1, 1}, out, context);
  }
  return errors_in(diagnostics) == before;
}

}  // namespace drom
