#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "app/cli/common.hpp"

namespace drom::cli {
namespace {

int usage_exit(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help
  std::fprintf(stderr, "error: %s\n", error.what());
  std::fprintf(stderr, "hint: drom --help lists the verbs, drom VERB --help explains one\n");
  return kUsage;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!verb->get_name().empty()) out.push_back(verb->get_name());  // option groups have none
  return out;
}

// Walks down the verbs of the command line; 0 when it knows them all.
int check_verbs(const CLI::App& app, int argc, char** argv) {
  const CLI::App* at = &app;
  std::string path = "drom";
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<std::string> verbs = verbs_of(*at);
    if (verbs.empty()) return 0;
    const std::string name = argv[i];
    if (std::find(verbs.begin(), verbs.end(), name) == verbs.end()) {
      const std::string hint = did_you_mean(name, verbs);
      const std::string help = path + " --help lists the verbs";
      std::fprintf(stderr, "error: unknown verb '%s'\nhint: %s\n", name.c_str(),
                   hint.empty() ? help.c_str() : hint.c_str());
      return kUsage;
    }
    at = at->get_subcommand(name);
    path += " " + name;
  }
  return 0;
}

}  // namespace

int run_program(int argc, char** argv) {
  CLI::App app("Dromedary: an integration engine with transactional guarantees");
  app.name("drom");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  drom run routes.yaml                 run routes\n"
      "  drom validate routes/                check files\n"
      "  drom doc sql                         what a component or step can do\n"
      "  drom outbox status --name orders --url shop.db");
  app.set_version_flag("--version", "drom " DROM_VERSION);
  int exit_code = kOk;
  add_run(app, exit_code);
  add_validate(app, exit_code);
  add_test(app, exit_code);
  add_eval(app, exit_code);
  add_doc(app, exit_code);
  add_schema(app, exit_code);
  add_outbox(app, exit_code);
  app.add_subcommand("version", "Prints the version")->callback([] {
    std::printf("drom %s\n", DROM_VERSION);
  });
  if (const int wrong = check_verbs(app, argc, argv); wrong != 0) return wrong;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage_exit(app, error);
  }
  return exit_code;
}

}  // namespace drom::cli
