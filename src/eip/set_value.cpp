#include "eip/set_value.hpp"

#include <algorithm>

#include "spi/step_support.hpp"

namespace drom {
namespace {

// Where a value goes. `name` is unused by the body.
struct ToBody {
  static void put(Exchange& exchange, std::string_view, Value value) {
    exchange.message.body = std::move(value);
    exchange.message.stream.reset();
  }
};
struct ToHeader {
  static void put(Exchange& exchange, std::string_view name, Value value) {
    exchange.message.headers.set(name, std::move(value));
  }
};
struct ToProperty {
  static void put(Exchange& exchange, std::string_view name, Value value) {
    exchange.properties.set(name, std::move(value));
  }
};
struct ToVariable {
  static void put(Exchange& exchange, std::string_view name, Value value) {
    exchange.variables.set(name, std::move(value));
  }
};

// A name, fixed or computed.
class Name {
 public:
  Name() = default;
  Name(std::string fixed, const Location& where, BuildContext& context) : fixed_(std::move(fixed)) {
    if (fixed_.find("${") != std::string::npos)
      computed_ = compile_template(fixed_, where, context);
  }
  bool fixed() const { return !computed_; }
  const std::string& text() const { return fixed_; }
  Result<std::string> compute(const Exchange& exchange, const EvalScope& scope) const {
    Result<Value> value = computed_->evaluate(exchange, scope);
    if (!value) return std::move(value.error());
    return value->to_text();
  }

 private:
  std::string fixed_;
  ExpressionPtr computed_;
};

struct Assignment {
  Name name;
  ExpressionPtr value;
  bool reads_body() const { return value->reads_body() || !name.fixed(); }
};

template <class Target>
void assign(const Assignment& assignment, Exchange& exchange, const EvalScope& scope) {
  Result<Value> value = assignment.value->evaluate(exchange, scope);
  if (!value) return exchange.fail(std::move(value.error()));
  if (assignment.name.fixed())
    return Target::put(exchange, assignment.name.text(), std::move(*value));
  Result<std::string> name = assignment.name.compute(exchange, scope);
  if (!name) return exchange.fail(std::move(name.error()));
  Target::put(exchange, *name, std::move(*value));
}

template <class Target>
class SetValue final : public Processor {
 public:
  explicit SetValue(Assignment assignment) : assignment_(std::move(assignment)) {}
  void run(Batch& batch, Scope& scope) override {
    const EvalScope eval = scope.eval();
    for (Exchange& exchange : batch) assign<Target>(assignment_, exchange, eval);
  }
  bool takes_streams() const override { return !assignment_.reads_body(); }

 private:
  Assignment assignment_;
};

class SetHeaders final : public Processor {
 public:
  explicit SetHeaders(std::vector<Assignment> assignments) : assignments_(std::move(assignments)) {}
  void run(Batch& batch, Scope& scope) override {
    const EvalScope eval = scope.eval();
    for (Exchange& exchange : batch)
      for (const Assignment& assignment : assignments_) {
        assign<ToHeader>(assignment, exchange, eval);
        if (!exchange.running()) break;
      }
  }
  bool takes_streams() const override {
    return std::ranges::none_of(assignments_, &Assignment::reads_body);
  }

 private:
  std::vector<Assignment> assignments_;
};

ConfigSpec value_spec(std::string name, std::string title, std::string doc, bool named,
                      std::string example) {
  ConfigSpec spec;
  spec.name = std::move(name);
  spec.title = std::move(title);
  spec.doc = std::move(doc);
  if (named)
    spec.options.push_back(
        required_option("name", OptionType::text,
                        "The name to set; may hold ${...} and is then evaluated per message."));
  spec.options.push_back(
      required_option("expression", OptionType::expression, "The value, evaluated per message."));
  spec.inline_expression = "expression";
  spec.example = std::move(example);
  return spec;
}

ConfigSpec set_body_spec() {
  return value_spec(
      "setBody", "Set Body",
      "Replaces the message body by the value of an expression. A lone ${...} keeps its "
      "type; text around it makes a text.",
      false, "- setBody:\n    simple: \"Hello ${header.name}\"\n");
}
ConfigSpec transform_spec() {
  return value_spec(
      "transform", "Transform",
      "Replaces the message body by the value of an expression, as setBody does; Camel "
      "has both names.",
      false, "- transform:\n    jsonpath: \"$.order\"\n");
}
ConfigSpec set_header_spec() {
  return value_spec(
      "setHeader", "Set Header",
      "Sets one message header. Headers are wire data: connectors send them on, apart "
      "from the engine's own.",
      true, "- setHeader:\n    name: tenant\n    constant: acme\n");
}
ConfigSpec set_property_spec() {
  return value_spec("setProperty", "Set Property",
                    "Sets an exchange property. Properties live as long as the exchange and never "
                    "leave the process.",
                    true, "- setProperty:\n    name: total\n    jsonpath: \"$.total\"\n");
}
ConfigSpec set_variable_spec() {
  return value_spec(
      "setVariable", "Set Variable",
      "Sets an exchange variable: a place to keep a value beside the message while the "
      "route goes on.",
      true, "- setVariable:\n    name: original\n    simple: \"${body}\"\n");
}

ConfigSpec headers_clause() {
  ConfigSpec clause = value_spec("headers", "Header", "One header to set.", true, {});
  clause.repeat = true;
  return clause;
}

ConfigSpec set_headers_spec() {
  ConfigSpec spec;
  spec.name = "setHeaders";
  spec.title = "Set Headers";
  spec.doc = "Sets several headers in one step, in the order written.";
  spec.clauses.push_back(headers_clause());
  spec.example =
      "- setHeaders:\n    headers:\n      - name: tenant\n        constant: acme\n"
      "      - name: size\n        simple: \"${body.length}\"\n";
  return spec;
}

Assignment read(const Config& config, bool named, BuildContext& context) {
  Assignment out;
  if (named) out.name = Name(config.text("name"), config.where("name"), context);
  out.value = config.expression("expression");
  return out;
}

template <class Target, bool kNamed>
Step make_set(const StepSpec&, const Config& config, BuildContext& context) {
  Assignment assignment = read(config, kNamed, context);
  if (!assignment.value) return Step();
  return Step(std::make_unique<SetValue<Target>>(std::move(assignment)));
}

Step make_set_variable(const StepSpec& spec, const Config& config, BuildContext& context) {
  const std::string& name = config.text("name");
  if (name.starts_with("global:") || name.starts_with("route:"))
    context.diagnostics().error(
        "E0505", config.where("name"),
        "variables live in the exchange; '" + name + "' names another place",
        "write the name without the prefix");
  return make_set<ToVariable, true>(spec, config, context);
}

Step make_set_headers(const StepSpec& spec, const Config&, BuildContext& context) {
  const ConfigSpec clause_spec = headers_clause();
  std::vector<Assignment> assignments;
  for (const StepSpec& clause : spec.clauses) {
    if (is_disabled(clause, context)) continue;
    const Config config = clause_config(clause_spec, clause, context);
    assignments.push_back(read(config, true, context));
    if (!assignments.back().value) return Step();
  }
  return Step(std::make_unique<SetHeaders>(std::move(assignments)));
}

}  // namespace

void register_set_value(Registry& registry) {
  registry.add(StepInfo{"setBody", set_body_spec, make_set<ToBody, false>});
  registry.add(StepInfo{"transform", transform_spec, make_set<ToBody, false>});
  registry.add(StepInfo{"setHeader", set_header_spec, make_set<ToHeader, true>});
  registry.add(StepInfo{"setProperty", set_property_spec, make_set<ToProperty, true>});
  registry.add(StepInfo{"setVariable", set_variable_spec, make_set_variable});
  registry.add(StepInfo{"setHeaders", set_headers_spec, make_set_headers});
}

}  // namespace drom
