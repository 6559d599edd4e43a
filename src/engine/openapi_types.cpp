#include "engine/openapi_types.hpp"

namespace drom {
namespace {

struct KnownType {
  std::string_view name;
  std::string_view type;
  std::string_view format;
};
constexpr KnownType kTypes[] = {
    {"string", "string", ""},       {"integer", "integer", ""},      {"int", "integer", "int32"},
    {"long", "integer", "int64"},   {"number", "number", ""},        {"float", "number", "float"},
    {"double", "number", "double"}, {"boolean", "boolean", ""},      {"object", "object", ""},
    {"file", "string", "binary"},   {"byte", "string", "byte"},      {"date", "string", "date"},
    {"array", "array", ""},         {"Integer", "integer", "int32"}, {"String", "string", ""},
    {"Long", "integer", "int64"},   {"Boolean", "boolean", ""},      {"Double", "number", "double"},
};

Object array_of(Value items) {
  Object out;
  out.set("type", "array");
  out.set("items", std::move(items));
  return out;
}

// A value as its type writes it: 7, not "7".
Value typed(const std::string& text, std::string_view type) {
  const Value value(text);
  if (type == "integer")
    if (const auto number = value.to_int()) return Value(*number);
  if (type == "number")
    if (const auto number = value.to_double()) return Value(*number);
  if (type == "boolean")
    if (const auto flag = value.to_bool()) return Value(*flag);
  return value;
}

}  // namespace

Value OpenapiTypes::schema(std::string name) {
  if (name.ends_with("[]")) return Value(array_of(schema(name.substr(0, name.size() - 2))));
  if (name.starts_with("java.lang.")) name.erase(0, 10);
  Object out;
  if (name.empty()) return Value(std::move(out));
  for (const KnownType& known : kTypes) {
    if (known.name != name) continue;
    out.set("type", known.type);
    if (!known.format.empty()) out.set("format", known.format);
    return Value(std::move(out));
  }
  const std::string simple = name.substr(name.rfind('.') + 1);
  if (!named_.find(simple)) {
    Object type;
    type.set("type", "object");
    named_.set(simple, std::move(type));
  }
  out.set("$ref", "#/components/schemas/" + simple);
  return Value(std::move(out));
}

Value OpenapiTypes::of_param(const RestParam& param) {
  const Config& options = param.options;
  const std::string& name = options.text("dataType");
  const bool array = name == "array";
  Value element = schema(array ? options.text("arrayType") : name);
  Object& of = element.object();
  const Value* const found = of.find("type");
  const std::string type(found ? found->raw() : std::string_view());
  if (options.given("dataFormat")) of.set("format", options.text("dataFormat"));
  List allowed;
  for (const std::string& text : param.allowed) allowed.push_back(typed(text, type));
  if (!allowed.empty()) of.set("enum", std::move(allowed));
  Value out = array ? Value(array_of(std::move(element))) : std::move(element);
  // Headers of an answer have no default.
  if (param.has_default)
    out.object().set("default", typed(options.text("defaultValue"), array ? "" : type));
  return out;
}

Object security_scheme(const RestModel::Scheme& scheme) {
  const Config& options = scheme.options;
  Object out;
  const auto some = [&](const char* name, const std::string& text) {
    if (!text.empty()) out.set(name, text);
  };
  if (scheme.kind == "apiKey") {
    out.set("type", "apiKey");
    out.set("name", options.text("name"));
    out.set("in", options.flag("inQuery")    ? "query"
                  : options.flag("inCookie") ? "cookie"
                                             : "header");
  } else if (scheme.kind == "basicAuth" || scheme.kind == "bearerToken") {
    const bool bearer = scheme.kind == "bearerToken";
    out.set("type", "http");
    out.set("scheme", bearer ? "bearer" : "basic");
    if (bearer) some("bearerFormat", options.text("format"));
  } else if (scheme.kind == "openIdConnect") {
    out.set("type", "openIdConnect");
    out.set("openIdConnectUrl", options.text("url"));
  } else if (scheme.kind == "mutualTLS") {
    out.set("type", "mutualTLS");
  } else {
    Object flow;
    for (const char* name : {"authorizationUrl", "tokenUrl", "refreshUrl"})
      if (options.given(name)) flow.set(name, options.text(name));
    Object scopes;
    for (const auto& [key, value] : scheme.scopes) scopes.set(key, value);
    flow.set("scopes", std::move(scopes));
    std::string name = options.text("flow");
    if (name == "application") name = "clientCredentials";
    if (name == "accessCode") name = "authorizationCode";
    if (name.empty()) name = options.given("tokenUrl") ? "clientCredentials" : "implicit";
    Object flows;
    flows.set(name, std::move(flow));
    out.set("type", "oauth2");
    out.set("flows", std::move(flows));
  }
  some("description", options.text("description"));
  return out;
}

}  // namespace drom
