#include "config/option_value.hpp"
#include "drom/expr/expression.hpp"
#include "dsl/reference.hpp"

namespace drom {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

std::string type_cell(const OptionSpec& option) {
  switch (option.type) {
    case OptionType::text: return "text";
    case OptionType::integer: return "integer";
    case OptionType::number: return "number";
    case OptionType::boolean: return "boolean";
    case OptionType::duration: return "duration";
    case OptionType::size: return "size";
    case OptionType::list: return "list";
    case OptionType::expression: return "expression";
    case OptionType::predicate: return "predicate";
    case OptionType::reference: return "bean name";
    case OptionType::enumeration: break;
  }
  std::string out;
  for (const std::string& value : option.values) out += (out.empty() ? "" : ", ") + code(value);
  return out;
}

std::string doc_cell(const OptionSpec& option) {
  std::string out = cell(option.doc);
  if (option.minimum != INT64_MIN && option.minimum > 0)
    out += " At least " + show_number(option.type, option.minimum) + ".";
  if (option.maximum != INT64_MAX)
    out += " At most " + show_number(option.type, option.maximum) + ".";
  if (!option.example.empty()) out += " Example: " + code(option.example) + ".";
  if (option.secret) out += " Secret: never printed.";
  return out;
}

void append_options(std::string& out, const std::vector<OptionSpec>& options) {
  out += "| Option | Type | Default | What it does |\n|---|---|---|---|\n";
  for (const OptionSpec& option : options) {
    const std::string fallback = option.required ? "**required**" : code(option.fallback);
    out += "| " + code(option.name) + (option.path ? " (path)" : "") + " | " + type_cell(option) +
           " | " + fallback + " | " + doc_cell(option) + " |\n";
  }
}

void append_body(std::string& out, const ConfigSpec& spec, const std::string& level) {
  if (!spec.options.empty()) {
    out += "\n";
    append_options(out, spec.options);
  }
  if (!spec.inline_expression.empty()) {
    out += "\nThe expression may stand inline, by its language:";
    for (const std::string& language : expression_languages()) out += " " + code(language);
    out += ".\n";
  }
  if (spec.parameters) out += "\n`parameters` holds the options of the endpoint.\n";
  if (spec.steps != StepsRule::none) out += "\n`steps` holds a list of steps.\n";
  for (const ConfigSpec& clause : spec.clauses) {
    out += "\n" + level + " " + clause.name + "\n\n" + clause.doc +
           (clause.repeat ? " May stand several times, as a list.\n" : "\n");
    append_body(out, clause, level + "#");
  }
}

std::string direction(const ConfigSpec& spec) {
  if (spec.consumes && spec.produces) return "as source (`from`) and as target (`to`)";
  return spec.consumes ? "as source (`from`) only" : "as target (`to`) only";
}

}  // namespace

std::string reference_markdown(const ReferenceEntry& entry) {
  const ConfigSpec& spec = entry.spec;
  std::string out = "# " + (spec.title.empty() ? spec.name : spec.title) + "\n\n";
  if (spec.title != spec.name) out += "`" + spec.name + "`\n\n";
  out += spec.doc + "\n";
  if (entry.kind == ReferenceKind::component) {
    out += "\nSyntax: `" + spec.syntax + "`, " + direction(spec) + ".\n";
    if (spec.free_parameters) out += "\nFurther parameters are sent on.\n";
  }
  if (entry.kind == ReferenceKind::bean)
    out += "\nA bean of type `" + spec.name + "`; the options stand under `properties`.\n";
  if (!entry.aliases.empty()) {
    out += "\nAlso known as";
    for (size_t i = 0; i < entry.aliases.size(); ++i)
      out += (i > 0 ? ", `" : " `") + entry.aliases[i] + "`";
    out += ".\n";
  }
  if (!spec.scalar.empty()) out += "\nShort form: `" + spec.name + ": " + spec.scalar + "`.\n";
  append_body(out, spec, "##");
  if (!spec.example.empty()) {
    out += "\n## Example\n\n```yaml\n" + spec.example;
    if (!spec.example.ends_with('\n')) out += '\n';
    out += "```\n";
  }
  return out;
}

}  // namespace drom
