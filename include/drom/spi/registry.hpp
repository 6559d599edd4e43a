// The registry of one engine: components, steps, bean types, named beans and named C++ functions.
// Filled by register_xxx(Registry&) calls before the start; there is no static registration.
// Load time, one thread; read-only afterwards.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/config/config.hpp"
#include "drom/spi/endpoint.hpp"
#include "drom/spi/route_spec.hpp"

namespace drom {

class BuildContext;

struct ComponentInfo {
  std::string scheme;
  ConfigSpec (*spec)() = nullptr;
  // `config` holds path, query and parameters, validated. Errors of kind config are reported with
  // the location of the URI.
  Result<std::unique_ptr<Endpoint>> (*make)(const Config& config, BuildContext& context) = nullptr;
  std::vector<std::string> aliases;  // further schemes ("https" of "http")
};

struct StepInfo {
  std::string name;
  ConfigSpec (*spec)() = nullptr;
  // Problems go to context.diagnostics(); the Step may then be empty.
  Step (*make)(const StepSpec& spec, const Config& config, BuildContext& context) = nullptr;
};

// A bean type that YAML `beans` can create ("#class:drom.sqlite", "drom.postgres").
struct BeanInfo {
  std::string type;
  ConfigSpec (*spec)() = nullptr;
  // Stores the bean with context.registry().bind(name, shared_ptr).
  Result<void> (*make)(const std::string& name, const Config& config,
                       BuildContext& context) = nullptr;
  std::vector<std::string> aliases;  // Java class names that mean the same
};

class Registry {
 public:
  void add(ComponentInfo info);
  void add(StepInfo info);
  void add(BeanInfo info);
  const ComponentInfo* component(std::string_view scheme) const;
  const StepInfo* step(std::string_view name) const;
  const BeanInfo* bean_type(std::string_view type) const;
  std::vector<std::string> component_names() const;
  std::vector<std::string> step_names() const;
  std::vector<std::string> bean_types() const;

  // Functions that YAML reaches by `process: {ref: name}` and `bean: {ref: name}`.
  void bind_processor(std::string name, ProcessFunction function);
  const ProcessFunction* processor(std::string_view name) const;
  std::vector<std::string> processor_names() const;

  // Named beans by C++ type: a data source is bind<sql::Database>("orders", ...).
  template <class T>
  void bind(std::string name, std::shared_ptr<T> bean) {
    beans_[{std::type_index(typeid(T)), std::move(name)}] = std::move(bean);
  }
  template <class T>
  T* find(std::string_view name) const {
    auto it = beans_.find({std::type_index(typeid(T)), std::string(name)});
    return it == beans_.end() ? nullptr : static_cast<T*>(it->second.get());
  }
  template <class T>
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [key, bean] : beans_)
      if (key.first == std::type_index(typeid(T))) out.push_back(key.second);
    return out;
  }

 private:
  std::map<std::string, ComponentInfo, std::less<>> components_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::map<std::string, StepInfo, std::less<>> steps_;
  std::map<std::string, BeanInfo, std::less<>> bean_types_;
  std::map<std::string, ProcessFunction, std::less<>> processors_;
  std::map<std::pair<std::type_index, std::string>, std::shared_ptr<void>> beans_;
};

}  // namespace drom
