#include "engine/openapi.hpp"

#include <algorithm>

#include "drom/base/json.hpp"
#include "engine/openapi_types.hpp"

namespace drom {
namespace {

std::string property_of(const RestModel& model, std::string_view key, std::string fallback = {}) {
  for (const auto& [name, value] : model.api_properties)
    if (name == key) return value;
  return fallback;
}

void set_some(Object& out, const char* name, const std::string& text) {
  if (!text.empty()) out.set(name, text);
}

Object info(const RestModel& model) {
  Object out;
  out.set("title", property_of(model, "api.title", "API"));
  set_some(out, "description", property_of(model, "api.description"));
  set_some(out, "termsOfService", property_of(model, "api.termsOfService"));
  Object contact;
  for (const char* part : {"name", "url", "email"})
    set_some(contact, part, property_of(model, std::string("api.contact.") + part));
  if (!contact.empty()) out.set("contact", std::move(contact));
  Object license;
  for (const char* part : {"name", "url"})
    set_some(license, part, property_of(model, std::string("api.license.") + part));
  if (!license.empty()) out.set("license", std::move(license));
  out.set("version", property_of(model, "api.version", "1.0.0"));
  return out;
}

List servers(const RestModel& model) {
  const Config& options = model.configuration;
  std::string url;
  if (options.given("host") || options.given("port")) {
    const std::string& host = options.text("host");
    url = options.text("scheme") + "://" + (host.empty() ? "localhost" : host);
    if (options.given("port")) url += ":" + std::to_string(options.integer("port"));
  }
  url += model.context_path;
  Object server;
  server.set("url", url.empty() ? "/" : url);
  return List{Value(std::move(server))};
}

// The media types of `list`, each with the same content.
Object content(const std::string& list, const Value& schema, const Pairs& examples = {}) {
  Object out;
  std::string_view rest = list.empty() ? std::string_view("application/json") : list;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    std::string_view type = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (type.starts_with(' ')) type.remove_prefix(1);
    while (type.ends_with(' ')) type.remove_suffix(1);
    if (type.empty()) continue;
    Object form;
    form.set("schema", schema);
    Object named;
    for (const auto& [key, value] : examples) {
      Object one;
      one.set("value", value);
      if (key == type || key.find('/') == std::string::npos)
        named.set(key.empty() || key == type ? "example" : key, std::move(one));
    }
    if (!named.empty()) form.set("examples", std::move(named));
    out.set(type, std::move(form));
  }
  return out;
}

class Writer {
 public:
  explicit Writer(const RestModel& model) : model_(model) {}

  Value write() {
    Object out;
    out.set("openapi", "3.0.3");
    out.set("info", info(model_));
    out.set("servers", servers(model_));
    Object paths;
    for (const RestOperation& operation : model_.operations)
      if (operation.documented) add(paths, operation);
    out.set("paths", std::move(paths));
    Object components;
    if (!types_.named().empty()) components.set("schemas", types_.named());
    Object schemes;
    for (const RestModel::Scheme& scheme : model_.schemes)
      schemes.set(scheme.options.text("key"), security_scheme(scheme));
    if (!schemes.empty()) components.set("securitySchemes", std::move(schemes));
    if (!components.empty()) out.set("components", std::move(components));
    return out;
  }

 private:
  void add(Object& paths, const RestOperation& operation) {
    if (!paths.find(operation.path)) paths.append(operation.path, Value(Object()));
    paths.find(operation.path)->object().set(operation.method, describe(operation));
  }

  Object describe(const RestOperation& operation) {
    Object out;
    if (!operation.tag.empty()) out.set("tags", List{Value(operation.tag)});
    set_some(out, "summary", operation.description);
    out.set("operationId", operation.operation_id);
    List parameters = parameters_of(operation);
    if (!parameters.empty()) out.set("parameters", std::move(parameters));
    Object body = request_body(operation);
    if (!body.empty()) out.set("requestBody", std::move(body));
    out.set("responses", responses(operation));
    if (operation.options.flag("deprecated")) out.set("deprecated", true);
    List security;
    for (const Config& need : operation.security) {
      List scopes;
      for (const std::string& scope : need.list("scopes")) scopes.emplace_back(scope);
      Object one;
      one.set(need.text("key"), std::move(scopes));
      security.emplace_back(std::move(one));
    }
    if (!security.empty()) out.set("security", std::move(security));
    return out;
  }

  // Those of the path are always there, described or not.
  List parameters_of(const RestOperation& operation) {
    List out;
    for (const std::string& name : path_names(operation.path)) {
      const auto same = [&](const RestParam& param) {
        return param.options.text("type") == "path" && param.options.text("name") == name;
      };
      if (std::ranges::any_of(operation.params, same)) continue;
      Object parameter;
      parameter.set("name", name);
      parameter.set("in", "path");
      parameter.set("required", true);
      parameter.set("schema", types_.schema("string"));
      out.emplace_back(std::move(parameter));
    }
    for (const RestParam& param : operation.params) {
      const std::string& kind = param.options.text("type");
      if (kind == "path" || kind == "query" || kind == "header") out.push_back(parameter(param));
    }
    return out;
  }

  Value parameter(const RestParam& param) {
    const Config& options = param.options;
    const std::string& kind = options.text("type");
    Object out;
    out.set("name", options.text("name"));
    out.set("in", kind);
    set_some(out, "description", options.text("description"));
    out.set("required", kind == "path" || options.flag("required"));
    if (options.text("dataType") == "array") {
      const std::string& form = options.text("collectionFormat");
      if (kind == "query") {
        out.set("style", form == "pipes" ? "pipeDelimited"
                         : form == "ssv" ? "spaceDelimited"
                                         : "form");
        out.set("explode", form == "multi");
      }
    }
    out.set("schema", types_.of_param(param));
    Object examples;
    for (const auto& [key, value] : param.examples) {
      Object one;
      one.set("value", value);
      examples.set(key.empty() ? "example" : key, std::move(one));
    }
    if (!examples.empty()) out.set("examples", std::move(examples));
    return out;
  }

  Object request_body(const RestOperation& operation) {
    Object fields;
    List needed;
    Object out;
    for (const RestParam& param : operation.params) {
      const Config& options = param.options;
      if (options.text("type") == "formData") {
        fields.set(options.text("name"), types_.of_param(param));
        if (options.flag("required")) needed.emplace_back(options.text("name"));
      } else if (options.text("type") == "body") {
        set_some(out, "description", options.text("description"));
        out.set("required", options.flag("required"));
        const Value schema = operation.options.given("type")
                                 ? types_.schema(operation.options.text("type"))
                                 : types_.of_param(param);
        out.set("content", content(operation.consumes, schema, param.examples));
      }
    }
    if (!fields.empty()) {
      Object form;
      form.set("type", "object");
      form.set("properties", std::move(fields));
      if (!needed.empty()) form.set("required", std::move(needed));
      const bool given = !operation.consumes.empty();
      out.set("content", content(given ? operation.consumes : "application/x-www-form-urlencoded",
                                 Value(std::move(form))));
    } else if (out.empty() && operation.options.given("type")) {
      out.set("content",
              content(operation.consumes, types_.schema(operation.options.text("type"))));
    }
    return out;
  }

  Object responses(const RestOperation& operation) {
    Object out;
    for (const RestResponse& response : operation.responses) {
      const Config& options = response.options;
      Object one;
      one.set("description", options.text("message"));
      Object headers;
      for (const RestParam& header : response.headers) {
        Object form;
        set_some(form, "description", header.options.text("description"));
        form.set("schema", types_.of_param(header));
        headers.set(header.options.text("name"), std::move(form));
      }
      if (!headers.empty()) one.set("headers", std::move(headers));
      const bool good = options.text("code").starts_with("2");
      std::string type = options.text("responseModel");
      if (type.empty() && good) type = operation.options.text("outType");
      if (!type.empty() || !response.examples.empty())
        one.set("content", content(operation.produces, types_.schema(type), response.examples));
      out.set(options.text("code"), std::move(one));
    }
    if (!out.empty()) return out;
    Object one;
    one.set("description", "success");
    if (operation.options.given("outType"))
      one.set("content",
              content(operation.produces, types_.schema(operation.options.text("outType"))));
    out.set("200", std::move(one));
    return out;
  }

  const RestModel& model_;
  OpenapiTypes types_;
};

bool is_plain_key(const std::string& key) {
  if (key.empty() || key.size() < 4) return false;  // no, yes, on, y ... mean something
  if (key == "true" || key == "null" || key == "false") return false;
  return std::ranges::all_of(
      key, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

void append_yaml(std::string& out, const Value& value, size_t depth);

void append_entry(std::string& out, const Value& value, size_t depth) {
  const Object* const object = value.as_object();
  const List* const list = value.as_list();
  if ((object && !object->empty()) || (list && !list->empty())) {
    out += '\n';
    append_yaml(out, value, depth);
  } else {
    out.append(" ").append(to_json(value)).append("\n");
  }
}

void append_yaml(std::string& out, const Value& value, size_t depth) {
  const std::string indent(depth * 2, ' ');
  if (const Object* object = value.as_object()) {
    for (const auto& [key, inner] : *object) {
      out.append(indent).append(is_plain_key(key) ? key : to_json(Value(key))).append(":");
      append_entry(out, inner, depth + 1);
    }
  } else if (const List* list = value.as_list()) {
    for (const Value& inner : *list) {
      out.append(indent).append("-");
      append_entry(out, inner, depth + 1);
    }
  }
}

}  // namespace

Value make_openapi(const RestModel& model) { return Writer(model).write(); }

std::string to_yaml(const Value& document) {
  std::string out;
  append_yaml(out, document, 0);
  return out;
}

}  // namespace drom
