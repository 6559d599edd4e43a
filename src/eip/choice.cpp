#include "eip/choice.hpp"

#include <algorithm>

#include "eip/children.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

struct Branch {
  ExpressionPtr when;  // null: otherwise
  std::unique_ptr<Pipeline> children;
};

constexpr size_t kNoBranch = SIZE_MAX;

class Branches {
 public:
  Branches(std::vector<Branch> branches, std::string status_property)
      : branches_(std::move(branches)), status_property_(std::move(status_property)) {}

  Pipeline& children(size_t branch) { return *branches_[branch].children; }

  // The first branch whose predicate holds. An exchange whose predicate cannot be evaluated fails
  // and takes none.
  size_t choose(Exchange& exchange, const EvalScope& scope) const {
    const size_t chosen = find(exchange, scope);
    if (!status_property_.empty() && exchange.running())
      exchange.properties.set(status_property_, chosen != kNoBranch);
    return chosen;
  }

  bool read_bodies() const {
    return std::ranges::any_of(
        branches_, [](const Branch& branch) { return branch.when && branch.when->reads_body(); });
  }

 private:
  size_t find(Exchange& exchange, const EvalScope& scope) const {
    for (size_t i = 0; i < branches_.size(); ++i) {
      if (!branches_[i].when) return i;
      Result<bool> matched = branches_[i].when->matches(exchange, scope);
      if (!matched) {
        exchange.fail(std::move(matched.error()));
        return kNoBranch;
      }
      if (*matched) return i;
    }
    return kNoBranch;
  }

  std::vector<Branch> branches_;
  std::string status_property_;
};

// Cuts a batch into runs of neighbours that chose the same branch.
class Runs {
 public:
  Runs(Batch& batch, const Branches& branches, const EvalScope& scope) : batch_(batch) {
    chosen_.reserve(batch.size());
    for (Exchange& exchange : batch) chosen_.push_back(branches.choose(exchange, scope));
  }
  // False at the end. Otherwise part() holds the next run, moved out of the batch.
  bool next() {
    while (end_ < chosen_.size() && chosen_[end_] == kNoBranch) ++end_;
    if (end_ == chosen_.size()) return false;
    begin_ = end_;
    while (end_ < chosen_.size() && chosen_[end_] == chosen_[begin_]) ++end_;
    part_.assign(std::make_move_iterator(batch_.begin() + static_cast<ptrdiff_t>(begin_)),
                 std::make_move_iterator(batch_.begin() + static_cast<ptrdiff_t>(end_)));
    return true;
  }
  Batch& part() { return part_; }
  size_t branch() const { return chosen_[begin_]; }
  void put_back() {
    std::move(part_.begin(), part_.end(), batch_.begin() + static_cast<ptrdiff_t>(begin_));
  }

 private:
  Batch& batch_;
  std::vector<size_t> chosen_;
  Batch part_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

class PlainChoice final : public Processor {
 public:
  explicit PlainChoice(Branches branches) : branches_(std::move(branches)) {}
  void run(Batch& batch, Scope& scope) override {
    if (batch.size() == 1) {
      const size_t branch = branches_.choose(batch.front(), scope.eval());
      if (branch != kNoBranch) branches_.children(branch).run_plain(batch, scope);
      return;
    }
    Runs runs(batch, branches_, scope.eval());
    while (runs.next()) {
      branches_.children(runs.branch()).run_plain(runs.part(), scope);
      runs.put_back();
    }
  }

 private:
  Branches branches_;
};

class WaitingChoice final : public AsyncProcessor {
 public:
  explicit WaitingChoice(Branches branches) : branches_(std::move(branches)) {}
  bool takes_streams() const override { return !branches_.read_bodies(); }
  async<> run(Batch& batch, Scope& scope) override {
    if (batch.size() == 1) {
      const size_t branch = branches_.choose(batch.front(), scope.eval());
      if (branch != kNoBranch) co_await branches_.children(branch).run(batch, scope);
      co_return;
    }
    Runs runs(batch, branches_, scope.eval());
    while (runs.next()) {
      co_await branches_.children(runs.branch()).run(runs.part(), scope);
      runs.put_back();
    }
  }

 private:
  Branches branches_;
};

ConfigSpec when_clause() {
  ConfigSpec clause;
  clause.name = "when";
  clause.title = "When";
  clause.doc = "A branch and its condition.";
  clause.options.push_back(
      required_option("expression", OptionType::predicate, "The branch is taken when this holds."));
  clause.inline_expression = "expression";
  clause.steps = StepsRule::optional;
  clause.repeat = true;
  return clause;
}

ConfigSpec otherwise_clause() {
  ConfigSpec clause;
  clause.name = "otherwise";
  clause.title = "Otherwise";
  clause.doc = "The branch that is taken when no other is.";
  clause.steps = StepsRule::optional;
  return clause;
}

ConfigSpec choice_spec() {
  ConfigSpec spec;
  spec.name = "choice";
  spec.title = "Choice";
  spec.doc =
      "Takes the first branch whose condition holds, else `otherwise`; without a match the message "
      "goes on after the block. Use it where messages of one kind need different treatment.";
  spec.clauses = {when_clause(), otherwise_clause()};
  spec.example =
      "- choice:\n    when:\n      - simple: \"${header.type} == 'order'\"\n        steps:\n"
      "          - to: \"direct:orders\"\n    otherwise:\n      steps:\n        - log: \"unknown "
      "type\"\n";
  return spec;
}

ConfigSpec filter_spec() {
  ConfigSpec spec;
  spec.name = "filter";
  spec.title = "Filter";
  spec.doc =
      "Runs its steps only for messages that match; the others go on after the block. To end the "
      "route for them, put `stop` inside a filter with the opposite condition.";
  spec.options.push_back(
      required_option("expression", OptionType::predicate, "The steps run when this holds."));
  spec.options.push_back(option("statusPropertyName", OptionType::text,
                                "Exchange property that receives true or false, the outcome."));
  spec.inline_expression = "expression";
  spec.steps = StepsRule::optional;
  spec.example =
      "- filter:\n    simple: \"${header.total} > 100\"\n    steps:\n      - to: "
      "\"direct:large\"\n";
  return spec;
}

// Fills `branches`; false when a problem was reported.
bool add_branch(std::vector<Branch>& branches, ExpressionPtr when, const StepSpec& spec,
                BuildContext& context, bool& plain) {
  Branch branch{std::move(when), context.build_pipeline(spec.steps)};
  if (!branch.children) return false;
  plain = plain && may_be_plain(*branch.children, spec.steps);
  branches.push_back(std::move(branch));
  return true;
}

Step finish(std::vector<Branch> branches, std::string status_property, bool plain) {
  Branches all(std::move(branches), std::move(status_property));
  if (plain) return Step(std::make_unique<PlainChoice>(std::move(all)));
  return Step(std::make_unique<WaitingChoice>(std::move(all)));
}

Step make_choice(const StepSpec& spec, const Config&, BuildContext& context) {
  const ConfigSpec when = when_clause();
  const StepSpec* otherwise = nullptr;
  std::vector<Branch> branches;
  bool plain = true;
  bool complete = true;
  for (const StepSpec& clause : spec.clauses) {
    if (is_disabled(clause, context)) continue;
    if (clause.name == "otherwise") {
      otherwise = &clause;
      continue;
    }
    const Config config = clause_config(when, clause, context);
    ExpressionPtr predicate = config.expression("expression");
    if (!predicate) {
      complete = false;
      continue;
    }
    complete = add_branch(branches, std::move(predicate), clause, context, plain) && complete;
  }
  if (branches.empty() && complete)
    context.diagnostics().error("E0503", spec.where, "choice has no branch",
                                "add `when:` with a condition and steps");
  if (otherwise) complete = add_branch(branches, nullptr, *otherwise, context, plain) && complete;
  if (!complete || branches.empty()) return Step();
  return finish(std::move(branches), {}, plain);
}

Step make_filter(const StepSpec& spec, const Config& config, BuildContext& context) {
  ExpressionPtr predicate = config.expression("expression");
  std::vector<Branch> branches;
  bool plain = true;
  if (!add_branch(branches, predicate, spec, context, plain) || !predicate) return Step();
  return finish(std::move(branches), config.text("statusPropertyName"), plain);
}

}  // namespace

void register_choice(Registry& registry) {
  registry.add(StepInfo{"choice", choice_spec, make_choice});
  registry.add(StepInfo{"filter", filter_spec, make_filter});
}

}  // namespace drom
