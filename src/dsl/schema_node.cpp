#include "dsl/schema_node.hpp"

#include "drom/expr/expression.hpp"
#include "drom/spi/route_specs.hpp"

namespace drom::schema {
namespace {

constexpr const char* kPlaceholder = "\\{\\{.*\\}\\}";

Object types(const std::vector<std::string>& names) {
  Object out;
  if (names.size() == 1) {
    out.set("type", names.front());
    return out;
  }
  List list;
  for (const std::string& name : names) list.emplace_back(name);
  out.set("type", std::move(list));
  return out;
}

Object any_of(List choices) {
  Object out;
  out.set("anyOf", std::move(choices));
  return out;
}

Value placeholder() {
  Object out;
  out.set("type", "string");
  out.set("pattern", kPlaceholder);
  return out;
}

Object value_schema(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::integer: return types({"integer", "string"});
    case OptionType::number: return types({"number", "string"});
    case OptionType::boolean: {
      Object flag;
      flag.set("enum", List{Value(true), Value(false), Value("true"), Value("false")});
      return any_of({Value(std::move(flag)), placeholder()});
    }
    case OptionType::duration:
    case OptionType::size: return types({"integer", "string"});
    case OptionType::enumeration: {
      List values;
      for (const std::string& value : spec.values) values.emplace_back(value);
      Object choice;
      choice.set("enum", std::move(values));
      return any_of({Value(std::move(choice)), placeholder()});
    }
    case OptionType::list: {
      Object list;
      list.set("type", "array");
      list.set("items", one_of_types({"string", "number", "boolean"}));
      return any_of({Value(std::move(list)), one_of_types({"string"})});
    }
    case OptionType::expression: return *reference("expression").as_object();
    case OptionType::predicate: return any_of({reference("expression"), one_of_types({"boolean"})});
    case OptionType::reference: return types({"string"});
    case OptionType::text: return types({"string", "number", "boolean"});
  }
  return types({"string"});
}

void add_limits(Object& out, const OptionSpec& spec) {
  if (spec.type != OptionType::integer && spec.type != OptionType::size &&
      spec.type != OptionType::duration)
    return;
  if (spec.minimum != INT64_MIN) out.set("minimum", spec.minimum);
  if (spec.maximum != INT64_MAX) out.set("maximum", spec.maximum);
}

// The object at the end of the path a.b of a.b.c, made where it is not there yet.
Object& nested(Object& properties, std::string_view path) {
  const size_t dot = path.find('.');
  const std::string name(path.substr(0, dot));
  if (!properties.find(name)) {
    Object map = types({"object"});
    map.set("properties", Object());
    map.set("additionalProperties", false);
    properties.set(name, std::move(map));
  }
  Object& inner = properties.find(name)->object().find("properties")->object();
  return dot == std::string_view::npos ? inner : nested(inner, path.substr(dot + 1));
}

void add_option(Object& properties, const OptionSpec& spec) {
  const size_t dot = spec.name.rfind('.');
  if (dot == std::string::npos) {
    properties.set(spec.name, option(spec));
  } else {
    nested(properties, spec.name.substr(0, dot)).set(spec.name.substr(dot + 1), option(spec));
  }
}

bool is_inline(const ConfigSpec& spec, const OptionSpec& option) {
  return !spec.inline_expression.empty() && option.name == spec.inline_expression;
}

// Where an expression is required it may stand inline, by its language.
Value inline_choice(const ConfigSpec& spec) {
  List choices;
  const auto add = [&](const std::string& name) {
    Object choice;
    choice.set("required", List{Value(name)});
    choices.emplace_back(std::move(choice));
  };
  add(spec.inline_expression);
  for (const std::string& language : expression_languages()) add(language);
  return choices;
}

Value clause_schema(const ConfigSpec& clause) {
  Value one = node(clause);
  if (!clause.repeat) return one;
  Object list;
  list.set("type", "array");
  list.set("items", one);
  return any_of({Value(std::move(list)), std::move(one)});
}

Object object_form(const ConfigSpec& spec) {
  Object out = types({"object"});
  Object properties = options(spec.options);
  List required;
  for (const OptionSpec& option : spec.options)
    if (option.required && !is_inline(spec, option)) required.emplace_back(option.name);
  if (!spec.inline_expression.empty())
    for (const std::string& language : expression_languages())
      properties.set(language, reference("language"));
  for (const ConfigSpec& clause : spec.clauses) properties.set(clause.name, clause_schema(clause));
  if (spec.parameters) properties.set("parameters", one_of_types({"object", "null"}));
  if (spec.steps != StepsRule::none) properties.set("steps", reference("steps"));
  if (spec.steps == StepsRule::required) required.emplace_back("steps");
  for (const OptionSpec& option : common_options())
    if (!properties.find(option.name)) properties.set(option.name, schema::option(option));
  out.set("properties", std::move(properties));
  if (!required.empty()) out.set("required", std::move(required));
  for (const OptionSpec& option : spec.options)
    if (option.required && is_inline(spec, option)) out.set("anyOf", inline_choice(spec));
  out.set("additionalProperties", false);
  if (spec.parameters) out.set("allOf", List{reference("endpoint")});
  return out;
}

bool needs_something(const ConfigSpec& spec) {
  if (spec.steps == StepsRule::required) return true;
  for (const OptionSpec& option : spec.options)
    if (option.required) return true;
  return false;
}

}  // namespace

Value reference(const std::string& name) {
  Object out;
  out.set("$ref", "#/$defs/" + name);
  return out;
}

Value one_of_types(const std::vector<std::string>& names) { return types(names); }

Value option(const OptionSpec& spec) {
  Object out = value_schema(spec);
  add_limits(out, spec);
  if (!spec.doc.empty()) out.set("description", spec.doc);
  if (!spec.fallback.empty()) out.set("default", spec.fallback);
  if (!spec.example.empty()) out.set("examples", List{Value(spec.example)});
  if (spec.secret) out.set("writeOnly", true);
  return out;
}

Object options(const std::vector<OptionSpec>& specs) {
  Object out;
  for (const OptionSpec& spec : specs) add_option(out, spec);
  return out;
}

Value node(const ConfigSpec& spec) {
  List forms{Value(object_form(spec))};
  if (!spec.scalar.empty()) forms.push_back(one_of_types({"string", "number", "boolean"}));
  if (!needs_something(spec)) forms.push_back(one_of_types({"null"}));
  Object out;
  if (!spec.title.empty()) out.set("title", spec.title);
  if (!spec.doc.empty()) out.set("description", spec.doc);
  if (forms.size() == 1) {
    for (const auto& [name, value] : *forms.front().as_object()) out.set(name, value);
  } else {
    out.set("anyOf", std::move(forms));
  }
  return out;
}

Value expression() {
  Object properties;
  for (const std::string& language : expression_languages())
    properties.set(language, reference("language"));
  properties.set("expression", reference("expression"));
  Object named = types({"object"});
  Object parts;
  parts.set("language", one_of_types({"string"}));
  parts.set("expression", one_of_types({"string", "number", "boolean"}));
  named.set("properties", std::move(parts));
  named.set("required", List{Value("language"), Value("expression")});
  properties.set("language", std::move(named));
  Object out = types({"object"});
  out.set("properties", std::move(properties));
  out.set("minProperties", 1);
  out.set("maxProperties", 1);
  out.set("additionalProperties", false);
  return out;
}

}  // namespace drom::schema
