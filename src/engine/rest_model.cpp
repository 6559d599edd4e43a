#include "engine/rest_model.hpp"

#include <algorithm>
#include <set>

#include "drom/spi/route_specs.hpp"
#include "engine/rest_contract.hpp"

namespace drom {
namespace {

const ConfigSpec& clause_of(const ConfigSpec& spec, std::string_view name) {
  for (const ConfigSpec& clause : spec.clauses)
    if (clause.name == name) return clause;
  return spec;
}

bool disabled(const StepSpec& node) { return node.text("disabled") == "true"; }

class ModelReader {
 public:
  ModelReader(const PropertySource& properties, Diagnostics& diagnostics)
      : properties_(properties), diagnostics_(diagnostics), rest_(rest_spec()) {}

  RestModel read(const ContextSpec& spec) {
    spec_ = &spec;
    read_configuration(spec.rest_configuration);
    for (const StepSpec& rest : spec.rests)
      if (!disabled(rest)) read_service(rest);
    return std::move(model_);
  }

 private:
  Config validate(const ConfigSpec& spec, const StepSpec& node) {
    const auto declares = [](const std::vector<OptionSpec>& specs, const OptionText& option) {
      return std::ranges::any_of(specs, [&](const OptionSpec& o) { return o.name == option.name; });
    };
    std::vector<OptionText> own;
    for (const OptionText& option : node.options)
      if (declares(spec.options, option) || !declares(common_options(), option))
        own.push_back(option);
    return Config::validate(spec, own, node.where, properties_, diagnostics_);
  }

  // What the reader leaves as written: id and description.
  std::string common(const StepSpec& node, std::string_view name) {
    return resolve_placeholders(node.text(name), properties_, node.where, diagnostics_)
        .value_or("");
  }

  template <class Visit>
  void each(const ConfigSpec& spec, const StepSpec& node, std::string_view name, Visit visit) {
    const ConfigSpec& of = clause_of(spec, name);
    for (const StepSpec& clause : node.clauses)
      if (clause.name == name) visit(of, clause, validate(of, clause));
  }

  Pairs pairs(const ConfigSpec& spec, const StepSpec& node, std::string_view name) {
    Pairs out;
    each(spec, node, name, [&](const ConfigSpec&, const StepSpec&, const Config& pair) {
      out.emplace_back(pair.text("key"), pair.text("value"));
    });
    return out;
  }

  Pairs known_pairs(const ConfigSpec& spec, const StepSpec& node, std::string_view name,
                    const std::vector<std::string>& known) {
    each(spec, node, name, [&](const ConfigSpec&, const StepSpec&, const Config& pair) {
      const std::string& key = pair.text("key");
      if (key.empty() || std::ranges::find(known, key) != known.end()) return;
      diagnostics_.error("E0318", pair.where("key"),
                         "unknown key '" + key + "' for " + std::string(name),
                         did_you_mean(key, known));
    });
    return pairs(spec, node, name);
  }

  void read_configuration(const StepSpec& node) {
    const ConfigSpec spec = rest_configuration_spec();
    model_.configuration = validate(spec, node);
    model_.context_path = join_paths(model_.configuration.text("contextPath"), "");
    if (model_.configuration.given("apiContextPath"))
      model_.api_path =
          join_paths(model_.context_path, model_.configuration.text("apiContextPath"));
    model_.api_properties = known_pairs(
        spec, node, "apiProperty",
        {"api.title", "api.version", "api.description", "api.termsOfService", "api.contact.name",
         "api.contact.email", "api.contact.url", "api.license.name", "api.license.url"});
    model_.cors_headers =
        known_pairs(spec, node, "corsHeaders",
                    {"Access-Control-Allow-Origin", "Access-Control-Allow-Methods",
                     "Access-Control-Allow-Headers", "Access-Control-Max-Age",
                     "Access-Control-Expose-Headers", "Access-Control-Allow-Credentials"});
  }

  void read_service(const StepSpec& rest) {
    const Config service = validate(rest_, rest);
    read_schemes(rest);
    std::vector<Config> security;
    each(rest_, rest, "securityRequirements", [&](const ConfigSpec&, const StepSpec&, Config one) {
      security.push_back(std::move(one));
    });
    for (const StepSpec& verb : rest.clauses) {
      const auto& verbs = rest_verbs();
      if (std::ranges::find(verbs, verb.name) == verbs.end() || disabled(verb)) continue;
      read_operation(service, security, verb);
    }
    each(rest_, rest, "openApi",
         [&](const ConfigSpec&, const StepSpec& node, const Config& options) {
           if (options.given("specification")) read_contract_of(service, node, options);
         });
  }

  // contextPath stands for the path of the document's server.
  void read_contract_of(const Config& service, const StepSpec& node, const Config& options) {
    std::optional<RestContract> contract = read_contract(options, diagnostics_);
    if (!contract) return;
    const std::string base = model_.context_path.empty() ? contract->base_path : "";
    RestModel::Contract kept{std::move(contract->rest), std::move(contract->document), "",
                             node.where};
    if (options.given("apiContextPath"))
      kept.path =
          join_paths(model_.context_path + join_paths(base, ""), options.text("apiContextPath"));
    std::string missing;
    for (StepSpec& verb : kept.rest->clauses) {
      const std::string target(verb.text("id"));
      if (!serves_direct(target)) {
        missing += (missing.empty() ? "" : ", ") + target;
        continue;
      }
      for (OptionText& option : verb.options)
        if (option.name == "path") option.text = join_paths(base, option.text);
      read_operation(service, {}, verb);
    }
    if (!missing.empty() && options.text("missingOperation") == "fail")
      diagnostics_.error("E0319", options.where("specification"),
                         "no routes for the operations " + missing,
                         "write routes from `direct:` and these names, or `missingOperation: "
                         "ignore`");
    model_.contracts.push_back(std::move(kept));
  }

  bool serves_direct(const std::string& name) const {
    return std::ranges::any_of(spec_->routes, [&](const RouteSpec& route) {
      const std::string_view uri = route.from.text("uri");
      if (uri.starts_with("direct:")) return uri.substr(7, uri.find('?') - 7) == name;
      return uri == "direct" &&
             std::ranges::any_of(route.from.parameters, [&](const OptionText& parameter) {
               return parameter.name == "name" && parameter.text == name;
             });
    });
  }

  void read_schemes(const StepSpec& rest) {
    const ConfigSpec& holder = clause_of(rest_, "securityDefinitions");
    for (const StepSpec& definitions : rest.clauses) {
      if (definitions.name != "securityDefinitions") continue;
      for (const StepSpec& node : definitions.clauses) {
        const ConfigSpec& spec = clause_of(holder, node.name);
        RestModel::Scheme scheme{node.name, validate(spec, node), {}};
        if (node.name == "oauth2") scheme.scopes = pairs(spec, node, "scopes");
        model_.schemes.push_back(std::move(scheme));
      }
    }
  }

  void read_operation(const Config& service, const std::vector<Config>& security,
                      const StepSpec& verb) {
    const ConfigSpec& spec = clause_of(rest_, verb.name);
    RestOperation out;
    out.options = validate(spec, verb);
    out.spec = &verb;
    out.method = verb.name;
    out.path = join_paths(service.text("path"), out.options.text("path"));
    if (out.path.empty()) out.path = "/";
    out.description = common(verb, "description");
    out.tag = service.text("tag");
    const auto chosen = [&](const char* name) -> const Config& {
      if (out.options.given(name)) return out.options;
      return service.given(name) ? service : model_.configuration;
    };
    const auto text = [&](const char* name) {
      return (out.options.given(name) ? out.options : service).text(name);
    };
    out.consumes = text("consumes");
    out.produces = text("produces");
    out.json = chosen("bindingMode").text("bindingMode") == "json";
    out.cors = chosen("enableCORS").flag("enableCORS");
    out.validate = chosen("clientRequestValidation").flag("clientRequestValidation");
    const Config& documented = out.options.given("apiDocs") ? out.options : service;
    out.documented = !documented.given("apiDocs") || documented.flag("apiDocs");
    out.route_id = route_id(out);
    out.operation_id = common(verb, "id");
    if (out.operation_id.empty()) out.operation_id = out.route_id;
    read_params(spec, verb, out);
    read_responses(spec, verb, out);
    out.security = security;
    each(spec, verb, "security", [&](const ConfigSpec&, const StepSpec&, Config one) {
      out.security.push_back(std::move(one));
    });
    check_target(verb);
    model_.operations.push_back(std::move(out));
  }

  // "rest-get-orders-id": names the route in logs, metrics and the admin interface.
  std::string route_id(const RestOperation& operation) {
    if (operation.options.given("routeId")) return operation.options.text("routeId");
    std::string base = "rest-" + operation.method;
    for (const char c : operation.path) {
      const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (word)
        base += c;
      else if (!base.ends_with('-'))
        base += '-';
    }
    while (base.ends_with('-')) base.pop_back();
    std::string out = base;
    for (int i = 2; !route_ids_.insert(out).second; ++i) out = base + "-" + std::to_string(i);
    return out;
  }

  RestParam read_param(const ConfigSpec& spec, const StepSpec& node, Config options) {
    RestParam out;
    out.options = std::move(options);
    each(spec, node, "allowableValues", [&](const ConfigSpec&, const StepSpec&, const Config& one) {
      out.allowed.push_back(one.text("value"));
    });
    if (node.name != "param") return out;
    out.examples = pairs(spec, node, "examples");
    out.has_default = out.options.given("defaultValue");
    return out;
  }

  void read_params(const ConfigSpec& spec, const StepSpec& verb, RestOperation& out) {
    const std::vector<std::string> names = path_names(out.path);
    each(spec, verb, "param", [&](const ConfigSpec& of, const StepSpec& node, Config options) {
      const std::string name = options.text("name");
      if (options.text("type") == "path" && !name.empty() &&
          std::ranges::find(names, name) == names.end())
        diagnostics_.error("E0317", options.where("name"),
                           "the path '" + out.path + "' has no {" + name + "}",
                           names.empty() ? "write `type: query`, or add it to the path"
                                         : did_you_mean(name, names));
      out.params.push_back(read_param(of, node, std::move(options)));
    });
  }

  void read_responses(const ConfigSpec& spec, const StepSpec& verb, RestOperation& out) {
    each(spec, verb, "responseMessage",
         [&](const ConfigSpec& of, const StepSpec& node, Config options) {
           RestResponse response;
           response.options = std::move(options);
           each(of, node, "header", [&](const ConfigSpec& header, const StepSpec& inner, Config o) {
             response.headers.push_back(read_param(header, inner, std::move(o)));
           });
           response.examples = pairs(of, node, "examples");
           out.responses.push_back(std::move(response));
         });
  }

  void check_target(const StepSpec& verb) {
    const auto targets =
        std::ranges::count_if(verb.clauses, [](const StepSpec& c) { return c.name == "to"; });
    if (targets + (verb.has_steps ? 1 : 0) == 1) return;
    diagnostics_.error("E0316", verb.where,
                       "the operation '" + verb.name +
                           (targets == 0 ? "' has no target" : "' has more than one target"),
                       "write `to: direct:name`, or `steps:`");
  }

  const PropertySource& properties_;
  Diagnostics& diagnostics_;
  ConfigSpec rest_;
  const ContextSpec* spec_ = nullptr;
  RestModel model_;
  std::set<std::string> route_ids_;
};

}  // namespace

RestModel read_rest_model(const ContextSpec& spec, const PropertySource& properties,
                          Diagnostics& diagnostics) {
  return ModelReader(properties, diagnostics).read(spec);
}

std::string join_paths(std::string_view first, std::string_view second) {
  std::string out;
  for (std::string_view part : {first, second}) {
    while (part.starts_with('/')) part.remove_prefix(1);
    while (part.ends_with('/')) part.remove_suffix(1);
    if (!part.empty()) out.append("/").append(part);
  }
  return out;
}

std::vector<std::string> path_names(std::string_view path) {
  std::vector<std::string> out;
  for (size_t open = path.find('{'); open != std::string_view::npos; open = path.find('{', open)) {
    const size_t close = path.find('}', open);
    if (close == std::string_view::npos) break;
    out.emplace_back(path.substr(open + 1, close - open - 1));
    open = close;
  }
  return out;
}

}  // namespace drom
