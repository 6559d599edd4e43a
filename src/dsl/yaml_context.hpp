// What all parts of the YAML reader share: the registry, the diagnostics, the specs of the steps
// (made once per file, they are large), and the messages that several parts give.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drom/spi/registry.hpp"
#include "config/yaml_tree.hpp"

namespace drom {

class YamlContext {
 public:
  YamlContext(const Registry& known, Diagnostics& problems)
      : registry(known), diagnostics(problems) {}

  const Registry& registry;
  Diagnostics& diagnostics;

  // Null: no such step.
  const ConfigSpec* step_spec(const std::string& name);

  void error(const char* code, const Location& where, std::string what, std::string hint = {});
  void not_supported(const Location& where, const std::string& kind, std::string_view name);
  // "setBody takes a map, not a list".
  void wrong_kind(const YamlNode& node, const std::string& what, const char* wanted,
                  std::string hint = {});
  // The name without hyphens when only that is known; warns about the old spelling.
  template <class Known>
  std::string modern_name(const YamlEntry& entry, Known known) {
    if (known(entry.name) || entry.name.find('-') == std::string::npos) return entry.name;
    std::string modern = camel_case_of(entry.name);
    if (!known(modern)) return entry.name;
    warn_old_spelling(entry, modern);
    return modern;
  }

 private:
  static std::string camel_case_of(const std::string& name);
  void warn_old_spelling(const YamlEntry& entry, const std::string& modern);

  std::map<std::string, ConfigSpec> specs_;
};

// "a text", "a list" ...
const char* kind_phrase(const YamlNode& node);

}  // namespace drom
