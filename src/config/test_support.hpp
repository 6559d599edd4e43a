// For the tests of this room: properties and environment from maps, places in a file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "drom/config/config.hpp"

namespace drom::testing {

class MapProperties final : public PropertySource {
 public:
  std::optional<std::string> property(std::string_view key) const override {
    return find(properties, key);
  }
  std::optional<std::string> environment(std::string_view name) const override {
    return find(variables, name);
  }

  using Map = std::map<std::string, std::string, std::less<>>;
  Map properties;
  Map variables;

 private:
  static std::optional<std::string> find(const Map& map, std::string_view key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
};

inline Location at(uint32_t line, uint32_t column, const std::string& file = "r.yaml") {
  return Location{std::make_shared<const std::string>(file), line, column};
}

}  // namespace drom::testing
