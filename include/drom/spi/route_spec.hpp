// Routes as plain data: what the YAML reader and the C++ DSL both produce, and the engine compiles.
// Texts are as written (placeholders unresolved), each with its location. Load time, one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/config/config.hpp"
#include "drom/spi/processor.hpp"

namespace drom {

// A step or a clause of a step (when, doCatch, headers ...).
struct StepSpec {
  std::string name;
  Location where;
  std::vector<OptionText> options;
  std::vector<OptionText> parameters;  // endpoint parameters of to, toD, from
  std::vector<StepSpec> steps;
  std::vector<StepSpec> clauses;
  bool has_steps = false;    // `steps` was written, even if empty
  ProcessFunction function;  // C++ DSL: process([](Exchange&) {...})

  const OptionText* find(std::string_view option) const;
  std::string_view text(std::string_view option) const;  // "" when absent
  StepSpec& set(std::string option, std::string text);
  StepSpec& set(std::string option, ExpressionSpec expression);
};

// onException, errorHandler, deadLetterChannel keep the form of a StepSpec: options + steps.
struct RouteSpec {
  std::string id;  // empty: the engine names it route1, route2 ...
  Location where;
  StepSpec from;  // name "from", options uri, parameters
  std::vector<StepSpec> steps;
  std::vector<StepSpec> on_exceptions;  // of this route only (fluent DSL)
  std::vector<OptionText> options;      // autoStartup, description, routeConfigurationId ...
  StepSpec error_handler;               // name empty: the context's
};

struct RouteConfigurationSpec {
  std::string id;  // empty: applies to all routes
  Location where;
  std::vector<StepSpec> on_exceptions;
  StepSpec error_handler;
};

struct BeanSpec {
  std::string name;
  std::string type;
  Location where;
  Location type_where;
  std::vector<OptionText> properties;  // nested maps flattened with dots
};

// Everything that one or several files declare.
struct ContextSpec {
  std::vector<RouteSpec> routes;
  std::vector<RouteConfigurationSpec> configurations;
  std::vector<BeanSpec> beans;
  std::vector<StepSpec> on_exceptions;
  StepSpec error_handler;       // name empty: Camel's default error handler
  std::vector<StepSpec> rests;  // their clauses are the verbs; the engine makes routes of them
  StepSpec rest_configuration;  // name empty: none
};

}  // namespace drom
