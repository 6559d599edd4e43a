#include "drom/dsl/routes.hpp"

namespace drom {
namespace {

Location place(const Here& here) {
  Location out;
  // The name without folders: where a program was built is nobody's business at run time.
  std::string_view file = here.file_name();
  if (const size_t slash = file.find_last_of('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  out.file = std::make_shared<const std::string>(file);
  out.line = here.line();
  out.column = here.column();
  return out;
}

OptionText option(std::string name, std::string text, const Location& where) {
  OptionText out;
  out.name = std::move(name);
  out.text = std::move(text);
  out.where = where;
  return out;
}

OptionText option(std::string name, ExpressionSpec expression, const Location& where) {
  OptionText out;
  out.name = std::move(name);
  out.expression = std::move(expression);
  out.expression.where = where;
  out.is_expression = true;
  out.where = where;
  return out;
}

StepSpec make_spec(std::string name, const Here& here) {
  StepSpec out;
  out.name = std::move(name);
  out.where = place(here);
  return out;
}

void append(std::vector<OptionText>& to, Named named, const Location& where) {
  for (const auto& [name, value] : named) to.push_back(option(name, value, where));
}

StepSpec exception_spec(std::string exceptions, const Here& here) {
  StepSpec out = make_spec("onException", here);
  out.options.push_back(option("exception", std::move(exceptions), out.where));
  return out;
}

StepSpec handler_spec(std::string name, Named options, const Here& here) {
  StepSpec out = make_spec(std::move(name), here);
  append(out.options, options, out.where);
  return out;
}

}  // namespace

Expr simple(std::string text) { return Expr("simple", std::move(text)); }
Expr constant(std::string text) { return Expr("constant", std::move(text)); }
Expr constant(int64_t number) {
  return Expr([number](const Exchange&) { return Value(number); });
}
Expr jsonpath(std::string path) { return Expr("jsonpath", std::move(path)); }
Expr header(std::string name) { return Expr("header", std::move(name)); }
Expr exchange_property(std::string name) { return Expr("exchangeProperty", std::move(name)); }
Expr variable(std::string name) { return Expr("variable", std::move(name)); }
Expr body() {
  return Expr([](const Exchange& exchange) { return exchange.message.body; });
}

StepSpec& Steps::add(std::string name, Here here) {
  steps_->push_back(make_spec(std::move(name), here));
  return steps_->back();
}

void Steps::set(StepSpec& step, std::string name, std::string text, Here here) {
  step.options.push_back(option(std::move(name), std::move(text), place(here)));
}

void Steps::set_expression(StepSpec& step, const Expr& expression, Here here) {
  step.options.push_back(option("expression", expression.spec(), place(here)));
}

Steps& Steps::named_value(std::string name, std::string key, const Expr& expression, Here here) {
  StepSpec& step = add(std::move(name), here);
  set(step, "name", std::move(key), here);
  set_expression(step, expression, here);
  return *this;
}

Steps& Steps::to(std::string uri, Named parameters, Here here) {
  StepSpec& step = add("to", here);
  set(step, "uri", std::move(uri), here);
  append(step.parameters, parameters, step.where);
  return *this;
}

Steps& Steps::to_d(std::string uri, Here here) {
  set(add("toD", here), "uri", std::move(uri), here);
  return *this;
}

Steps& Steps::set_body(Expr expression, Here here) {
  set_expression(add("setBody", here), expression, here);
  return *this;
}

Steps& Steps::transform(Expr expression, Here here) {
  set_expression(add("transform", here), expression, here);
  return *this;
}

Steps& Steps::set_header(std::string name, Expr expression, Here here) {
  return named_value("setHeader", std::move(name), expression, here);
}

Steps& Steps::set_property(std::string name, Expr expression, Here here) {
  return named_value("setProperty", std::move(name), expression, here);
}

Steps& Steps::set_variable(std::string name, Expr expression, Here here) {
  return named_value("setVariable", std::move(name), expression, here);
}

Steps& Steps::remove_header(std::string name, Here here) {
  set(add("removeHeader", here), "name", std::move(name), here);
  return *this;
}

Steps& Steps::remove_headers(std::string pattern, Here here) {
  set(add("removeHeaders", here), "pattern", std::move(pattern), here);
  return *this;
}

Steps& Steps::remove_property(std::string name, Here here) {
  set(add("removeProperty", here), "name", std::move(name), here);
  return *this;
}

Steps& Steps::log(std::string message, Here here) {
  set(add("log", here), "message", std::move(message), here);
  return *this;
}

Steps& Steps::delay(milliseconds duration, Here here) {
  set_expression(add("delay", here), constant(std::to_string(duration.count())), here);
  return *this;
}

Steps& Steps::stop(Here here) {
  add("stop", here);
  return *this;
}

Steps& Steps::rollback(Here here) {
  add("rollback", here);
  return *this;
}

Steps& Steps::throw_exception(std::string type, std::string message, Here here) {
  StepSpec& step = add("throwException", here);
  set(step, "exceptionType", std::move(type), here);
  set(step, "message", std::move(message), here);
  return *this;
}

Steps& Steps::marshal_json(Here here) {
  StepSpec& step = add("marshal", here);
  step.clauses.push_back(make_spec("json", here));
  return *this;
}

Steps& Steps::unmarshal_json(Here here) {
  StepSpec& step = add("unmarshal", here);
  step.clauses.push_back(make_spec("json", here));
  return *this;
}

Steps& Steps::convert_body_to(std::string type, Here here) {
  set(add("convertBodyTo", here), "type", std::move(type), here);
  return *this;
}

Steps& Steps::process(ProcessFunction function, Here here) {
  add("process", here).function = std::move(function);
  return *this;
}

Steps& Steps::bean(std::string name, Here here) {
  set(add("bean", here), "ref", std::move(name), here);
  return *this;
}

Steps& Steps::id(std::string name) { return with("id", std::move(name)); }

Steps& Steps::with(std::string name, std::string value) {
  DROM_ASSERT(!steps_->empty());
  StepSpec& last = steps_->back();
  last.options.push_back(option(std::move(name), std::move(value), last.where));
  return *this;
}

Steps& Steps::with(std::string name, Expr expression) {
  DROM_ASSERT(!steps_->empty());
  StepSpec& last = steps_->back();
  last.options.push_back(option(std::move(name), expression.spec(), last.where));
  return *this;
}

StepSpec& Choice::add(std::string name, Here here) {
  step_->clauses.push_back(make_spec(std::move(name), here));
  step_->clauses.back().has_steps = true;
  return step_->clauses.back();
}

StepSpec& Try::add(std::string name, Here here) {
  step_->clauses.push_back(make_spec(std::move(name), here));
  step_->clauses.back().has_steps = true;
  return step_->clauses.back();
}

OnException& OnException::handled(bool value) { return with("handled", value ? "true" : "false"); }
OnException& OnException::continued(bool value) {
  return with("continued", value ? "true" : "false");
}

OnException& OnException::on_when(Expr predicate) {
  spec_->options.push_back(option("onWhen", predicate.spec(), spec_->where));
  return *this;
}

OnException& OnException::maximum_redeliveries(int64_t count) {
  return with("redeliveryPolicy.maximumRedeliveries", std::to_string(count));
}

OnException& OnException::redelivery_delay(milliseconds delay) {
  return with("redeliveryPolicy.redeliveryDelay", std::to_string(delay.count()));
}

OnException& OnException::use_original_message() { return with("useOriginalMessage", "true"); }

OnException& OnException::with(std::string name, std::string value) {
  if (name == "handled" || name == "continued") {
    spec_->options.push_back(
        option(std::move(name), constant(std::move(value)).spec(), spec_->where));
  } else {
    spec_->options.push_back(option(std::move(name), std::move(value), spec_->where));
  }
  return *this;
}

Route& Route::route_id(std::string name) {
  spec_->id = std::move(name);
  return *this;
}

Route& Route::auto_startup(bool value) {
  spec_->options.push_back(option("autoStartup", value ? "true" : "false", spec_->where));
  return *this;
}

OnException Route::on_exception(std::string exceptions, Here here) {
  spec_->on_exceptions.push_back(exception_spec(std::move(exceptions), here));
  return OnException(spec_->on_exceptions.back());
}

Route& Route::dead_letter_channel(std::string uri, Named options, Here here) {
  spec_->error_handler = handler_spec("deadLetterChannel", options, here);
  spec_->error_handler.options.push_back(
      option("deadLetterUri", std::move(uri), spec_->error_handler.where));
  return *this;
}

Route& Routes::from(std::string uri, Named parameters, Here here) {
  Written& written = routes_.emplace_back();
  written.spec.where = place(here);
  written.spec.from = make_spec("from", here);
  written.spec.from.options.push_back(option("uri", std::move(uri), written.spec.where));
  append(written.spec.from.parameters, parameters, written.spec.where);
  written.route = std::make_unique<Route>(written.spec, Steps(written.spec.steps));
  return *written.route;
}

Routes& Routes::bean(std::string name, std::string type, Named properties, Here here) {
  BeanSpec& spec = rest_.beans.emplace_back();
  spec.name = std::move(name);
  spec.type = std::move(type);
  spec.where = spec.type_where = place(here);
  append(spec.properties, properties, spec.where);
  return *this;
}

OnException Routes::on_exception(std::string exceptions, Here here) {
  return OnException(on_exceptions_.emplace_back(exception_spec(std::move(exceptions), here)));
}

Routes& Routes::default_error_handler(Named options, Here here) {
  rest_.error_handler = handler_spec("defaultErrorHandler", options, here);
  return *this;
}

Routes& Routes::dead_letter_channel(std::string uri, Named options, Here here) {
  rest_.error_handler = handler_spec("deadLetterChannel", options, here);
  rest_.error_handler.options.push_back(
      option("deadLetterUri", std::move(uri), rest_.error_handler.where));
  return *this;
}

ContextSpec Routes::take() {
  ContextSpec out = std::move(rest_);
  rest_ = ContextSpec();
  for (Written& written : routes_) out.routes.push_back(std::move(written.spec));
  for (StepSpec& clause : on_exceptions_) out.on_exceptions.push_back(std::move(clause));
  routes_.clear();
  on_exceptions_.clear();
  return out;
}

}  // namespace drom
