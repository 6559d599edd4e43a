#include "eip/process.hpp"

#include "spi/step_support.hpp"

namespace drom {
namespace {

ConfigSpec process_spec() {
  ConfigSpec spec;
  spec.name = "process";
  spec.title = "Process";
  spec.doc =
      "Calls a C++ function with the exchange. Register it by name with Registry::bind_processor, "
      "or "
      "give it directly in the C++ DSL.";
  OptionSpec ref = option("ref", OptionType::reference, "Name of the registered function.");
  ref.example = "priceOrder";
  spec.options.push_back(std::move(ref));
  spec.scalar = "ref";
  spec.example = "- process:\n    ref: priceOrder\n";
  return spec;
}

ConfigSpec bean_spec() {
  ConfigSpec spec = process_spec();
  spec.name = "bean";
  spec.title = "Bean";
  spec.doc =
      "Calls a C++ function with the exchange, by the name under which it was registered: "
      "`name.method` "
      "when a method is given and such a name exists, else `name`.";
  spec.options.push_back(option("method", OptionType::text, "Second half of the name."));
  spec.example = "- bean:\n    ref: prices\n    method: add\n";
  return spec;
}

// Null: reported.
const ProcessFunction* find_function(const Config& config, const std::string& method,
                                     const StepSpec& spec, BuildContext& context) {
  const std::string name(bean_name(config.text("ref")));
  if (name.empty()) {
    context.diagnostics().error("E0503", spec.where, spec.name + " names no function",
                                "add `ref:`");
    return nullptr;
  }
  const Registry& registry = context.registry();
  if (!method.empty())
    if (const ProcessFunction* found = registry.processor(name + "." + method)) return found;
  if (const ProcessFunction* found = registry.processor(name)) return found;
  std::string hint = did_you_mean(name, registry.processor_names());
  if (hint.empty()) hint = "register it with Registry::bind_processor";
  context.diagnostics().error("E0502", config.where("ref"),
                              "no function is registered under '" + name + "'", std::move(hint));
  return nullptr;
}

Step make_call(const StepSpec& spec, const Config& config, BuildContext& context,
               const std::string& method) {
  if (spec.function) return Step(make_processor(spec.function));
  const ProcessFunction* const function = find_function(config, method, spec, context);
  return function ? Step(make_processor(*function)) : Step();
}
Step make_process(const StepSpec& spec, const Config& config, BuildContext& context) {
  return make_call(spec, config, context, {});
}
Step make_bean(const StepSpec& spec, const Config& config, BuildContext& context) {
  return make_call(spec, config, context, config.text("method"));
}

}  // namespace

void register_process(Registry& registry) {
  registry.add(StepInfo{"process", process_spec, make_process});
  registry.add(StepInfo{"bean", bean_spec, make_bean});
}

}  // namespace drom
