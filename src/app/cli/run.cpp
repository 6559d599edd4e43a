#include <CLI/CLI.hpp>
#include <filesystem>

#include "app/cli/common.hpp"

namespace drom::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  FileOptions files;
  int64_t shutdown_timeout_s = 30;
  bool dev = false;
  std::string management_host;
  int management_port = -1;  // none
};

// Notices that a route file was saved. Compares sizes and times of change; editors that replace the
// file are seen as well.
class Watch {
 public:
  explicit Watch(std::vector<std::string> names) : names_(std::move(names)), seen_(look()) {}
  bool changed() {
    std::vector<Stamp> now = look();
    const bool different = now != seen_;
    seen_ = std::move(now);
    return different;
  }

 private:
  using Stamp = std::pair<fs::file_time_type, uintmax_t>;
  std::vector<Stamp> look() const {
    std::vector<Stamp> out;
    for (const std::string& name : names_) {
      std::error_code ec;
      if (fs::is_directory(name, ec)) {
        for (const auto& entry : fs::recursive_directory_iterator(name, ec))
          if (entry.is_regular_file(ec))
            out.emplace_back(entry.last_write_time(ec), entry.file_size(ec));
      } else {
        const auto time = fs::last_write_time(name, ec);
        out.emplace_back(time, ec ? 0 : fs::file_size(name, ec));
      }
    }
    return out;
  }
  std::vector<std::string> names_;
  std::vector<Stamp> seen_;
};

EngineOptions engine_options(const RunOptions& options) {
  EngineOptions out;
  out.shutdown_timeout = std::chrono::seconds(options.shutdown_timeout_s);
  return out;
}

// The options of the command line are properties, and win over those of a file.
FileOptions file_options(const RunOptions& options) {
  FileOptions out = options.files;
  const std::string prefix = "drom.management.";
  if (!options.management_host.empty())
    out.defines.push_back(prefix + "host=" + options.management_host);
  if (options.management_port >= 0) {
    out.defines.push_back(prefix + "port=" + std::to_string(options.management_port));
    out.defines.push_back(prefix + "enabled=true");
  }
  return out;
}

int run(const RunOptions& options) {
  const FileOptions files = file_options(options);
  int exit_code = kOk;
  std::unique_ptr<App> app = load_files(files, engine_options(options), exit_code);
  if (!app) return exit_code;
  if (!options.dev) return app->serve();

  // --dev: a saved file that is right replaces the routes; a wrong one is reported and changes
  // nothing.
  Watch watch(options.files.files);
  while (true) {
    std::unique_ptr<App> next;
    const int ended = app->serve([&] {
      if (!watch.changed()) return false;
      int ignored = kOk;
      next = load_files(files, engine_options(options), ignored);
      if (!next) app->engine().log().warn("drom", "the saved files are wrong; the old routes stay");
      return next != nullptr;
    });
    if (!next) return ended;
    next->engine().log().info("drom", "routes reloaded");
    app = std::move(next);
  }
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("run", "Runs route files until SIGINT or SIGTERM");
  auto options = std::make_shared<RunOptions>();
  add_file_options(*verb, options->files, true);
  verb->add_flag("--dev", options->dev,
                 "Reloads when a file is saved; a wrong file changes nothing");
  verb->add_option("--shutdown-timeout", options->shutdown_timeout_s,
                   "Seconds to finish what is in flight after SIGTERM")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  verb->add_option("--management-port", options->management_port,
                   "Serves /health/live, /health/ready, /health/startup and /metrics on this port; "
                   "0 is any free one")
      ->check(CLI::Range(0, 65535))
      ->type_name("PORT");
  verb->add_option("--management-host", options->management_host,
                   "The address for that; without it only this machine is served")
      ->type_name("ADDRESS");
  verb->footer(
      "Examples:\n"
      "  drom run routes.yaml\n"
      "  drom run routes.yaml --management-port 9876\n"
      "  drom run examples/quickstart/orders.yaml -D port=8080 -D data=/var/lib/orders\n"
      "  drom run routes/ --dev --log-level debug\n\n"
      "Exit codes: 0 ended by a signal with nothing left over, 1 work had to be given back to its "
      "source,\n"
      "64 wrong call, 66 file not found, 78 wrong route file (nothing was started).");
  verb->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace drom::cli
