#include "app/cli/common.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "observe/spd_log.hpp"

namespace drom::cli {
namespace {

namespace fs = std::filesystem;

LogLevel parse_log_level(const std::string& text) {
  for (const auto& [name, level] :
       {std::pair{"trace", LogLevel::trace}, std::pair{"debug", LogLevel::debug},
        std::pair{"warn", LogLevel::warn}, std::pair{"error", LogLevel::error},
        std::pair{"off", LogLevel::off}})
    if (text == name) return level;
  return LogLevel::info;
}

bool is_yaml(const fs::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// Folders stand for the YAML files in them, in order of their names.
bool expand(const std::vector<std::string>& names, std::vector<std::string>& out) {
  for (const std::string& name : names) {
    std::error_code ec;
    if (!fs::is_directory(name, ec)) {
      if (!fs::exists(name, ec)) {
        std::fprintf(stderr, "error: no such file: %s\n", name.c_str());
        return false;
      }
      out.push_back(name);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(name, ec))
      if (entry.is_regular_file() && is_yaml(entry.path())) found.push_back(entry.path().string());
    if (found.empty()) {
      std::fprintf(stderr, "error: no .yaml file in folder %s\n", name.c_str());
      return false;
    }
    std::sort(found.begin(), found.end());
    out.insert(out.end(), found.begin(), found.end());
  }
  return true;
}

std::vector<std::string> folders_of(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  for (const std::string& file : files) {
    std::string folder = fs::path(file).parent_path().string();
    if (folder.empty()) folder = ".";
    if (std::find(out.begin(), out.end(), folder) == out.end()) out.push_back(folder);
  }
  return out;
}

}  // namespace

void add_file_options(CLI::App& verb, FileOptions& options, bool logging) {
  verb.add_option("files", options.files, "Route files in YAML, or folders of them")
      ->required()
      ->type_name("FILE|DIR");
  verb.add_option("-D,--define", options.defines, "Sets a property for {{name}} placeholders")
      ->type_name("NAME=VALUE");
  verb.add_option("--stub", options.stubs,
                  "Schemes to replace by stub endpoints; '*' replaces those this build lacks")
      ->type_name("SCHEME")
      ->delimiter(',');
  if (!logging) return;
  verb.add_option("--log-level", options.log_level, "How much to log")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  verb.add_option("--log-format", options.log_format, "Log lines for people or for machines")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

bool split_defines(const std::vector<std::string>& texts,
                   std::vector<std::pair<std::string, std::string>>& out) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::fprintf(stderr, "error: -D %s: expected NAME=VALUE\n", text.c_str());
      return false;
    }
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return true;
}

void print_problems(const Diagnostics& diagnostics) {
  const std::string text = diagnostics.render();
  std::fputs(text.c_str(), stderr);
}

std::unique_ptr<App> load_files(const FileOptions& options, EngineOptions engine_options,
                                int& exit_code) {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>> defines;
  if (!split_defines(options.defines, defines)) {
    exit_code = kUsage;
    return nullptr;
  }
  if (!expand(options.files, files)) {
    exit_code = kNoInput;
    return nullptr;
  }
  Diagnostics problems;
  engine_options.properties = load_properties(defines, folders_of(files), problems);
  engine_options.stub_schemes = options.stubs;
  if (!engine_options.log)
    engine_options.log = make_log(parse_log_level(options.log_level),
                                  options.log_format == "json" ? LogFormat::json : LogFormat::text);
  auto app = std::make_unique<App>(std::move(engine_options));
  bool fine = !problems.has_errors();
  print_problems(problems);
  for (const std::string& file : files) {
    const bool read = app->load(file);
    fine = fine && read;
  }
  // Goes on after a wrong file: all errors at once, those that only the build can find as well.
  const bool built = app->build();
  print_problems(app->engine().diagnostics());
  if (fine && built) return app;
  exit_code = kConfig;
  return nullptr;
}

}  // namespace drom::cli
