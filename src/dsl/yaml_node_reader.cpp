#include "dsl/yaml_node_reader.hpp"

#include <algorithm>

#include "drom/spi/route_specs.hpp"
#include "dsl/yaml_expression.hpp"
#include "dsl/yaml_names.hpp"
#include "dsl/yaml_steps.hpp"

namespace drom {
namespace {

bool is_common(std::string_view name) {
  const auto& common = common_options();
  return std::any_of(common.begin(), common.end(),
                     [&](const OptionSpec& o) { return o.name == name; });
}

const OptionSpec* find_option(const ConfigSpec& spec, std::string_view name) {
  for (const OptionSpec& option : spec.options)
    if (option.name == name) return &option;
  return nullptr;
}

const ConfigSpec* find_clause(const ConfigSpec& spec, std::string_view name) {
  for (const ConfigSpec& clause : spec.clauses)
    if (clause.name == name) return &clause;
  return nullptr;
}

// redeliveryPolicy of redeliveryPolicy.maximumRedeliveries.
bool has_nested(const ConfigSpec& spec, const std::string& name) {
  const std::string prefix = name + ".";
  return std::any_of(spec.options.begin(), spec.options.end(),
                     [&](const OptionSpec& option) { return option.name.starts_with(prefix); });
}

bool knows(const ConfigSpec& spec, const std::string& name) {
  return find_option(spec, name) || find_clause(spec, name) || is_common(name) ||
         has_nested(spec, name) || (name == "steps" && spec.steps != StepsRule::none) ||
         (name == "parameters" && spec.parameters) ||
         (!spec.inline_expression.empty() && names_language(name));
}

// What may stand in the node, for did-you-mean.
std::vector<std::string> names_of(const ConfigSpec& spec) {
  std::vector<std::string> out;
  for (const OptionSpec& option : spec.options)
    out.push_back(option.name.substr(0, option.name.find('.')));
  for (const ConfigSpec& clause : spec.clauses) out.push_back(clause.name);
  if (spec.steps != StepsRule::none) out.emplace_back("steps");
  if (spec.parameters) out.emplace_back("parameters");
  if (!spec.inline_expression.empty())
    out.insert(out.end(), expression_languages().begin(), expression_languages().end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// One mistake, one message: an option that was reported is not missing as well.
void mark_reported(StepSpec& out, std::string name) {
  OptionText wrong;
  wrong.name = std::move(name);
  wrong.reported = true;
  out.options.push_back(std::move(wrong));
}

void mark_all_required(const ConfigSpec& spec, StepSpec& out) {
  for (const OptionSpec& option : spec.options)
    if (option.required) mark_reported(out, option.name);
}

void unknown_name(const ConfigSpec& spec, const YamlEntry& entry, StepSpec& out,
                  YamlContext& context) {
  const bool formats = spec.name == "marshal" || spec.name == "unmarshal";
  if (formats && is_camel_data_format(entry.name)) {
    mark_reported(out, entry.name);
    context.not_supported(entry.name_where, "the data format", entry.name);
    return;
  }
  if (is_camel_option(entry.name)) {
    mark_reported(out, entry.name);
    context.not_supported(entry.name_where, "the option", entry.name);
    return;
  }
  mark_reported(out, entry.name);
  const std::vector<std::string> names = names_of(spec);
  std::string hint = did_you_mean(entry.name, names);
  if (!hint.starts_with("did you mean") && spec.parameters)
    hint = "options of the endpoint stand under `parameters:`";
  if (entry.name == "steps") hint = spec.name + " holds no steps";
  if (names.empty()) hint = spec.name + " has no options";
  for (const OptionSpec& option : spec.options)
    if (hint == "did you mean '" + option.name + "'?") mark_reported(out, option.name);
  context.error("E0201", entry.name_where, "unknown option '" + entry.name + "' for " + spec.name,
                std::move(hint));
}

void read_clause(const ConfigSpec& clause, const YamlEntry& entry, StepSpec& out,
                 YamlContext& context) {
  const auto add = [&](const YamlNode& node, const Location& where) {
    StepSpec spec;
    spec.name = clause.name;
    spec.where = where;
    // `- when: {...}` inside of `when:` is fine too.
    const bool wrapped =
        node.is_map() && node.entries.size() == 1 && node.entries[0].name == clause.name;
    read_node(clause, wrapped ? node.entries[0].value : node, spec, context);
    out.clauses.push_back(std::move(spec));
  };
  if (!entry.value.is_list()) {
    add(entry.value, entry.name_where);
  } else if (!clause.repeat) {
    context.wrong_kind(entry.value, "'" + clause.name + "'", "a map", "remove the '- '");
  } else {
    for (const YamlNode& item : entry.value.items) add(item, item.where);
  }
}

void read_option(const ConfigSpec& spec, const OptionSpec& option, const YamlEntry& entry,
                 StepSpec& out, YamlContext& context) {
  const bool expression =
      option.type == OptionType::expression || option.type == OptionType::predicate;
  const YamlNode& node = entry.value;
  // `handled: true` is short for a constant.
  const bool plain = option.type == OptionType::predicate && node.is_scalar() &&
                     (node.text == "true" || node.text == "false");
  if (expression && !plain) {
    std::optional<ExpressionSpec> read =
        read_expression(node, "'" + option.name + "' of " + spec.name, context);
    OptionText written;
    written.name = option.name;
    written.where = node.where;
    written.name_where = entry.name_where;
    written.is_expression = true;
    written.reported = !read;
    if (read) written.expression = std::move(*read);
    out.options.push_back(std::move(written));
    return;
  }
  if (node.is_null()) return;
  if (node.is_map()) {
    context.wrong_kind(node, "'" + option.name + "' of " + spec.name,
                       option.type == OptionType::list ? "a list" : "a text");
    mark_reported(out, option.name);
    return;
  }
  OptionText written = text_option(option.name, node, entry.name_where);
  for (const YamlNode& item : node.items) {
    if (item.is_list() || item.is_map()) {
      context.wrong_kind(item, "an item of '" + option.name + "'", "a text");
      mark_reported(out, option.name);
      return;
    }
    written.values.push_back(item.text);
  }
  out.options.push_back(std::move(written));
}

void read_scalar(const ConfigSpec& spec, const YamlNode& node, StepSpec& out,
                 YamlContext& context) {
  if (!spec.scalar.empty()) {
    out.options.push_back(text_option(spec.scalar, node, node.where));
    return;
  }
  std::string hint;
  if (!spec.inline_expression.empty())
    hint = "write the language first, such as `simple: \"${body}\"` or `constant: text`";
  context.wrong_kind(node, spec.name, "a map", std::move(hint));
  mark_all_required(spec, out);
}

}  // namespace

OptionText text_option(std::string name, const YamlNode& node, const Location& name_where) {
  OptionText out;
  out.name = std::move(name);
  out.text = node.text;
  out.where = node.where;
  out.name_where = name_where;
  out.is_list = node.is_list();
  return out;
}

void read_flat(const YamlNode& map, const std::string& prefix, const std::string& owner,
               std::vector<OptionText>& out, YamlContext& context) {
  if (map.is_null()) return;
  if (!map.is_map()) {
    context.wrong_kind(map, owner, "a map", "write `name: value` lines");
    return;
  }
  for (const YamlEntry& entry : map.entries) {
    const std::string name = prefix + entry.name;
    if (entry.value.is_map()) {
      read_flat(entry.value, name + ".", owner, out, context);
      continue;
    }
    OptionText written = text_option(name, entry.value, entry.name_where);
    bool fine = true;
    for (const YamlNode& item : entry.value.items) {
      if (item.is_list() || item.is_map()) {
        context.wrong_kind(item, "an item of '" + name + "'", "a text");
        fine = false;
      }
      written.values.push_back(item.text);
    }
    // RAW(...) protects a value in a URI; here it needs no protection.
    const std::string_view text = written.text;
    if (text.starts_with("RAW(") && text.ends_with(")"))
      written.text = text.substr(4, text.size() - 5);
    if (fine) out.push_back(std::move(written));
  }
}

void read_entry(const ConfigSpec& spec, const YamlEntry& entry, StepSpec& out,
                YamlContext& context) {
  const std::string name =
      context.modern_name(entry, [&](const std::string& n) { return knows(spec, n); });
  if (name == "steps" && spec.steps != StepsRule::none) {
    out.steps = read_steps(entry.value, context);
    out.has_steps = true;
  } else if (name == "parameters" && spec.parameters) {
    read_flat(entry.value, "", "'parameters'", out.parameters, context);
  } else if (const ConfigSpec* clause = find_clause(spec, name)) {
    read_clause(*clause, entry, out, context);
  } else if (const OptionSpec* option = find_option(spec, name)) {
    read_option(spec, *option, entry, out, context);
  } else if (is_common(name)) {
    if (entry.value.is_list() || entry.value.is_map()) {
      context.wrong_kind(entry.value, "'" + name + "'", "a text");
    } else if (!entry.value.is_null()) {
      out.options.push_back(text_option(name, entry.value, entry.name_where));
    }
  } else if (has_nested(spec, name)) {
    read_flat(entry.value, name + ".", "'" + name + "'", out.options, context);
  } else if (!spec.inline_expression.empty() && names_language(name)) {
    if (const OptionText* earlier = out.find(spec.inline_expression)) {
      context.error("E0307", entry.name_where, spec.name + " takes one expression",
                    earlier->reported ? "" : "the first is at " + earlier->where.text());
      return;
    }
    std::optional<ExpressionSpec> read = read_language(entry, context);
    if (!read) {
      mark_reported(out, spec.inline_expression);
      return;
    }
    OptionText written;
    written.name = spec.inline_expression;
    written.where = entry.value.where;
    written.name_where = entry.name_where;
    written.is_expression = true;
    written.expression = std::move(*read);
    out.options.push_back(std::move(written));
  } else {
    unknown_name(spec, entry, out, context);
  }
}

void read_node(const ConfigSpec& spec, const YamlNode& node, StepSpec& out, YamlContext& context) {
  if (node.is_scalar()) {
    read_scalar(spec, node, out, context);
  } else if (node.is_list()) {
    context.wrong_kind(node, spec.name, "a map", "remove the '- '");
    mark_all_required(spec, out);
    return;
  } else {
    for (const YamlEntry& entry : node.entries) read_entry(spec, entry, out, context);
  }
  if (spec.steps == StepsRule::required && !out.has_steps)
    context.error("E0309", out.where, spec.name + " has no steps", "add `steps:` inside of it");
}

}  // namespace drom
