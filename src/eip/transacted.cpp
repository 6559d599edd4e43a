#include "eip/transacted.hpp"

#include "drom/rt/unit_of_work.hpp"
#include "eip/flow_control.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

enum class Propagation : uint8_t { required, requires_new, suppress, mandatory };

// Puts a unit of work on an exchange and takes it off again, also when the coroutine is cancelled.
class OnExchange {
 public:
  OnExchange(Exchange& exchange, UnitOfWork* unit) : exchange_(exchange), outer_(exchange.unit) {
    exchange_.unit = unit;
  }
  ~OnExchange() { exchange_.unit = outer_; }
  OnExchange(const OnExchange&) = delete;
  OnExchange& operator=(const OnExchange&) = delete;

 private:
  Exchange& exchange_;
  UnitOfWork* outer_;
};

class Transacted final : public AsyncProcessor {
 public:
  Transacted(Propagation propagation, std::unique_ptr<Pipeline> children)
      : propagation_(propagation), children_(std::move(children)) {}

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      const bool inside = exchange.unit != nullptr;
      if (propagation_ == Propagation::suppress) {
        co_await run_without(exchange, scope);
      } else if (propagation_ == Propagation::mandatory && !inside) {
        exchange.fail(Error(ErrorKind::rejected,
                            "there is no transaction, and this block demands one",
                            "put it inside a transacted block, or use PROPAGATION_REQUIRED"));
      } else if (propagation_ == Propagation::requires_new || !inside) {
        co_await run_in_new(exchange, scope);
      } else {
        co_await run_joined(exchange, scope);
      }
    }
  }

 private:
  async<> run_without(Exchange& exchange, Scope& scope) {
    const OnExchange guard(exchange, nullptr);
    co_await run_one(*children_, exchange, scope);
  }

  // The outer block commits or rolls back; it may only roll back once something failed in here.
  async<> run_joined(Exchange& exchange, Scope& scope) {
    Scope inner = scope;
    inner.errors = nullptr;
    co_await run_one(*children_, exchange, inner);
    if (exchange.failed()) exchange.unit->mark_rollback_only();
  }

  async<> run_in_new(Exchange& exchange, Scope& scope) {
    UnitOfWork unit;
    const OnExchange guard(exchange, &unit);
    Scope inner = scope;
    inner.errors = nullptr;
    co_await run_one(*children_, exchange, inner);
    if (exchange.failed() || unit.rollback_only()) {
      co_await unit.rollback();
      const bool asked = exchange.properties.find(kRollbackAsked) != nullptr;
      if (!exchange.failed() && !asked) exchange.fail(unexpected_rollback());
      co_return;
    }
    Result<void> committed = co_await unit.commit();
    if (!committed) exchange.fail(std::move(committed.error()));
  }

  static Error unexpected_rollback() {
    return Error(ErrorKind::rejected,
                 "the transaction could only roll back, because an error inside it was caught",
                 "let the error leave the transacted block, or end the message with `rollback`");
  }

  Propagation propagation_;
  std::unique_ptr<Pipeline> children_;
};

struct PropagationName {
  const char* name;
  Propagation propagation;
};
// Spring's names, and the short ones.
constexpr PropagationName kNames[] = {
    {"PROPAGATION_REQUIRED", Propagation::required},
    {"PROPAGATION_REQUIRES_NEW", Propagation::requires_new},
    {"PROPAGATION_NOT_SUPPORTED", Propagation::suppress},
    {"PROPAGATION_MANDATORY", Propagation::mandatory},
    {"required", Propagation::required},
    {"requiresNew", Propagation::requires_new},
    {"suppress", Propagation::suppress},
    {"mandatory", Propagation::mandatory},
};

ConfigSpec transacted_spec() {
  ConfigSpec spec;
  spec.name = "transacted";
  spec.title = "Transacted";
  spec.doc =
      "Makes its steps one transaction: SQL steps, the keys of idempotentConsumer and outbox rows "
      "on the "
      "same data source commit together or not at all; sends to the outside go out after the "
      "commit. An "
      "error rolls back, and a redelivery runs the whole block again. Without `steps` it takes the "
      "rest "
      "of the route.";
  OptionSpec ref =
      option("ref", OptionType::text,
             "What happens when there is a transaction already: PROPAGATION_REQUIRED joins it, "
             "PROPAGATION_REQUIRES_NEW opens another, PROPAGATION_NOT_SUPPORTED (suppress) runs "
             "outside of it, PROPAGATION_MANDATORY fails when there is none.",
             "PROPAGATION_REQUIRED");
  ref.example = "requiresNew";
  spec.options.push_back(std::move(ref));
  spec.steps = StepsRule::optional;
  spec.example =
      "- transacted:\n    steps:\n      - to: \"sql:insert into orders(id) values "
      "(:#${header.id})\"\n"
      "      - to: \"outbox:orders\"\n";
  return spec;
}

Step make_transacted(const StepSpec& spec, const Config& config, BuildContext& context) {
  std::unique_ptr<Pipeline> children = context.build_pipeline(spec.steps);
  const std::string_view ref = bean_name(config.text("ref"));
  std::vector<std::string> known;
  for (const PropagationName& entry : kNames) {
    if (!iequals(entry.name, ref)) {
      known.emplace_back(entry.name);
      continue;
    }
    if (!children) return Step();
    return Step(std::make_unique<Transacted>(entry.propagation, std::move(children)));
  }
  context.diagnostics().error("E0502", config.where("ref"),
                              "no transaction policy '" + std::string(ref) + "'",
                              did_you_mean(ref, known));
  return Step();
}

}  // namespace

void register_transacted(Registry& registry) {
  registry.add(StepInfo{"transacted", transacted_spec, make_transacted});
}

}  // namespace drom
