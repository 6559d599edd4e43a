#include "eip/do_try.hpp"

#include "spi/exception_match.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

struct Catch {
  std::vector<std::string> exceptions;
  ExpressionPtr when;  // null: always
  std::unique_ptr<Pipeline> children;

  bool names(const Error& error) const {
    for (const std::string& exception : exceptions)
      if (matches_exception(exception, error)) return true;
    return false;
  }
};

class DoTry final : public AsyncProcessor {
 public:
  struct Parts {
    std::unique_ptr<Pipeline> attempt;
    std::vector<Catch> catches;
    std::unique_ptr<Pipeline> finally;  // null: none
  };
  explicit DoTry(Parts parts) : parts_(std::move(parts)) {}

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      Scope inner = scope;
      inner.errors = nullptr;
      co_await run_one(*parts_.attempt, exchange, inner);
      if (exchange.failed()) {
        Catch* const found = find(exchange, scope.eval());
        if (found) co_await run_one(*found->children, exchange, inner);
      }
      if (parts_.finally) co_await run_finally(exchange, inner);
    }
  }

 private:
  // The clause for the error of the exchange, which then is caught; null leaves the exchange
  // failed. onWhen sees the exchange as doCatch would, with ${exception.message}.
  Catch* find(Exchange& exchange, const EvalScope& eval) {
    for (Catch& clause : parts_.catches) {
      if (!clause.names(*exchange.error)) continue;
      std::unique_ptr<Error> earlier = std::move(exchange.caught);
      exchange.catch_error();
      if (!clause.when) return &clause;
      Result<bool> matched = clause.when->matches(exchange, eval);
      if (!matched) {
        exchange.fail(std::move(matched.error()));
        return nullptr;
      }
      if (*matched) return &clause;
      exchange.fail(std::move(*exchange.caught));
      exchange.caught = std::move(earlier);
    }
    return nullptr;
  }

  // Runs whatever has happened, and leaves the outcome as it was unless it fails itself.
  async<> run_finally(Exchange& exchange, Scope& scope) {
    const Flow flow = exchange.flow;
    std::unique_ptr<Error> earlier;
    if (exchange.failed()) {
      earlier = std::move(exchange.caught);
      exchange.catch_error();
    }
    exchange.flow = Flow::running;
    co_await run_one(*parts_.finally, exchange, scope);
    if (exchange.failed()) co_return;
    if (flow == Flow::failed) {
      exchange.fail(std::move(*exchange.caught));
      exchange.caught = std::move(earlier);
    } else if (flow == Flow::stopped) {
      exchange.stop();
    }
  }

  Parts parts_;
};

ConfigSpec catch_clause() {
  ConfigSpec clause;
  clause.name = "doCatch";
  clause.title = "Do Catch";
  clause.doc = "What to do with errors of certain kinds.";
  OptionSpec exception =
      required_option("exception", OptionType::list,
                      "Names of errors: Java classes, our kinds (data, transient, timeout, "
                      "not_connected, rejected), or types given by throwException.");
  exception.example = "java.io.IOException";
  clause.options.push_back(std::move(exception));
  clause.options.push_back(
      option("onWhen", OptionType::predicate, "Catches only when this holds too."));
  clause.steps = StepsRule::optional;
  clause.repeat = true;
  return clause;
}

ConfigSpec finally_clause() {
  ConfigSpec clause;
  clause.name = "doFinally";
  clause.title = "Do Finally";
  clause.doc = "Steps that run in any case, after the others.";
  clause.steps = StepsRule::optional;
  return clause;
}

ConfigSpec do_try_spec() {
  ConfigSpec spec;
  spec.name = "doTry";
  spec.title = "Do Try";
  spec.doc =
      "Handles errors of its steps on the spot: the first doCatch that names the error takes it, "
      "and "
      "the message goes on after the block. The route's error handler is off inside; an error that "
      "no "
      "doCatch takes fails the block and goes there.";
  spec.steps = StepsRule::required;
  spec.clauses = {catch_clause(), finally_clause()};
  spec.example =
      "- doTry:\n    steps:\n      - to: \"direct:stock\"\n    doCatch:\n"
      "      - exception:\n          - java.io.IOException\n        steps:\n"
      "          - log: \"no stock service: ${exception.message}\"\n    doFinally:\n      steps:\n"
      "        - removeHeader: token\n";
  return spec;
}

Step make_do_try(const StepSpec& spec, const Config&, BuildContext& context) {
  const ConfigSpec catch_spec = catch_clause();
  DoTry::Parts parts;
  parts.attempt = context.build_pipeline(spec.steps);
  bool complete = parts.attempt != nullptr;
  for (const StepSpec& clause : spec.clauses) {
    if (is_disabled(clause, context)) continue;
    std::unique_ptr<Pipeline> children = context.build_pipeline(clause.steps);
    complete = complete && children;
    if (clause.name == "doFinally") {
      parts.finally = std::move(children);
      continue;
    }
    const Config config = clause_config(catch_spec, clause, context);
    parts.catches.push_back(
        Catch{config.list("exception"), config.expression("onWhen"), std::move(children)});
  }
  if (parts.catches.empty() && !parts.finally)
    context.diagnostics().error("E0503", spec.where, "doTry has neither doCatch nor doFinally",
                                "add `doCatch:` with the exceptions to take");
  if (!complete) return Step();
  return Step(std::make_unique<DoTry>(std::move(parts)));
}

}  // namespace

void register_do_try(Registry& registry) {
  registry.add(StepInfo{"doTry", do_try_spec, make_do_try});
}

}  // namespace drom
