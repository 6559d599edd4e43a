#include "drom/spi/registry.hpp"

namespace drom {
namespace {

template <class Map>
auto* find_in(Map& map, std::string_view name) {
  const auto it = map.find(name);
  return it == map.end() ? nullptr : &it->second;
}

template <class Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> out;
  for (const auto& [name, ignored] : map) out.push_back(name);
  return out;
}

}  // namespace

void Registry::add(ComponentInfo info) {
  for (const std::string& alias : info.aliases) aliases_[alias] = info.scheme;
  components_[info.scheme] = std::move(info);
}

void Registry::add(StepInfo info) { steps_[info.name] = std::move(info); }

void Registry::add(BeanInfo info) {
  for (const std::string& alias : info.aliases) aliases_["bean " + alias] = info.type;
  bean_types_[info.type] = std::move(info);
}

const ComponentInfo* Registry::component(std::string_view scheme) const {
  if (const auto* found = find_in(components_, scheme)) return found;
  const auto* target = find_in(aliases_, scheme);
  return target ? find_in(components_, *target) : nullptr;
}

const StepInfo* Registry::step(std::string_view name) const { return find_in(steps_, name); }

const BeanInfo* Registry::bean_type(std::string_view type) const {
  if (const auto* found = find_in(bean_types_, type)) return found;
  const auto* target = find_in(aliases_, "bean " + std::string(type));
  return target ? find_in(bean_types_, *target) : nullptr;
}

std::vector<std::string> Registry::component_names() const { return keys(components_); }
std::vector<std::string> Registry::step_names() const { return keys(steps_); }
std::vector<std::string> Registry::bean_types() const { return keys(bean_types_); }

void Registry::bind_processor(std::string name, ProcessFunction function) {
  processors_[std::move(name)] = std::move(function);
}

const ProcessFunction* Registry::processor(std::string_view name) const {
  return find_in(processors_, name);
}

std::vector<std::string> Registry::processor_names() const { return keys(processors_); }

}  // namespace drom
