// Expressions in YAML: `simple: text`, `simple: {expression: text}`, `language: {language,
// expression}`, and the same under `expression:`.
#pragma once

#include <optional>

#include "dsl/yaml_context.hpp"

namespace drom {

// A name that may stand where an expression is expected: a language of ours or of Camel.
bool names_language(std::string_view name);

// The value of `entry`, whose name is a language. nullopt: reported.
std::optional<ExpressionSpec> read_language(const YamlEntry& entry, YamlContext& context);

// The value of an option that is an expression. `owner` is for messages. nullopt: reported.
std::optional<ExpressionSpec> read_expression(const YamlNode& node, const std::string& owner,
                                              YamlContext& context);

}  // namespace drom
