#include "dsl/reference.hpp"

#include <algorithm>

#include "config/error_codes.hpp"
#include "drom/spi/route_specs.hpp"
#include "dsl/schema.hpp"

namespace drom {
namespace {

std::string_view folder(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::component: return "components";
    case ReferenceKind::step: return "steps";
    case ReferenceKind::bean: return "beans";
    case ReferenceKind::route: return "routes";
  }
  return "";
}

std::string_view heading(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::component: return "Components";
    case ReferenceKind::step: return "Steps";
    case ReferenceKind::bean: return "Beans";
    case ReferenceKind::route: return "Around the steps";
  }
  return "";
}

std::string first_sentence(const std::string& doc) {
  const size_t end = doc.find(". ");
  return end == std::string::npos ? doc : doc.substr(0, end + 1);
}

std::string index_page(const std::vector<ReferenceEntry>& entries) {
  std::string out =
      "# Reference\n\n"
      "Made from the option specs of this build. `drom doc NAME` shows the same in a terminal; "
      "`drom schema` prints [routes.schema.json](routes.schema.json), by which editors complete "
      "and check route "
      "files. Error codes are explained in [errors.md](errors.md).\n";
  const ReferenceEntry* before = nullptr;
  for (const ReferenceEntry& entry : entries) {
    if (!before || before->kind != entry.kind)
      out += "\n## " + std::string(heading(entry.kind)) + "\n\n";
    out += "- [" + entry.spec.name + "](" + entry.path() + "): " + first_sentence(entry.spec.doc) +
           "\n";
    before = &entry;
  }
  return out;
}

}  // namespace

std::string ReferenceEntry::path() const {
  return std::string(folder(kind)) + "/" + spec.name + ".md";
}

std::vector<ReferenceEntry> reference_entries(const Registry& registry) {
  std::vector<ReferenceEntry> out;
  for (const std::string& name : registry.component_names()) {
    const ComponentInfo& info = *registry.component(name);
    out.push_back({ReferenceKind::component, info.spec(), info.aliases});
  }
  for (const std::string& name : registry.step_names())
    out.push_back({ReferenceKind::step, registry.step(name)->spec(), {}});
  for (const std::string& type : registry.bean_types()) {
    const BeanInfo& info = *registry.bean_type(type);
    out.push_back({ReferenceKind::bean, info.spec(), info.aliases});
  }
  for (ConfigSpec (*spec)() : {from_spec, route_spec, on_exception_spec, default_error_handler_spec,
                               dead_letter_channel_spec, no_error_handler_spec,
                               route_configuration_spec, rest_spec, rest_configuration_spec})
    out.push_back({ReferenceKind::route, spec(), {}});
  return out;
}

std::vector<ReferenceEntry> find_reference(const Registry& registry, std::string_view name) {
  std::vector<ReferenceEntry> out;
  for (ReferenceEntry& entry : reference_entries(registry)) {
    const auto& aliases = entry.aliases;
    if (entry.spec.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end())
      out.push_back(std::move(entry));
  }
  return out;
}

std::vector<std::string> reference_names(const Registry& registry) {
  std::vector<std::string> out;
  for (const ReferenceEntry& entry : reference_entries(registry)) out.push_back(entry.spec.name);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<ReferenceFile> reference_files(const Registry& registry) {
  const std::vector<ReferenceEntry> entries = reference_entries(registry);
  std::vector<ReferenceFile> out;
  out.push_back({"README.md", index_page(entries)});
  out.push_back({"errors.md", error_codes_page()});
  out.push_back({"routes.schema.json", route_file_schema(registry)});
  for (const ReferenceEntry& entry : entries)
    out.push_back({entry.path(), reference_markdown(entry)});
  return out;
}

}  // namespace drom
