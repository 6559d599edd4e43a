#include "dsl/yaml_steps.hpp"

#include "dsl/yaml_names.hpp"
#include "dsl/yaml_node_reader.hpp"

namespace drom {
namespace {

struct Misplaced {
  std::string_view name;
  std::string_view place;
};
constexpr Misplaced kMisplaced[] = {
    {"when", "inside `choice:`"},
    {"otherwise", "inside `choice:`"},
    {"doCatch", "inside `doTry:`, beside its `steps:`"},
    {"doFinally", "inside `doTry:`, beside its `steps:`"},
    {"onFallback", "inside `circuitBreaker:`"},
    {"from", "at the top level of the file, or in `route:`"},
    {"route", "at the top level of the file"},
    {"beans", "at the top level of the file"},
    {"onException", "at the top level of the file, or in `routeConfiguration:`"},
    {"errorHandler", "at the top level of the file, or in `route:`"},
    {"steps", "inside a step"},
    {"parameters", "inside `to:` or `from:`, beside `uri:`"},
    {"uri", "inside `to:`"},
};

void unknown_step(const YamlEntry& entry, const std::string& name, YamlContext& context) {
  for (const Misplaced& known : kMisplaced) {
    if (known.name != name) continue;
    context.error("E0308", entry.name_where, "'" + name + "' is no step",
                  "it stands " + std::string(known.place) + "; check the indentation");
    return;
  }
  if (is_camel_step(name)) {
    context.not_supported(entry.name_where, "the step", name);
  } else {
    context.error("E0406", entry.name_where, "unknown step '" + entry.name + "'",
                  did_you_mean(camel_case(entry.name), context.registry.step_names()));
  }
  // What it holds is looked at as well: all errors at once.
  if (!entry.value.is_map()) return;
  if (const YamlNode* const steps = entry.value.find("steps")) read_steps(*steps, context);
}

void read_step(const YamlNode& item, std::vector<StepSpec>& out, YamlContext& context) {
  if (item.is_scalar() && context.registry.step(item.text)) {
    context.error("E0310", item.where, "a step is a map", "write `- " + item.text + ": {}`");
    return;
  }
  if (!item.is_map() || item.entries.empty()) {
    context.wrong_kind(item, "a step", "a map", "write `- NAME: ...`, such as `- log: hello`");
    return;
  }
  const YamlEntry& entry = item.entries.front();
  for (size_t i = 1; i < item.entries.size(); ++i)
    context.error(
        "E0310", item.entries[i].name_where,
        "'" + item.entries[i].name + "' stands beside the step '" + entry.name + "'",
        "indent it under '" + entry.name + "' if it belongs there, or start a step with '- '");
  const std::string name = context.modern_name(
      entry, [&](const std::string& n) { return context.step_spec(n) || is_camel_step(n); });
  const ConfigSpec* const spec = context.step_spec(name);
  if (!spec) {
    unknown_step(entry, name, context);
    return;
  }
  StepSpec step;
  step.name = name;
  step.where = entry.name_where;
  read_node(*spec, entry.value, step, context);
  out.push_back(std::move(step));
}

}  // namespace

std::vector<StepSpec> read_steps(const YamlNode& list, YamlContext& context) {
  std::vector<StepSpec> out;
  if (list.is_null()) return out;
  if (!list.is_list()) {
    context.wrong_kind(list, "'steps'", "a list", "start each step with '- '");
    return out;
  }
  for (const YamlNode& item : list.items) read_step(item, out, context);
  return out;
}

}  // namespace drom
