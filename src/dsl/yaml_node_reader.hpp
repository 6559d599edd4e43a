// Reads one node of a route file (a step, a clause, from, onException ...) by its ConfigSpec: the
// form only. The values are checked when the engine builds the node (Config::validate), by the same
// spec.
#pragma once

#include <string>
#include <vector>

#include "drom/spi/route_spec.hpp"
#include "dsl/yaml_context.hpp"

namespace drom {

// Fills `out`, whose name and place are set.
void read_node(const ConfigSpec& spec, const YamlNode& node, StepSpec& out, YamlContext& context);

// One name of a node that is a map; for nodes that have names of their own beside those of the
// spec.
void read_entry(const ConfigSpec& spec, const YamlEntry& entry, StepSpec& out,
                YamlContext& context);

// Nested maps become dotted names, lists stay lists.
void read_flat(const YamlNode& map, const std::string& prefix, const std::string& owner,
               std::vector<OptionText>& out, YamlContext& context);

OptionText text_option(std::string name, const YamlNode& node, const Location& name_where);

}  // namespace drom
