#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "app/cli/common.hpp"
#include "dsl/reference.hpp"
#include "dsl/schema.hpp"

namespace drom::cli {
namespace {

struct DocOptions {
  std::string name;
  std::string write;
};

int list_names(const Registry& registry) {
  for (const ReferenceEntry& entry : reference_entries(registry)) {
    constexpr const char* kKinds[] = {"component", "step", "bean", "route"};
    std::printf("%-10s %s\n", kKinds[static_cast<int>(entry.kind)], entry.spec.name.c_str());
  }
  return kOk;
}

// Writes the pages of docs/reference; files that no longer belong there are removed.
int write_pages(const Registry& registry, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code ec;
  fs::remove_all(folder, ec);
  for (const ReferenceFile& file : reference_files(registry)) {
    const fs::path path = folder / file.path;
    fs::create_directories(path.parent_path(), ec);
    std::ofstream out(path, std::ios::binary);
    out << file.text;
    out.flush();
    if (out) continue;
    std::fprintf(stderr, "error: cannot write %s\n", path.c_str());
    return kFailed;
  }
  return kOk;
}

int doc(const DocOptions& options) {
  Registry registry;
  register_builtin(registry);
  if (!options.write.empty()) return write_pages(registry, options.write);
  if (options.name.empty()) return list_names(registry);
  const std::vector<ReferenceEntry> found = find_reference(registry, options.name);
  if (found.empty()) {
    const std::string hint = did_you_mean(options.name, reference_names(registry));
    std::fprintf(stderr, "error: nothing is called '%s'\nhint: %s\n", options.name.c_str(),
                 hint.empty() ? "drom doc lists all names" : hint.c_str());
    return kUsage;
  }
  for (const ReferenceEntry& entry : found) std::fputs(reference_text(entry).c_str(), stdout);
  return kOk;
}

}  // namespace

void add_doc(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "doc", "Explains a component, step or bean type; without a name lists them");
  auto options = std::make_shared<DocOptions>();
  verb->add_option("name", options->name, "A scheme, a step, a bean type, onException ...")
      ->type_name("NAME");
  verb->add_option("--write", options->write,
                   "Writes all pages as Markdown into a folder, replacing it")
      ->type_name("DIR");
  verb->footer(
      "Examples:\n  drom doc\n  drom doc sql\n  drom doc idempotentConsumer\n\nExit codes: 0, 64 "
      "no such name.");
  verb->callback([options, &exit_code] { exit_code = doc(*options); });
}

void add_schema(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("schema", "Prints the JSON Schema of route files, for editors");
  verb->footer(
      "Example:\n"
      "  drom schema > drom.schema.json\n"
      "and in the route file, for editors with a YAML language server:\n"
      "  # yaml-language-server: $schema=drom.schema.json");
  verb->callback([&exit_code] {
    Registry registry;
    register_builtin(registry);
    std::fputs(route_file_schema(registry).c_str(), stdout);
    exit_code = kOk;
  });
}

}  // namespace drom::cli
