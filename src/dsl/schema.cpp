#include "dsl/schema.hpp"

#include "drom/base/json.hpp"
#include "drom/spi/route_specs.hpp"
#include "dsl/schema_node.hpp"

namespace drom {
namespace {

using schema::reference;

Object object_schema(Object properties) {
  Object out;
  out.set("type", "object");
  out.set("properties", std::move(properties));
  out.set("additionalProperties", false);
  return out;
}

// A map with exactly one name: a step, an item.
Value single(Object properties) {
  Object out = object_schema(std::move(properties));
  out.set("minProperties", 1);
  out.set("maxProperties", 1);
  return out;
}

Value list_of(Value items) {
  Object out;
  out.set("type", "array");
  out.set("items", std::move(items));
  return out;
}

// `simple: text` or `simple: {expression: text}`.
Value language() {
  Object properties;
  properties.set("expression", schema::one_of_types({"string", "number", "boolean"}));
  properties.set("trim", schema::one_of_types({"boolean"}));
  properties.set("id", schema::one_of_types({"string"}));
  Object map = object_schema(std::move(properties));
  map.set("required", List{Value("expression")});
  Object out;
  out.set("anyOf",
          List{schema::one_of_types({"string", "number", "boolean"}), Value(std::move(map))});
  return out;
}

// What `parameters` holds depends on the scheme of `uri`.
Value when_scheme(const std::string& scheme, const std::string& definition) {
  Object uri;
  uri.set("pattern", "^" + scheme + "(:|$)");
  Object has_uri;
  has_uri.set("uri", std::move(uri));
  Object condition;
  condition.set("properties", std::move(has_uri));
  condition.set("required", List{Value("uri")});
  Object parameters;
  parameters.set("parameters", reference(definition));
  Object consequence;
  consequence.set("properties", std::move(parameters));
  Object out;
  out.set("if", std::move(condition));
  out.set("then", std::move(consequence));
  return out;
}

// Of endpoints and beans. An endpoint's names with dots stand as they are: one of them may begin
// with the name of another (`table` and `table.field.event.id`).
Value endpoint_parameters(const ConfigSpec& spec) {
  Object options;
  if (spec.consumes || spec.produces)
    for (const OptionSpec& option : spec.options) options.set(option.name, schema::option(option));
  else
    options = schema::options(spec.options);
  Object out = object_schema(std::move(options));
  if (spec.free_parameters)
    out.set("additionalProperties", schema::one_of_types({"string", "number", "boolean", "null"}));
  out.set("type", List{Value("object"), Value("null")});
  out.set("title", spec.title);
  out.set("description", spec.doc);
  return out;
}

Value error_handler() {
  Object properties;
  for (const ConfigSpec& spec :
       {dead_letter_channel_spec(), default_error_handler_spec(), no_error_handler_spec()})
    properties.set(spec.name, schema::node(spec));
  return single(std::move(properties));
}

// `node` with more properties than its spec names.
Value with_property(Value node, const std::string& name, Value value, bool required) {
  Object& map = node.object();
  Value* holder = map.find("properties");
  // With short forms the object form is the first of anyOf.
  Object& form = holder ? map : map.find("anyOf")->list().front().object();
  form.find("properties")->object().set(name, std::move(value));
  if (required) form.set("required", List{Value(name)});
  return node;
}

Value bean(const Registry& registry, Object& definitions) {
  Object properties;
  properties.set("name", schema::one_of_types({"string"}));
  properties.set("type", schema::one_of_types({"string"}));
  properties.set("properties", schema::one_of_types({"object", "null"}));
  Object out = object_schema(std::move(properties));
  out.set("required", List{Value("name"), Value("type")});
  List conditions;
  for (const std::string& type : registry.bean_types()) {
    const ConfigSpec spec = registry.bean_type(type)->spec();
    definitions.set("bean." + type, endpoint_parameters(spec));
    Object is_type;
    is_type.set("enum", List{Value(type), Value("#class:" + type)});
    Object has_type;
    has_type.set("type", std::move(is_type));
    Object condition;
    condition.set("properties", std::move(has_type));
    Object consequence;
    Object inner;
    inner.set("properties", reference("bean." + type));
    consequence.set("properties", std::move(inner));
    Object rule;
    rule.set("if", std::move(condition));
    rule.set("then", std::move(consequence));
    conditions.emplace_back(std::move(rule));
  }
  if (!conditions.empty()) out.set("allOf", std::move(conditions));
  return out;
}

Value items(const Registry& registry, Object& definitions) {
  Object out;
  out.set("from", reference("from"));
  Value route =
      with_property(schema::node(route_spec()), "errorHandler", reference("errorHandler"), false);
  out.set("route", with_property(std::move(route), "from", reference("from"), true));
  out.set("onException", schema::node(on_exception_spec()));
  out.set("errorHandler", reference("errorHandler"));
  out.set("deadLetterChannel", schema::node(dead_letter_channel_spec()));
  out.set("routeConfiguration", with_property(schema::node(route_configuration_spec()),
                                              "errorHandler", reference("errorHandler"), false));
  out.set("beans", list_of(bean(registry, definitions)));
  out.set("rest", schema::node(rest_spec()));
  out.set("restConfiguration", schema::node(rest_configuration_spec()));
  return single(std::move(out));
}

}  // namespace

std::string route_file_schema(const Registry& registry) {
  Object definitions;
  Object steps;
  for (const std::string& name : registry.step_names()) {
    definitions.set("step." + name, schema::node(registry.step(name)->spec()));
    steps.set(name, reference("step." + name));
  }
  List schemes;
  for (const std::string& scheme : registry.component_names()) {
    const ComponentInfo& info = *registry.component(scheme);
    definitions.set("endpoint." + scheme, endpoint_parameters(info.spec()));
    schemes.push_back(when_scheme(scheme, "endpoint." + scheme));
    for (const std::string& alias : info.aliases)
      schemes.push_back(when_scheme(alias, "endpoint." + scheme));
  }
  Object endpoint;
  if (!schemes.empty()) endpoint.set("allOf", std::move(schemes));
  definitions.set("item", items(registry, definitions));
  definitions.set("from", schema::node(from_spec()));
  definitions.set("errorHandler", error_handler());
  definitions.set("step", single(std::move(steps)));
  Object list;
  list.set("type", List{Value("array"), Value("null")});
  list.set("items", reference("step"));
  definitions.set("steps", std::move(list));
  definitions.set("endpoint", std::move(endpoint));
  definitions.set("expression", schema::expression());
  definitions.set("language", language());

  Object out;
  out.set("$schema", "https://json-schema.org/draft/2020-12/schema");
  out.set("title", "Dromedary route file");
  out.set("type", "array");
  out.set("items", reference("item"));
  out.set("$defs", std::move(definitions));
  return to_json_pretty(out) + "\n";
}

}  // namespace drom
