#include "engine/rest_check.hpp"

#include <algorithm>

#include "drom/base/json.hpp"

namespace drom {
namespace {

struct ParamRule {
  std::string name;
  std::string kind;  // "query", "header", "path"
  bool required = false;
  std::vector<std::string> allowed;
  std::optional<std::string> fallback;
};

struct Rules {
  std::vector<ParamRule> params;
  bool validate = false;
  bool needs_body = false;
  bool json = false;
};

bool is_empty(const Value& body) {
  return body.is_null() || ((body.is_text() || body.is_bytes()) && body.raw().empty());
}

// Of the parameter itself: a header of the request or of its query.
std::string complaint(const ParamRule& rule, const Headers& headers) {
  const Value* const value = headers.find(rule.name);
  if (!value)
    return rule.required ? "the " + rule.kind + " parameter '" + rule.name + "' is missing" : "";
  if (rule.allowed.empty() ||
      std::ranges::find(rule.allowed, value->to_text()) != rule.allowed.end())
    return {};
  return "the " + rule.kind + " parameter '" + rule.name + "' has a value that is not allowed";
}

// False: answered.
bool bind_json(Exchange& exchange) {
  Message& message = exchange.message;
  if (is_empty(message.body) || !(message.body.is_text() || message.body.is_bytes())) return true;
  const std::string_view type = message.headers.text("Content-Type");
  if (!type.empty() && type.find("json") == std::string_view::npos) return true;
  Result<Value> parsed = parse_json(message.body.raw());
  if (!parsed) {
    refuse_request(exchange, 400, "the body is no JSON: " + parsed.error().what);
    return false;
  }
  message.body = std::move(*parsed);
  return true;
}

void apply(const Rules& rules, Exchange& exchange) {
  Headers& headers = exchange.message.headers;
  for (const ParamRule& rule : rules.params)
    if (rule.fallback && !headers.find(rule.name)) headers.set(rule.name, Value(*rule.fallback));
  if (rules.validate) {
    for (const ParamRule& rule : rules.params) {
      const std::string wrong = complaint(rule, headers);
      if (!wrong.empty()) return refuse_request(exchange, 400, wrong);
    }
    if (rules.needs_body && is_empty(exchange.message.body))
      return refuse_request(exchange, 400, "the body is missing");
  }
  if (rules.json) bind_json(exchange);
}

}  // namespace

ProcessFunction make_rest_check(const RestOperation& operation) {
  Rules rules;
  rules.validate = operation.validate;
  rules.json = operation.json;
  bool defaults = false;
  for (const RestParam& param : operation.params) {
    const std::string& kind = param.options.text("type");
    if (kind == "body" || kind == "formData") {
      rules.needs_body = rules.needs_body || param.options.flag("required");
      continue;
    }
    ParamRule rule{param.options.text("name"), kind, param.options.flag("required"), param.allowed,
                   std::nullopt};
    if (kind != "path" && param.options.given("defaultValue"))
      rule.fallback = param.options.text("defaultValue");
    defaults = defaults || rule.fallback;
    rules.params.push_back(std::move(rule));
  }
  const bool checks = rules.validate && (rules.needs_body || !rules.params.empty());
  if (!defaults && !checks && !rules.json) return {};
  return [rules = std::move(rules)](Exchange& exchange) { apply(rules, exchange); };
}

ProcessFunction make_rest_cleanup(const RestOperation& operation) {
  Pairs defaults;
  for (const RestParam& param : operation.params)
    if (param.has_default)
      defaults.emplace_back(param.options.text("name"), param.options.text("defaultValue"));
  if (defaults.empty()) return {};
  return [defaults = std::move(defaults)](Exchange& exchange) {
    Headers& headers = exchange.message.headers;
    for (const auto& [name, value] : defaults)
      if (headers.text(name) == value) headers.erase(name);
  };
}

void refuse_request(Exchange& exchange, int status, std::string_view message) {
  Object details;
  details.append("kind", "request");
  details.append("message", Value(message));
  Object body;
  body.append("error", Value(std::move(details)));
  exchange.message.body = Value(to_json(Value(std::move(body))));
  exchange.message.headers.set("CamelHttpResponseCode", status);
  exchange.message.headers.set("Content-Type", "application/json");
  exchange.stop();
}

}  // namespace drom
