#include <algorithm>
#include <array>

#include "dsl/yaml_node_reader.hpp"
#include "dsl/yaml_routes.hpp"

namespace drom {
namespace {

constexpr std::array<std::string_view, 9> kJavaOnly = {
    "constructors", "factoryBean",   "factoryMethod", "builderClass",  "builderMethod",
    "initMethod",   "destroyMethod", "script",        "scriptLanguage"};

void read_bean(const YamlNode& node, ContextSpec& out, YamlContext& context) {
  if (!node.is_map()) {
    context.wrong_kind(node, "a bean", "a map", "write `name:`, `type:` and `properties:`");
    return;
  }
  BeanSpec bean;
  bean.where = node.where;
  for (const YamlEntry& entry : node.entries) {
    if (entry.name == "name" || entry.name == "type") {
      if (entry.value.is_list() || entry.value.is_map()) {
        context.wrong_kind(entry.value, "'" + entry.name + "' of a bean", "a text");
      } else if (entry.name == "name") {
        bean.name = entry.value.text;
      } else {
        // "#class:com.acme.Foo" is Camel's form for a class.
        const std::string_view type = entry.value.text;
        bean.type = type.starts_with("#class:") ? type.substr(7) : type;
        bean.type_where = entry.value.where;
      }
    } else if (entry.name == "properties") {
      read_flat(entry.value, "", "'properties'", bean.properties, context);
    } else if (std::find(kJavaOnly.begin(), kJavaOnly.end(), entry.name) != kJavaOnly.end()) {
      context.error("E0303", entry.name_where,
                    "'" + entry.name + "' of a bean is known in Camel, not supported",
                    "beans are made from `properties` alone");
    } else {
      context.error("E0201", entry.name_where, "unknown option '" + entry.name + "' for a bean",
                    did_you_mean(entry.name, {"name", "type", "properties"}));
    }
  }
  if (bean.name.empty())
    context.error("E0202", node.where, "the bean needs 'name'", "routes refer to it by this name");
  if (bean.type.empty())
    context.error("E0202", node.where, "the bean needs 'type'",
                  did_you_mean("", context.registry.bean_types()));
  if (bean.name.empty() || bean.type.empty()) return;
  for (const BeanSpec& other : out.beans) {
    if (other.name != bean.name) continue;
    context.error("E0313", node.where, "the bean name '" + bean.name + "' is used twice",
                  "the first is at " + other.where.text());
    return;
  }
  out.beans.push_back(std::move(bean));
}

}  // namespace

void read_beans(const YamlEntry& entry, ContextSpec& out, YamlContext& context) {
  if (!entry.value.is_list()) {
    context.wrong_kind(entry.value, "beans", "a list", "start each bean with '- name:'");
    return;
  }
  for (const YamlNode& node : entry.value.items) read_bean(node, out, context);
}

}  // namespace drom
