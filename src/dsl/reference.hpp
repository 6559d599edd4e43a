// The reference pages of components, steps, bean types and what stands around the steps, made from
// their ConfigSpecs: Markdown for docs/reference, plain text for `drom doc NAME`. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/spi/registry.hpp"

namespace drom {

enum class ReferenceKind : uint8_t { component, step, bean, route };

struct ReferenceEntry {
  ReferenceKind kind = ReferenceKind::step;
  ConfigSpec spec;
  std::vector<std::string> aliases;  // further schemes or types

  // "components/kafka.md", below docs/reference.
  std::string path() const;
};

// All of the registry, and from, route, onException ...; by kind, then by name.
std::vector<ReferenceEntry> reference_entries(const Registry& registry);
// What `name` may mean: `log` is a step and a component. An alias counts. Empty: see
// reference_names().
std::vector<ReferenceEntry> find_reference(const Registry& registry, std::string_view name);
std::vector<std::string> reference_names(const Registry& registry);

std::string reference_markdown(const ReferenceEntry& entry);
// At most `width` columns, for a terminal.
std::string reference_text(const ReferenceEntry& entry, size_t width = 100);

struct ReferenceFile {
  std::string path;  // below docs/reference
  std::string text;
};
// Every generated file of docs/reference: the pages, README.md with the list of them, errors.md and
// routes.schema.json.
std::vector<ReferenceFile> reference_files(const Registry& registry);

}  // namespace drom
