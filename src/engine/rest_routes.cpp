#include "engine/rest_routes.hpp"

#include "drom/base/json.hpp"
#include "engine/openapi.hpp"
#include "engine/rest_check.hpp"
#include "engine/rest_model.hpp"

namespace drom {
namespace {

void set_parameter(StepSpec& from, std::string name, std::string text) {
  OptionText option;
  option.name = std::move(name);
  option.text = std::move(text);
  option.where = from.where;
  from.parameters.push_back(std::move(option));
}

RouteSpec route_from(const std::string& path, const std::string& method, const Location& where) {
  RouteSpec out;
  out.where = where;
  out.from.name = "from";
  out.from.where = where;
  out.from.set("uri", "platform-http");
  out.from.options.back().where = where;
  set_parameter(out.from, "path", path);
  set_parameter(out.from, "httpMethodRestrict", method);
  return out;
}

void set_cors(StepSpec& from, const Pairs& headers) {
  set_parameter(from, "corsEnabled", "true");
  for (const auto& [name, value] : headers) {
    if (name == "Access-Control-Allow-Origin") set_parameter(from, "corsAllowOrigin", value);
    if (name == "Access-Control-Allow-Methods") set_parameter(from, "corsAllowMethods", value);
    if (name == "Access-Control-Allow-Headers") set_parameter(from, "corsAllowHeaders", value);
    if (name == "Access-Control-Expose-Headers") set_parameter(from, "corsExposeHeaders", value);
    if (name == "Access-Control-Allow-Credentials")
      set_parameter(from, "corsAllowCredentials", value);
    // In seconds, as it stands in the header.
    if (name == "Access-Control-Max-Age") set_parameter(from, "corsMaxAge", value + "s");
  }
}

StepSpec call(ProcessFunction function, const Location& where) {
  StepSpec out;
  out.name = "process";
  out.where = where;
  out.function = std::move(function);
  return out;
}

RouteSpec operation_route(const RestModel& model, const RestOperation& operation) {
  const StepSpec& spec = *operation.spec;
  RouteSpec out = route_from(model.context_path + operation.path, operation.method, spec.where);
  out.id = operation.route_id;
  if (!operation.consumes.empty()) set_parameter(out.from, "consumes", operation.consumes);
  if (!operation.produces.empty()) set_parameter(out.from, "produces", operation.produces);
  if (operation.cors) set_cors(out.from, model.cors_headers);
  if (ProcessFunction check = make_rest_check(operation))
    out.steps.push_back(call(std::move(check), spec.where));
  for (const StepSpec& clause : spec.clauses)
    if (clause.name == "to") out.steps.push_back(clause);
  for (const StepSpec& step : spec.steps) out.steps.push_back(step);
  if (ProcessFunction cleanup = make_rest_cleanup(operation))
    out.steps.push_back(call(std::move(cleanup), spec.where));
  return out;
}

// Serves the document in both forms: the name below the path decides, else Accept.
ProcessFunction serve_document(std::string path, const Value& document) {
  return [path = std::move(path), json = to_json_pretty(document) + "\n",
          yaml = to_yaml(document)](Exchange& exchange) {
    Message& message = exchange.message;
    std::string_view name = message.headers.text("CamelHttpPath");
    name.remove_prefix(std::min(path.size(), name.size()));
    while (name.starts_with('/')) name.remove_prefix(1);
    const bool wants_yaml =
        name.ends_with(".yaml") || name.ends_with(".yml") ||
        (name.empty() && message.headers.text("Accept").find("yaml") != std::string_view::npos);
    message.body = Value(wants_yaml ? yaml : json);
    message.headers.set("Content-Type", wants_yaml ? "application/yaml" : "application/json");
    if (name.empty() || name == "openapi.json" || name == "openapi.yaml" || name == "openapi.yml")
      return;
    refuse_request(exchange, 404, "the document is openapi.json or openapi.yaml");
  };
}

RouteSpec document_route(const RestModel& model, const std::string& path, const Value& document,
                         const Location& where) {
  RouteSpec out = route_from(path, "get", where);
  set_parameter(out.from, "matchOnUriPrefix", "true");
  if (model.configuration.flag("enableCORS")) set_cors(out.from, model.cors_headers);
  out.steps.push_back(call(serve_document(path, document), where));
  return out;
}

}  // namespace

void expand_rests(ContextSpec& spec, const PropertySource& properties, Diagnostics& diagnostics) {
  if (spec.rests.empty() && spec.rest_configuration.name.empty()) return;
  const bool wrong_before = diagnostics.has_errors();
  const RestModel model = read_rest_model(spec, properties, diagnostics);
  if (diagnostics.has_errors() && !wrong_before) return;
  // The model refers to `spec`, but not to its routes.
  for (const RestOperation& operation : model.operations)
    spec.routes.push_back(operation_route(model, operation));
  for (const RestModel::Contract& contract : model.contracts)
    if (!contract.path.empty())
      spec.routes.push_back(
          document_route(model, contract.path, contract.document, contract.where));
  if (model.api_path.empty()) return;
  spec.routes.push_back(
      document_route(model, model.api_path, make_openapi(model), spec.rest_configuration.where));
  spec.routes.back().id = model.configuration.text("apiContextRouteId");
}

}  // namespace drom
