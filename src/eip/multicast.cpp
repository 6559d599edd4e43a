#include "eip/multicast.hpp"

#include "eip/fan_out.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

using Branches = std::vector<std::unique_ptr<Pipeline>>;

class Copies final : public PartSource {
 public:
  Copies(const Exchange& original, const Branches& branches)
      : original_(original), branches_(branches) {}
  size_t size() const override { return branches_.size(); }
  std::optional<Part> next() override {
    if (next_ == branches_.size()) return std::nullopt;
    Part part{original_.copy(), branches_[next_].get()};
    part.exchange.properties.set("CamelMulticastIndex", static_cast<int64_t>(next_));
    ++next_;
    part.exchange.properties.set("CamelMulticastComplete", next_ == branches_.size());
    return part;
  }

 private:
  const Exchange& original_;
  const Branches& branches_;
  size_t next_ = 0;
};

class Multicast final : public AsyncProcessor {
 public:
  Multicast(Branches branches, FanOutOptions options)
      : branches_(std::move(branches)), options_(std::move(options)) {}
  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      Copies copies(exchange, branches_);
      co_await fan_out(exchange, copies, options_, scope);
    }
  }

 private:
  Branches branches_;
  FanOutOptions options_;
};

ConfigSpec multicast_spec() {
  ConfigSpec spec;
  spec.name = "multicast";
  spec.title = "Multicast";
  spec.doc =
      "Sends a copy of the message through each of its child steps and merges the replies, by "
      "default "
      "by keeping the last. A branch that fails fails the whole step after the others had their "
      "turn; "
      "with stopOnException, or inside a transaction, the first failure ends it. Put several steps "
      "of "
      "one branch into `pipeline`.";
  spec.options = {
      option("aggregationStrategy", OptionType::reference,
             "How replies are merged: a registered strategy, or one of Camel's by class name."),
      option("parallelProcessing", OptionType::boolean,
             "Runs up to 20 branches at once; the replies are still merged in the order written.",
             "false"),
      option("stopOnException", OptionType::boolean,
             "Ends at the first branch that fails, without starting the others.", "false"),
      option("streaming", OptionType::boolean,
             "Accepted for Camel's sake; replies are always merged in the order written.", "false"),
      option("shareUnitOfWork", OptionType::boolean,
             "Accepted for Camel's sake; branches always share the unit of work of the message.",
             "false"),
  };
  spec.steps = StepsRule::required;
  spec.example =
      "- multicast:\n    parallelProcessing: true\n    steps:\n      - to: \"direct:stock\"\n"
      "      - to: \"direct:billing\"\n";
  return spec;
}

Step make_multicast(const StepSpec& spec, const Config& config, BuildContext& context) {
  FanOutOptions options;
  options.parallel = config.flag("parallelProcessing");
  options.stop_on_exception = config.flag("stopOnException");
  options.merge = merge_rule(config, use_latest(), context);
  Branches branches;
  bool complete = options.merge.strategy != nullptr;
  for (const StepSpec& child : spec.steps) {
    const std::vector<StepSpec> branch = {child};
    branches.push_back(context.build_pipeline(branch));
    complete = complete && branches.back();
  }
  if (!complete) return Step();
  return Step(std::make_unique<Multicast>(std::move(branches), std::move(options)));
}

}  // namespace

void register_multicast(Registry& registry) {
  registry.add(StepInfo{"multicast", multicast_spec, make_multicast});
}

}  // namespace drom
