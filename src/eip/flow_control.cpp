#include "eip/flow_control.hpp"

#include "drom/rt/unit_of_work.hpp"
#include "spi/exception_match.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

class Stop final : public Processor {
 public:
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) exchange.stop();
  }
};

class ThrowException final : public Processor {
 public:
  ThrowException(std::string type, ExpressionPtr message)
      : type_(std::move(type)), kind_(kind_of_exception(type_)), message_(std::move(message)) {}
  void run(Batch& batch, Scope& scope) override {
    const EvalScope eval = scope.eval();
    for (Exchange& exchange : batch) {
      Result<Value> message = message_ ? message_->evaluate(exchange, eval) : Value(type_);
      if (!message) {
        exchange.fail(std::move(message.error()));
        continue;
      }
      Error error(kind_, message->to_text());
      error.type = type_;
      exchange.fail(std::move(error));
    }
  }

 private:
  std::string type_;
  ErrorKind kind_;
  ExpressionPtr message_;  // null: the type
};

// Marks the transaction and ends the walk through it; `transacted` then rolls back without an
// error.
class Rollback final : public Processor {
 public:
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      if (!exchange.unit) {
        exchange.fail(Error(ErrorKind::rejected, "rollback: there is no transaction to roll back",
                            "put the step inside a transacted block"));
        continue;
      }
      exchange.unit->mark_rollback_only();
      exchange.properties.set(kRollbackAsked, true);
      exchange.stop();
    }
  }
};

// An exchange of a batch waits at least as long as its own delay; the batch moves on together.
class Delay final : public AsyncProcessor {
 public:
  explicit Delay(ExpressionPtr expression) : expression_(std::move(expression)) {}
  async<> run(Batch& batch, Scope& scope) override {
    milliseconds longest(0);
    const EvalScope eval = scope.eval();
    for (Exchange& exchange : batch) {
      Result<milliseconds> wait = duration(exchange, eval);
      if (!wait) {
        exchange.fail(std::move(wait.error()));
      } else {
        longest = std::max(longest, *wait);
      }
    }
    if (longest.count() > 0) co_await scope.clock.sleep(longest);
  }

 private:
  Result<milliseconds> duration(const Exchange& exchange, const EvalScope& eval) const {
    Result<Value> value = expression_->evaluate(exchange, eval);
    if (!value) return std::move(value.error());
    if (value->is_null()) return milliseconds(0);
    if (const int64_t* ms = value->as_int()) return milliseconds(*ms);
    return parse_duration(value->to_text());
  }
  ExpressionPtr expression_;
};

ConfigSpec stop_spec() {
  ConfigSpec spec;
  spec.name = "stop";
  spec.title = "Stop";
  spec.doc =
      "Ends the route for this message, without an error: the source is acknowledged, an open "
      "transaction commits. In a part of a split or multicast it ends only that part.";
  spec.example = "- stop: {}\n";
  return spec;
}

ConfigSpec throw_spec() {
  ConfigSpec spec;
  spec.name = "throwException";
  spec.title = "Throw Exception";
  spec.doc =
      "Fails the message. onException and doCatch find the error by `exceptionType`; Java names "
      "that "
      "stand for network errors and timeouts count as such, all others as rejected.";
  OptionSpec type = option("exceptionType", OptionType::text,
                           "Name of the error, by habit a Java class.", "java.lang.Exception");
  type.example = "java.lang.IllegalArgumentException";
  spec.options.push_back(std::move(type));
  spec.options.push_back(option("message", OptionType::text,
                                "What happened, with ${...} filled in; by default the type."));
  spec.example =
      "- throwException:\n    exceptionType: com.acme.OutOfStock\n    message: \"no ${header.item} "
      "left\"\n";
  return spec;
}

ConfigSpec rollback_spec() {
  ConfigSpec spec;
  spec.name = "rollback";
  spec.title = "Rollback";
  spec.doc =
      "Undoes the transaction. By default the message fails with a RollbackExchangeException, "
      "which "
      "rolls back like any error; with markRollbackOnly it ends without an error, so that nothing "
      "is "
      "redelivered.";
  spec.options = {
      option("message", OptionType::text, "What the error says, with ${...} filled in."),
      option("markRollbackOnly", OptionType::boolean,
             "Rolls back without an error; the message ends here.", "false"),
      option("markRollbackOnlyLast", OptionType::boolean, "The same as markRollbackOnly.", "false"),
  };
  spec.scalar = "message";
  spec.example = "- rollback:\n    markRollbackOnly: true\n";
  return spec;
}

ConfigSpec delay_spec() {
  ConfigSpec spec;
  spec.name = "delay";
  spec.title = "Delay";
  spec.doc = "Waits before the message goes on. No thread is blocked while it waits.";
  OptionSpec expression = required_option("expression", OptionType::expression,
                                          "How long: milliseconds, or a text such as 5s.");
  expression.example = "1000";
  spec.options.push_back(std::move(expression));
  spec.options.push_back(option("asyncDelayed", OptionType::boolean,
                                "Accepted for Camel's sake; waiting never blocks a thread.",
                                "true"));
  spec.options.push_back(option("callerRunsWhenRejected", OptionType::boolean,
                                "Accepted for Camel's sake; nothing is rejected.", "true"));
  spec.inline_expression = "expression";
  spec.example = "- delay:\n    constant: 500\n";
  return spec;
}

// Null when the option is absent or wrong.
ExpressionPtr message_template(const Config& config, BuildContext& context) {
  if (!config.has("message")) return nullptr;
  return compile_template(config.text("message"), config.where("message"), context);
}

Step make_stop(const StepSpec&, const Config&, BuildContext&) {
  return Step(std::make_unique<Stop>());
}
Step make_throw(const StepSpec&, const Config& config, BuildContext& context) {
  return Step(std::make_unique<ThrowException>(config.text("exceptionType"),
                                               message_template(config, context)));
}
Step make_rollback(const StepSpec&, const Config& config, BuildContext& context) {
  if (config.flag("markRollbackOnly") || config.flag("markRollbackOnlyLast"))
    return Step(std::make_unique<Rollback>());
  return Step(std::make_unique<ThrowException>("org.apache.camel.RollbackExchangeException",
                                               message_template(config, context)));
}
Step make_delay(const StepSpec&, const Config& config, BuildContext&) {
  ExpressionPtr expression = config.expression("expression");
  if (!expression) return Step();
  return Step(std::make_unique<Delay>(std::move(expression)));
}

}  // namespace

void register_flow_control(Registry& registry) {
  registry.add(StepInfo{"stop", stop_spec, make_stop});
  registry.add(StepInfo{"throwException", throw_spec, make_throw});
  registry.add(StepInfo{"rollback", rollback_spec, make_rollback});
  registry.add(StepInfo{"delay", delay_spec, make_delay});
}

}  // namespace drom
