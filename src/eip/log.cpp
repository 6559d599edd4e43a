#include "eip/log.hpp"

#include "spi/step_support.hpp"

namespace drom {
namespace {

class LogLine final : public Processor {
 public:
  struct Options {
    ExpressionPtr message;
    ExpressionPtr computed_name;  // null: `name`, or the route's id when that is empty
    std::string name;
    std::string marker;
    LogLevel level = LogLevel::info;
  };
  explicit LogLine(Options options) : options_(std::move(options)) {}

  void run(Batch& batch, Scope& scope) override {
    if (!scope.log.enabled(options_.level)) return;
    const EvalScope eval = scope.eval();
    for (Exchange& exchange : batch) {
      Result<Value> message = options_.message->evaluate(exchange, eval);
      if (!message) {
        exchange.fail(std::move(message.error()));
        continue;
      }
      if (!options_.computed_name) {
        write(scope, options_.name.empty() ? scope.route : options_.name, *message);
        continue;
      }
      Result<Value> name = options_.computed_name->evaluate(exchange, eval);
      if (!name) {
        exchange.fail(std::move(name.error()));
        continue;
      }
      write(scope, name->to_text(), *message);
    }
  }
  bool takes_streams() const override {
    return !options_.message->reads_body() && !options_.computed_name;
  }

 private:
  void write(Scope& scope, std::string_view name, const Value& message) const {
    const std::string* const text = message.as_text();
    if (text && options_.marker.empty()) return scope.log.write(options_.level, name, *text);
    scope.log.write(options_.level, name, options_.marker + message.to_text());
  }

  Options options_;
};

ConfigSpec log_spec() {
  ConfigSpec spec;
  spec.name = "log";
  spec.title = "Log";
  spec.doc =
      "Writes a line to the log. The message is a template: `${body}`, `${header.x}` and all of "
      "simple. "
      "Bodies and headers are printed only where the template names them; secrets of endpoints "
      "never "
      "appear.";
  OptionSpec message =
      required_option("message", OptionType::text, "The line, with ${...} filled in.");
  message.example = "order ${header.id} accepted";
  spec.options.push_back(std::move(message));
  spec.options.push_back(enum_option("loggingLevel",
                                     {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"},
                                     "Level of the line.", "INFO"));
  spec.options.push_back(option("logName", OptionType::text,
                                "Logger name, may hold ${...}; by default the id of the route."));
  spec.options.push_back(option("marker", OptionType::text,
                                "A word put in brackets before the message, to find it again."));
  spec.scalar = "message";
  spec.example = "- log: \"order ${header.id} accepted\"\n";
  return spec;
}

LogLevel level_of(std::string_view text) {
  if (iequals(text, "TRACE")) return LogLevel::trace;
  if (iequals(text, "DEBUG")) return LogLevel::debug;
  if (iequals(text, "WARN")) return LogLevel::warn;
  if (iequals(text, "ERROR")) return LogLevel::error;
  if (iequals(text, "OFF")) return LogLevel::off;
  return LogLevel::info;
}

Step make_log(const StepSpec&, const Config& config, BuildContext& context) {
  LogLine::Options options;
  options.level = level_of(config.text("loggingLevel"));
  options.name = config.text("logName");
  if (options.name.find("${") != std::string::npos)
    options.computed_name = compile_template(options.name, config.where("logName"), context);
  if (config.has("marker")) options.marker = "[" + config.text("marker") + "] ";
  options.message = compile_template(config.text("message"), config.where("message"), context);
  if (!options.message) return Step();
  if (options.level == LogLevel::off) return Step(make_processor([](Exchange&) {}));
  return Step(std::make_unique<LogLine>(std::move(options)));
}

}  // namespace

void register_log_step(Registry& registry) { registry.add(StepInfo{"log", log_spec, make_log}); }

}  // namespace drom
