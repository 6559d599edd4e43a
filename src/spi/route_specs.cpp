#include "drom/spi/route_specs.hpp"

#include "spi/step_support.hpp"

namespace drom {
namespace {

OptionSpec at_least(OptionSpec spec, int64_t minimum) {
  spec.minimum = minimum;
  return spec;
}

OptionSpec one_of(std::string name, std::string doc, std::string fallback,
                  std::vector<std::string> values) {
  OptionSpec out =
      option(std::move(name), OptionType::enumeration, std::move(doc), std::move(fallback));
  out.values = std::move(values);
  return out;
}

// Camel's RedeliveryPolicy; an option that onException leaves out comes from the error handler.
std::vector<OptionSpec> redelivery_options(bool defaults) {
  const auto fallback = [&](std::string text) {
    return defaults ? std::move(text) : std::string();
  };
  const std::vector<std::string> levels = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"};
  const std::string p = "redeliveryPolicy.";
  return {
      at_least(
          option(p + "maximumRedeliveries", OptionType::integer,
                 "How often a failed step is tried again; -1 means without end.", fallback("0")),
          -1),
      at_least(option(p + "redeliveryDelay", OptionType::duration,
                      "The wait before the first redelivery.", fallback("1000")),
               0),
      at_least(option(p + "maximumRedeliveryDelay", OptionType::duration,
                      "No wait between redeliveries is longer than this.", fallback("60000")),
               0),
      option(p + "useExponentialBackOff", OptionType::boolean,
             "Multiplies the wait by backOffMultiplier after each redelivery.", fallback("false")),
      option(p + "backOffMultiplier", OptionType::number, "The factor of useExponentialBackOff.",
             fallback("2")),
      option(p + "useCollisionAvoidance", OptionType::boolean,
             "Varies each wait at random by collisionAvoidanceFactor.", fallback("false")),
      option(p + "collisionAvoidanceFactor", OptionType::number,
             "The part of the wait that is random: 0.15 is 15 % to either side.", fallback("0.15")),
      option(p + "delayPattern", OptionType::text,
             "Waits by attempt, such as 5:1000;10:5000: from the 5th redelivery on one second, "
             "from the 10th "
             "five seconds."),
      option(p + "allowRedeliveryWhileStopping", OptionType::boolean,
             "False gives up waiting redeliveries as soon as the engine stops.", fallback("true")),
      one_of(p + "retriesExhaustedLogLevel",
             "Log level of the line that says that a message was given up.", fallback("ERROR"),
             levels),
      one_of(p + "retryAttemptedLogLevel", "Log level of the line before each redelivery.",
             fallback("DEBUG"), levels),
      option(p + "logRetryAttempted", OptionType::boolean, "Logs each redelivery.",
             fallback("true")),
      option(p + "logExhausted", OptionType::boolean, "Logs when a message is given up.",
             fallback("true")),
      option(p + "logStackTrace", OptionType::boolean,
             "Accepted for Camel's sake; there are no stack traces.", fallback("true")),
  };
}

ConfigSpec spec_named(std::string name, std::string title, std::string doc) {
  ConfigSpec out;
  out.name = std::move(name);
  out.title = std::move(title);
  out.doc = std::move(doc);
  return out;
}

void append(std::vector<OptionSpec>& to, std::vector<OptionSpec> more) {
  for (OptionSpec& spec : more) to.push_back(std::move(spec));
}

}  // namespace

const std::vector<OptionSpec>& common_options() {
  static const std::vector<OptionSpec> kOptions = {
      option("id", OptionType::text, "The name in logs, metrics and error places; unique."),
      option("description", OptionType::text, "What this is for, for people."),
      option("note", OptionType::text, "A remark for people."),
      option("disabled", OptionType::boolean, "True leaves the node out."),
  };
  return kOptions;
}

ConfigSpec from_spec() {
  ConfigSpec spec =
      spec_named("from", "From", "The source of a route: an endpoint that delivers exchanges.");
  OptionSpec uri =
      option("uri", OptionType::text, "The endpoint, such as timer:tick or outbox:orders.");
  uri.required = true;
  uri.example = "timer:tick?period=1s";
  spec.options = {uri};
  spec.scalar = "uri";
  spec.parameters = true;
  spec.steps = StepsRule::required;
  spec.example =
      "- from:\n    uri: timer:tick\n    parameters:\n      period: 1s\n    steps:\n      - log: "
      "tick\n";
  return spec;
}

ConfigSpec route_spec() {
  ConfigSpec spec =
      spec_named("route", "Route", "A source and the steps that each of its exchanges takes.");
  spec.options = {
      option("autoStartup", OptionType::boolean, "False leaves the route stopped.", "true"),
      option("routeConfigurationId", OptionType::text,
             "The routeConfiguration that applies to this route besides those without an id."),
      option("group", OptionType::text, "A name shared by routes that belong together."),
      option("startupOrder", OptionType::integer,
             "Routes with a lower number start earlier and stop later."),
      option("streamCache", OptionType::boolean,
             "Accepted for Camel's sake; bodies can be read again.", "true"),
      option("trace", OptionType::boolean, "Accepted for Camel's sake.", "false"),
      option("messageHistory", OptionType::boolean, "Accepted for Camel's sake.", "false"),
      option("logMask", OptionType::boolean,
             "Accepted for Camel's sake; secrets are always masked.", "true"),
  };
  spec.example =
      "- route:\n    id: orders\n    from:\n      uri: direct:orders\n      steps:\n        - log: "
      "${body}\n";
  return spec;
}

ConfigSpec route_configuration_spec() {
  ConfigSpec spec =
      spec_named("routeConfiguration", "Route Configuration",
                 "Error handling that several routes share. Without an id it applies to all "
                 "routes, else to those that name it by routeConfigurationId.");
  spec.options = {option("precondition", OptionType::text,
                         "A simple predicate; false leaves the configuration out.")};
  ConfigSpec on_exception = on_exception_spec();
  on_exception.repeat = true;
  spec.clauses = {on_exception};
  spec.example =
      "- routeConfiguration:\n    onException:\n      - onException:\n          exception: "
      "[java.io.IOException]\n"
      "          redeliveryPolicy:\n            maximumRedeliveries: 3\n";
  return spec;
}

ConfigSpec on_exception_spec() {
  ConfigSpec spec = spec_named("onException", "On Exception",
                               "What happens when a step fails with one of the named errors: "
                               "redelivery of the failed step, then "
                               "the steps given here. `handled` ends the exchange without an "
                               "error, `continued` goes on after the "
                               "failed step. Inside `transacted` it acts after the rollback.");
  OptionSpec exception =
      option("exception", OptionType::list,
             "Error kinds (data, transient, timeout, not_connected, rejected ...) or Camel's "
             "exception class names; java.lang.Exception means all.");
  exception.required = true;
  exception.example = "java.io.IOException";
  spec.options = {
      exception,
      option("handled", OptionType::predicate, "True: the exchange ends well after the steps."),
      option("continued", OptionType::predicate,
             "True: the exchange goes on after the failed step."),
      option("onWhen", OptionType::predicate, "The clause counts only when this holds."),
      option("retryWhile", OptionType::predicate,
             "Redelivers as long as this holds, instead of maximumRedeliveries times."),
      option("useOriginalMessage", OptionType::boolean,
             "The steps get the message as the route received it, not as it was when it failed.",
             "false"),
      option("useOriginalBody", OptionType::boolean, "Like useOriginalMessage, for the body only.",
             "false"),
  };
  append(spec.options, redelivery_options(false));
  spec.steps = StepsRule::optional;
  spec.example =
      "- onException:\n    exception: [java.net.ConnectException]\n    redeliveryPolicy:\n"
      "      maximumRedeliveries: 5\n      redeliveryDelay: 500\n    handled:\n      constant: "
      "\"true\"\n"
      "    steps:\n      - to: mock:broken\n";
  return spec;
}

ConfigSpec default_error_handler_spec() {
  ConfigSpec spec = spec_named("defaultErrorHandler", "Default Error Handler",
                               "Redelivers by its policy; then the error goes back to the source.");
  spec.options = redelivery_options(true);
  spec.example =
      "- errorHandler:\n    defaultErrorHandler:\n      redeliveryPolicy:\n        "
      "maximumRedeliveries: 2\n";
  return spec;
}

ConfigSpec dead_letter_channel_spec() {
  ConfigSpec spec = spec_named("deadLetterChannel", "Dead Letter Channel",
                               "Redelivers by its policy; then the exchange goes to the dead "
                               "letter endpoint and counts as handled. "
                               "When that endpoint fails too, the error goes back to the source: "
                               "the message is never lost.");
  OptionSpec uri =
      option("deadLetterUri", OptionType::text, "The endpoint for messages that were given up.");
  uri.required = true;
  uri.example = "file:dead";
  spec.options = {uri,
                  option("useOriginalMessage", OptionType::boolean,
                         "Sends the message as the route received it.", "false"),
                  option("useOriginalBody", OptionType::boolean,
                         "Like useOriginalMessage, for the body only.", "false")};
  append(spec.options, redelivery_options(true));
  spec.scalar = "deadLetterUri";
  spec.example =
      "- errorHandler:\n    deadLetterChannel:\n      deadLetterUri: file:dead\n      "
      "redeliveryPolicy:\n"
      "        maximumRedeliveries: 3\n";
  return spec;
}

ConfigSpec no_error_handler_spec() {
  return spec_named("noErrorHandler", "No Error Handler", "Errors go straight back to the source.");
}

}  // namespace drom
