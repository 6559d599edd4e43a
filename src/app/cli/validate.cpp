#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/cli/common.hpp"

namespace drom::cli {

void add_validate(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "validate", "Checks route files and prints every error, without starting anything");
  auto options = std::make_shared<FileOptions>();
  add_file_options(*verb, *options, false);
  verb->footer(
      "Examples:\n"
      "  drom validate routes.yaml\n"
      "  drom validate routes/ --stub '*'        load connectors that this build lacks as stubs\n"
      "  drom validate routes.yaml --stub kafka,rabbitmq\n\n"
      "Exit codes: 0 all files are right, 64 wrong call, 66 file not found, 78 errors were "
      "printed.");
  verb->callback([options, &exit_code] {
    options->log_level = "off";
    const std::unique_ptr<App> loaded = load_files(*options, {}, exit_code);
    if (loaded) std::printf("OK\n");
  });
}

}  // namespace drom::cli
