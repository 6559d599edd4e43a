#include "eip/pipeline.hpp"

#include "eip/children.hpp"

namespace drom {
namespace {

ConfigSpec group_spec(std::string name, std::string title, std::string doc, std::string example) {
  ConfigSpec spec;
  spec.name = std::move(name);
  spec.title = std::move(title);
  spec.doc = std::move(doc);
  spec.steps = StepsRule::required;
  spec.example = std::move(example);
  return spec;
}

ConfigSpec pipeline_spec() {
  return group_spec(
      "pipeline", "Pipeline",
      "Runs its steps one after another, as a route does. Makes several steps one branch "
      "of a multicast.",
      "- pipeline:\n    steps:\n      - setBody:\n          constant: a\n"
      "      - to: \"direct:a\"\n");
}
ConfigSpec step_spec() {
  return group_spec("step", "Step",
                    "Groups steps under one id, so that metrics and traces show them as one thing.",
                    "- step:\n    id: enrich\n    steps:\n      - to: \"direct:customer\"\n"
                    "      - to: \"direct:prices\"\n");
}

Step make_group(const StepSpec& spec, const Config&, BuildContext& context) {
  return step_of(context.build_pipeline(spec.steps), spec.steps);
}

}  // namespace

void register_pipeline(Registry& registry) {
  registry.add(StepInfo{"pipeline", pipeline_spec, make_group});
  registry.add(StepInfo{"step", step_spec, make_group});
}

}  // namespace drom
