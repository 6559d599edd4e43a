#include "dsl/yaml_expression.hpp"

#include <algorithm>

#include "config/option_value.hpp"
#include "drom/expr/expression.hpp"
#include "dsl/yaml_names.hpp"

namespace drom {
namespace {

bool is_ours(std::string_view name) {
  const auto& known = expression_languages();
  return name == "csimple" || std::find(known.begin(), known.end(), name) != known.end();
}

// What may stand at every node and says nothing to the engine here.
bool is_remark(std::string_view name) {
  return name == "id" || name == "description" || name == "note";
}

void unknown_language(const std::string& name, const Location& where, YamlContext& context) {
  if (is_camel_language(name)) {
    context.not_supported(where, "the language", name);
  } else {
    context.error("E0307", where, "unknown expression language '" + name + "'",
                  did_you_mean(name, expression_languages()));
  }
}

// The map form: the text and Camel's options, of which `trim` is the one that matters here.
std::optional<ExpressionSpec> read_map(const std::string& language, const YamlNode& map,
                                       YamlContext& context) {
  ExpressionSpec out;
  out.language = language;
  bool trim = true;
  bool complete = false;
  for (const YamlEntry& entry : map.entries) {
    if (entry.name == "expression") {
      if (entry.value.is_list() || entry.value.is_map()) {
        context.wrong_kind(entry.value, "'expression' of " + language, "a text");
        return std::nullopt;
      }
      out.text = entry.value.text;
      out.where = entry.value.where;
      complete = true;
    } else if (entry.name == "trim") {
      trim = entry.value.text != "false";
    } else if (entry.name == "language" || is_remark(entry.name)) {
      continue;
    } else if (is_camel_language_option(entry.name)) {
      context.not_supported(entry.name_where, "the option", entry.name);
    } else {
      context.error("E0201", entry.name_where,
                    "unknown option '" + entry.name + "' for " + language,
                    did_you_mean(entry.name, {"expression", "trim", "id"}));
    }
  }
  if (!complete) {
    context.error("E0307", map.where, language + " has no text", "write `" + language + ": text`");
    return std::nullopt;
  }
  if (trim) out.text = trimmed(out.text);
  return out;
}

}  // namespace

bool names_language(std::string_view name) { return is_ours(name) || is_camel_language(name); }

std::optional<ExpressionSpec> read_language(const YamlEntry& entry, YamlContext& context) {
  const YamlNode& node = entry.value;
  if (entry.name == "language" && node.is_map()) {
    const YamlNode* const name = node.find("language");
    if (!name || !name->is_scalar()) {
      context.error("E0307", entry.name_where, "'language' names no language",
                    "write `language: {language: simple, expression: text}`");
      return std::nullopt;
    }
    if (is_ours(name->text)) return read_map(name->text, node, context);
    unknown_language(name->text, name->where, context);
    return std::nullopt;
  }
  if (!is_ours(entry.name)) {
    unknown_language(entry.name, entry.name_where, context);
    return std::nullopt;
  }
  if (node.is_map()) return read_map(entry.name, node, context);
  if (node.is_list()) {
    context.wrong_kind(node, entry.name, "a text");
    return std::nullopt;
  }
  ExpressionSpec out;
  out.language = entry.name;
  out.text = trimmed(node.text);
  out.where = node.where;
  return out;
}

std::optional<ExpressionSpec> read_expression(const YamlNode& node, const std::string& owner,
                                              YamlContext& context) {
  const char* const kHint =
      "write the language first, such as `simple: \"${body}\"` or `constant: text`";
  if (!node.is_map()) {
    context.error("E0307", node.where, owner + " must be an expression, not " + kind_phrase(node),
                  kHint);
    return std::nullopt;
  }
  std::vector<const YamlEntry*> expressions;
  for (const YamlEntry& entry : node.entries)
    if (!is_remark(entry.name)) expressions.push_back(&entry);
  if (expressions.size() > 1) {
    context.error("E0307", expressions[1]->name_where, owner + " takes one expression",
                  "remove '" + expressions[1]->name + "'");
    return std::nullopt;
  }
  if (expressions.empty()) {
    context.error("E0307", node.where, owner + " has no expression", kHint);
    return std::nullopt;
  }
  const YamlEntry& entry = *expressions.front();
  if (entry.name == "expression" && entry.value.is_map())
    return read_expression(entry.value, owner, context);
  if (names_language(entry.name)) return read_language(entry, context);
  unknown_language(entry.name, entry.name_where, context);
  return std::nullopt;
}

}  // namespace drom
