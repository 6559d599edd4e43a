#include "config/properties.hpp"

namespace drom {
namespace {

std::string environment_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'a' && c <= 'z') {
      out += static_cast<char>(c - ('a' - 'A'));
    } else {
      out += (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
  }
  return out;
}

std::optional<std::string> find_in(const std::map<std::string, std::string, std::less<>>& map,
                                   std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

PropertyTable::PropertyTable(Environment environment) : environment_(std::move(environment)) {}

void PropertyTable::define(std::string name, std::string value) {
  defines_[std::move(name)] = std::move(value);
}

void PropertyTable::read(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  // Java takes the last of equal names in one file; an earlier file goes before a later one.
  std::map<std::string, std::string, std::less<>> here;
  for (PropertyEntry& entry : parse_properties(text, file, diagnostics))
    here[std::move(entry.name)] = std::move(entry.value);
  files_.merge(here);
}

std::optional<std::string> PropertyTable::property(std::string_view key) const {
  if (auto value = find_in(defines_, key)) return value;
  if (auto value = find_in(files_, key)) return value;
  return environment(key);
}

std::optional<std::string> PropertyTable::environment(std::string_view name) const {
  if (!environment_ || name.empty()) return std::nullopt;
  if (auto value = environment_(name)) return value;
  return environment_(environment_name(name));
}

std::vector<std::string> PropertyTable::names() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : defines_) out.push_back(name);
  for (const auto& [name, value] : files_)
    if (!defines_.contains(name)) out.push_back(name);
  return out;
}

}  // namespace drom
