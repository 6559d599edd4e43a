// Routes, beans and error handling in C++: what a YAML file declares at its top level.
// Load time, one thread.
#pragma once

#include <list>
#include <memory>

#include "drom/dsl/steps.hpp"

namespace drom {

// One onException clause.
class OnException {
 public:
  explicit OnException(StepSpec& spec) : spec_(&spec) {}
  OnException& handled(bool value = true);
  OnException& continued(bool value = true);
  OnException& on_when(Expr predicate);
  OnException& maximum_redeliveries(int64_t count);  // -1: without end
  OnException& redelivery_delay(milliseconds delay);
  OnException& use_original_message();
  // Any other option: "redeliveryPolicy.useExponentialBackOff".
  OnException& with(std::string option, std::string value);
  template <class F>
  OnException& steps(F body) {
    spec_->has_steps = true;
    Steps inner(spec_->steps);
    body(inner);
    return *this;
  }

 private:
  StepSpec* spec_;
};

// A route being written: the steps, and what belongs to the route itself.
class Route : public Steps {
 public:
  Route(RouteSpec& spec, Steps steps) : Steps(steps), spec_(&spec) {}
  // Call it right after from(); after a step, id() names that step.
  Route& route_id(std::string name);
  Route& auto_startup(bool value);
  OnException on_exception(std::string exceptions, Here here = Here::current());
  Route& dead_letter_channel(std::string uri, Named options = {}, Here here = Here::current());

 private:
  RouteSpec* spec_;
};

class Routes {
 public:
  Route& from(std::string uri, Named parameters = {}, Here here = Here::current());
  // A data source or another bean: bean("orders", "drom.sqlite", {{"file", "orders.db"}}).
  Routes& bean(std::string name, std::string type, Named properties = {},
               Here here = Here::current());
  // For all routes.
  OnException on_exception(std::string exceptions, Here here = Here::current());
  Routes& default_error_handler(Named options, Here here = Here::current());
  Routes& dead_letter_channel(std::string uri, Named options = {}, Here here = Here::current());

  // What was written so far; the engine takes it with Engine::add().
  ContextSpec take();

 private:
  struct Written {
    RouteSpec spec;
    std::unique_ptr<Route> route;
  };
  std::list<Written> routes_;
  std::list<StepSpec> on_exceptions_;
  ContextSpec rest_;
};

}  // namespace drom
