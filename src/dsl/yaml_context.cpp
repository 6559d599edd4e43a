#include "dsl/yaml_context.hpp"

#include "dsl/yaml_names.hpp"

namespace drom {

const ConfigSpec* YamlContext::step_spec(const std::string& name) {
  const auto found = specs_.find(name);
  if (found != specs_.end()) return &found->second;
  const StepInfo* const info = registry.step(name);
  return info ? &specs_.emplace(name, info->spec()).first->second : nullptr;
}

void YamlContext::error(const char* code, const Location& where, std::string what,
                        std::string hint) {
  diagnostics.error(code, where, std::move(what), std::move(hint));
}

void YamlContext::not_supported(const Location& where, const std::string& kind,
                                std::string_view name) {
  error("E0303", where, kind + " '" + std::string(name) + "' is known in Camel, not supported yet",
        std::string(instead_of(name)));
}

void YamlContext::wrong_kind(const YamlNode& node, const std::string& what, const char* wanted,
                             std::string hint) {
  error("E0306", node.where, what + " takes " + wanted + ", not " + kind_phrase(node),
        std::move(hint));
}

std::string YamlContext::camel_case_of(const std::string& name) { return camel_case(name); }

void YamlContext::warn_old_spelling(const YamlEntry& entry, const std::string& modern) {
  diagnostics.warning("E0311", entry.name_where, "'" + entry.name + "' is an old spelling",
                      "write '" + modern + "'");
}

const char* kind_phrase(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return "nothing";
    case YamlNode::Kind::scalar: return "a text";
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::map: return "a map";
  }
  return "";
}

}  // namespace drom
