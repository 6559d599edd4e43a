#include "eip/transacted.hpp"

#include <algorithm>
#include <iterator>
#include <set>

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

// The same for a batch that shares one unit.
class InUnit {
 public:
  InUnit(Batch& batch, UnitOfWork& unit) : batch_(batch) {
    for (Exchange& exchange : batch_) exchange.unit = &unit;
  }
  ~InUnit() {
    for (Exchange& exchange : batch_) exchange.unit = nullptr;
  }
  InUnit(const InUnit&) = delete;
  InUnit& operator=(const InUnit&) = delete;

 private:
  Batch& batch_;
};

class Transacted final : public AsyncProcessor {
 public:
  Transacted(Propagation propagation, size_t batch_max, std::unique_ptr<Pipeline> children)
      : propagation_(propagation), batch_max_(batch_max), children_(std::move(children)) {}

  bool takes_batches() const override { return batch_max_ > 1; }

  async<> run(Batch& batch, Scope& scope) override {
    Keys undone;
    const bool alone = batch_max_ == 1 || batch.size() == 1 || batch.front().unit;
    if (alone) co_return co_await run_each(batch, undone, scope);
    for (size_t first = 0; first < batch.size(); first += batch_max_) {
      const auto from = batch.begin() + static_cast<ptrdiff_t>(first);
      const auto to =
          batch.begin() + static_cast<ptrdiff_t>(std::min(batch.size(), first + batch_max_));
      Batch part(std::make_move_iterator(from), std::make_move_iterator(to));
      co_await run_together(part, undone, scope);
      std::ranges::move(part, from);
    }
  }

 private:
  using Keys = std::set<std::string>;  // of messages that failed: their later ones must wait

  // All in one transaction; when that fails for one of them, each in its own, so that a bad message
  // costs only itself.
  async<> run_together(Batch& batch, Keys& undone, Scope& scope) {
    Batch again;
    for (const Exchange& exchange : batch) again.push_back(exchange.copy());
    if (undone.empty()) {
      const bool done = co_await commit_together(batch, scope);
      if (done) co_return;
    }
    batch = std::move(again);
    co_await run_each(batch, undone, scope);
  }

  async<bool> commit_together(Batch& batch, Scope& scope) {
    UnitOfWork unit;
    const InUnit guard(batch, unit);
    Scope inner = scope;
    inner.errors = nullptr;
    co_await children_->run(batch, inner);
    const bool failed = std::ranges::any_of(batch, &Exchange::failed);
    // One that asked for its own rollback must not take the others with it.
    if (failed || unit.rollback_only()) {
      co_await unit.rollback();
      co_return false;
    }
    Result<void> committed = co_await unit.commit();
    if (committed) co_return true;
    const ErrorKind kind = committed.error().kind;
    const bool unknown = kind == ErrorKind::timeout || kind == ErrorKind::not_connected;
    if (!unit.committed() && !unknown) co_return false;
    // The rows are there, or may be there: it is for the source and the inbox to try again.
    for (Exchange& exchange : batch) exchange.fail(committed.error());
    co_return true;
  }

  async<> run_each(Batch& batch, Keys& undone, Scope& scope) {
    for (Exchange& exchange : batch) {
      if (!exchange.key.empty() && undone.contains(exchange.key)) {
        exchange.fail(Error(ErrorKind::cancelled, "an earlier message of the same key failed"));
        continue;
      }
      co_await run_alone(exchange, scope);
      if (batch_max_ > 1 && exchange.failed() && !exchange.key.empty()) undone.insert(exchange.key);
    }
  }

  async<> run_alone(Exchange& exchange, Scope& scope) {
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
  size_t batch_max_;
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
  OptionSpec batch =
      option("batch", OptionType::integer,
             "How many messages that arrive together may share one transaction: faster, and only "
             "for sources that give several at once. When it fails, each is tried alone, so that a "
             "bad message costs only itself. All steps inside must belong to the transaction.",
             "1");
  batch.minimum = 1;
  batch.maximum = 10'000;
  spec.options.push_back(std::move(ref));
  spec.options.push_back(std::move(batch));
  spec.steps = StepsRule::optional;
  spec.example =
      "- transacted:\n    steps:\n      - to: \"sql:insert into orders(id) values "
      "(:#${header.id})\"\n"
      "      - to: \"outbox:orders\"\n";
  return spec;
}

BuildContext::Unit unit_of(std::string_view ref) {
  for (const PropagationName& entry : kNames) {
    if (!iequals(entry.name, ref)) continue;
    if (entry.propagation == Propagation::suppress) return BuildContext::Unit::none;
    if (entry.propagation == Propagation::requires_new) return BuildContext::Unit::own;
  }
  return BuildContext::Unit::join;
}

Step make_transacted(const StepSpec& spec, const Config& config, BuildContext& context) {
  const std::string_view ref = bean_name(config.text("ref"));
  context.begin_unit(unit_of(ref));
  std::unique_ptr<Pipeline> children = context.build_pipeline(spec.steps);
  context.end_unit();
  std::vector<std::string> known;
  for (const PropagationName& entry : kNames) {
    if (!iequals(entry.name, ref)) {
      known.emplace_back(entry.name);
      continue;
    }
    if (!children) return Step();
    const auto batch = static_cast<size_t>(config.integer("batch"));
    const bool joins = entry.propagation == Propagation::required ||
                       entry.propagation == Propagation::requires_new;
    if (batch > 1 && (!joins || !children->takes_batches()))
      context.diagnostics().error(
          "E0506", config.where("batch"), "these steps cannot share a transaction in batches",
          "batch is for steps of the transaction only: sql, outbox, idempotentConsumer, and steps "
          "that only change the message");
    return Step(std::make_unique<Transacted>(entry.propagation, batch, std::move(children)));
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
