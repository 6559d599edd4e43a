#include "eip/children.hpp"

#include <algorithm>
#include <array>

namespace drom {
namespace {

constexpr std::array<std::string_view, 17> kPure = {
    "setBody",        "transform",    "setHeader",     "setHeaders",     "setProperty",
    "setVariable",    "removeHeader", "removeHeaders", "removeProperty", "removeProperties",
    "removeVariable", "log",          "stop",          "choice",         "filter",
    "pipeline",       "step",
};

bool pure(const StepSpec& spec) {
  if (std::find(kPure.begin(), kPure.end(), spec.name) == kPure.end()) return false;
  const auto all_pure = [](const std::vector<StepSpec>& specs) {
    return std::all_of(specs.begin(), specs.end(), pure);
  };
  return all_pure(spec.steps) &&
         std::all_of(spec.clauses.begin(), spec.clauses.end(),
                     [&](const StepSpec& clause) { return all_pure(clause.steps); });
}

class PlainGroup final : public Processor {
 public:
  explicit PlainGroup(std::unique_ptr<Pipeline> children) : children_(std::move(children)) {}
  void run(Batch& batch, Scope& scope) override { children_->run_plain(batch, scope); }

 private:
  std::unique_ptr<Pipeline> children_;
};

}  // namespace

bool may_be_plain(const Pipeline& children, const std::vector<StepSpec>& specs) {
  return children.plain() && std::all_of(specs.begin(), specs.end(), pure);
}

Step step_of(std::unique_ptr<Pipeline> children, const std::vector<StepSpec>& specs) {
  if (!children) return Step();
  if (may_be_plain(*children, specs))
    return Step(std::make_unique<PlainGroup>(std::move(children)));
  return Step(std::unique_ptr<AsyncProcessor>(std::move(children)));
}

}  // namespace drom
