// What the verbs of `drom` share: exit codes, the options that name route files, loading them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drom/app.hpp"

namespace CLI {
class App;
}

namespace drom::cli {

// sysexits.h, so that scripts can tell a wrong call from a wrong file.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 64;
inline constexpr int kNoInput = 66;
inline constexpr int kConfig = 78;

// The whole command `drom`; returns what the process ends with. main() of drom and of drom-chaos.
int run_program(int argc, char** argv);

struct FileOptions {
  std::vector<std::string> files;    // YAML files or folders
  std::vector<std::string> defines;  // name=value
  std::vector<std::string> stubs;    // schemes, or *
  std::string log_level = "info";
  std::string log_format = "text";
};

// Adds FILE..., -D, and with `logging` --log-level and --log-format.
void add_file_options(CLI::App& verb, FileOptions& options, bool logging);

// An App with the files' routes added, not yet built. Null: the errors have been printed and
// `exit_code` says how to end.
std::unique_ptr<App> load_files(const FileOptions& options, EngineOptions engine_options,
                                int& exit_code);

// Prints diagnostics on standard error, warnings too.
void print_problems(const Diagnostics& diagnostics);

// Splits "name=value" texts; prints what is none.
bool split_defines(const std::vector<std::string>& texts,
                   std::vector<std::pair<std::string, std::string>>& out);

// Each verb adds itself to the command line; the code to exit with is stored in `exit_code` when
// the verb was called.
void add_run(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);
void add_test(CLI::App& app, int& exit_code);
void add_eval(CLI::App& app, int& exit_code);
void add_doc(CLI::App& app, int& exit_code);
void add_schema(CLI::App& app, int& exit_code);
void add_outbox(CLI::App& app, int& exit_code);

}  // namespace drom::cli
