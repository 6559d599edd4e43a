// The fluent DSL: the same routes as in YAML, written in C++. Everything here only fills RouteSpec,
// plain data with the place in the source (std::source_location), so that errors read
// `main.cpp:14:7`. Load time, one thread.
//
//   routes.from("direct:orders").id("orders")
//       .unmarshal_json()
//       .choice([](Choice& c) {
//         c.when(simple("${body[total]} > 100"), [](Steps& s) { s.to("direct:large"); });
//         c.otherwise([](Steps& s) { s.to("direct:small"); });
//       });
//
// Names are Camel's in snake_case. Every option of a step, also those without a parameter here, can
// be given by with(): `.split(jsonpath("$.items"), body).with("stopOnException", "true")`.
#pragma once

#include <concepts>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "drom/spi/route_spec.hpp"

namespace drom {

using Here = std::source_location;

// An expression of a step: made by the functions below or from a C++ callable
// `Value(const Exchange&)` (predicates return bool).
class Expr {
 public:
  Expr(std::string language, std::string text) {
    spec_.language = std::move(language);
    spec_.text = std::move(text);
  }
  template <class F>
    requires(std::invocable<const F&, const Exchange&> &&
             !std::same_as<std::remove_cvref_t<F>, Expr>)
  Expr(F function)  // NOLINT: implicit, so that a lambda reads like an expression
      : Expr("native", "") {
    spec_.native = make_expression(
        [f = std::move(function)](const Exchange& exchange) { return Value(f(exchange)); });
  }
  const ExpressionSpec& spec() const { return spec_; }

 private:
  ExpressionSpec spec_;
};

Expr simple(std::string text);
Expr constant(std::string text);
Expr constant(int64_t number);
Expr jsonpath(std::string path);
Expr header(std::string name);
Expr exchange_property(std::string name);
Expr variable(std::string name);
Expr body();

// Options and endpoint parameters by name.
using Named = std::initializer_list<std::pair<std::string, std::string>>;

class Choice;
class Try;

// A sequence of steps being written. Refers to the vector that it fills, which must outlive it.
class Steps {
 public:
  explicit Steps(std::vector<StepSpec>& steps) : steps_(&steps) {}

  Steps& to(std::string uri, Named parameters = {}, Here here = Here::current());
  Steps& to_d(std::string uri, Here here = Here::current());
  Steps& set_body(Expr expression, Here here = Here::current());
  Steps& transform(Expr expression, Here here = Here::current());
  Steps& set_header(std::string name, Expr expression, Here here = Here::current());
  Steps& set_property(std::string name, Expr expression, Here here = Here::current());
  Steps& set_variable(std::string name, Expr expression, Here here = Here::current());
  Steps& remove_header(std::string name, Here here = Here::current());
  Steps& remove_headers(std::string pattern, Here here = Here::current());
  Steps& remove_property(std::string name, Here here = Here::current());
  Steps& log(std::string message, Here here = Here::current());
  Steps& delay(milliseconds duration, Here here = Here::current());
  Steps& stop(Here here = Here::current());
  Steps& rollback(Here here = Here::current());
  Steps& throw_exception(std::string type, std::string message, Here here = Here::current());
  Steps& marshal_json(Here here = Here::current());
  Steps& unmarshal_json(Here here = Here::current());
  Steps& convert_body_to(std::string type, Here here = Here::current());
  // C++ code as a step. May throw to fail the exchange; must not wait.
  Steps& process(ProcessFunction function, Here here = Here::current());
  // A function bound with Registry::bind_processor.
  Steps& bean(std::string name, Here here = Here::current());

  // `body` is called once, with the children: void(Steps&).
  template <class F>
  Steps& filter(Expr predicate, F body, Here here = Here::current()) {
    StepSpec& step = add("filter", here);
    set_expression(step, predicate, here);
    return children(step, body);
  }
  template <class F>
  Steps& split(Expr expression, F body, Here here = Here::current()) {
    StepSpec& step = add("split", here);
    set_expression(step, expression, here);
    return children(step, body);
  }
  template <class F>
  Steps& multicast(F body, Here here = Here::current()) {
    return children(add("multicast", here), body);
  }
  template <class F>
  Steps& pipeline(F body, Here here = Here::current()) {
    return children(add("pipeline", here), body);
  }
  template <class F>
  Steps& step(std::string id, F body, Here here = Here::current()) {
    StepSpec& group = add("step", here);
    set(group, "id", std::move(id), here);
    return children(group, body);
  }
  template <class F>
  Steps& transacted(F body, Here here = Here::current()) {
    return children(add("transacted", here), body);
  }
  // `policy`: required, requiresNew, suppress, mandatory.
  template <class F>
  Steps& transacted(std::string policy, F body, Here here = Here::current()) {
    StepSpec& step = add("transacted", here);
    set(step, "ref", std::move(policy), here);
    return children(step, body);
  }
  template <class F>
  Steps& idempotent_consumer(Expr key, std::string repository, F body,
                             Here here = Here::current()) {
    StepSpec& step = add("idempotentConsumer", here);
    set_expression(step, key, here);
    set(step, "idempotentRepository", std::move(repository), here);
    return children(step, body);
  }
  // `body`: void(Choice&).
  template <class F>
  Steps& choice(F body, Here here = Here::current());
  // `body`: void(Try&).
  template <class F>
  Steps& do_try(F body, Here here = Here::current());

  // The id, and any other option, of the step written last.
  Steps& id(std::string name);
  Steps& with(std::string option, std::string value);
  Steps& with(std::string option, Expr expression);
  // A step of your own, registered with Registry::add(StepInfo).
  StepSpec& add(std::string name, Here here);

 private:
  friend class Choice;
  friend class Try;
  static void set(StepSpec& step, std::string option, std::string text, Here here);
  static void set_expression(StepSpec& step, const Expr& expression, Here here);
  Steps& named_value(std::string step, std::string name, const Expr& expression, Here here);
  template <class F>
  Steps& children(StepSpec& step, F& body) {
    step.has_steps = true;
    Steps inner(step.steps);
    body(inner);
    return *this;
  }

  std::vector<StepSpec>* steps_;
};

class Choice {
 public:
  explicit Choice(StepSpec& step) : step_(&step) {}
  template <class F>
  Choice& when(Expr predicate, F body, Here here = Here::current()) {
    StepSpec& clause = add("when", here);
    Steps::set_expression(clause, predicate, here);
    Steps inner(clause.steps);
    body(inner);
    return *this;
  }
  template <class F>
  Choice& otherwise(F body, Here here = Here::current()) {
    Steps inner(add("otherwise", here).steps);
    body(inner);
    return *this;
  }

 private:
  StepSpec& add(std::string name, Here here);
  StepSpec* step_;
};

class Try {
 public:
  explicit Try(StepSpec& step) : step_(&step) {}
  // The guarded steps.
  template <class F>
  Try& steps(F body) {
    Steps inner(step_->steps);
    body(inner);
    return *this;
  }
  // `exceptions`: error kinds or Camel's class names, comma separated.
  template <class F>
  Try& do_catch(std::string exceptions, F body, Here here = Here::current()) {
    StepSpec& clause = add("doCatch", here);
    Steps::set(clause, "exception", std::move(exceptions), here);
    Steps inner(clause.steps);
    body(inner);
    return *this;
  }
  template <class F>
  Try& do_finally(F body, Here here = Here::current()) {
    Steps inner(add("doFinally", here).steps);
    body(inner);
    return *this;
  }

 private:
  StepSpec& add(std::string name, Here here);
  StepSpec* step_;
};

template <class F>
Steps& Steps::choice(F body, Here here) {
  Choice inner(add("choice", here));
  body(inner);
  return *this;
}

template <class F>
Steps& Steps::do_try(F body, Here here) {
  StepSpec& step = add("doTry", here);
  step.has_steps = true;
  Try inner(step);
  body(inner);
  return *this;
}

}  // namespace drom
