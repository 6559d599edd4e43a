#include "drom/app.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "admin/management.hpp"
#include "config/properties.hpp"
#include "dsl/yaml_reader.hpp"
#include "rt/environment.hpp"

namespace drom {

namespace {

// nullopt: there is no such file, or it cannot be read.
std::optional<std::string> read_file(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return std::nullopt;
  return text;
}

std::shared_ptr<PropertyTable> read_properties(
    const std::vector<std::pair<std::string, std::string>>& defines,
    const std::vector<std::string>& folders, Diagnostics& diagnostics) {
  auto table = std::make_shared<PropertyTable>(environment_variable);
  for (const auto& [name, value] : defines) table->define(name, value);
  for (const std::string& folder : folders) {
    const std::string file =
        folder == "." ? "application.properties" : folder + "/application.properties";
    const std::optional<std::string> text = read_file(file);
    if (text) table->read(*text, file, diagnostics);
  }
  return table;
}

struct CommandLine {
  EngineOptions options;
  int error = 0;
};

// -D name=value, -Dname=value.
CommandLine parse(int argc, char** argv, Named defaults) {
  CommandLine out;
  std::vector<std::pair<std::string, std::string>> defines;
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    if (text == "-D" && i + 1 < argc) {
      text = argv[++i];
    } else if (text.starts_with("-D")) {
      text.erase(0, 2);
    } else {
      text.clear();
    }
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::fprintf(stderr, "usage: %s [-D name=value]...\n", argv[0]);
      out.error = 64;
      return out;
    }
    defines.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  Diagnostics problems;
  const auto table = read_properties(defines, {"."}, problems);
  for (const auto& [name, value] : defaults)
    if (!table->property(name)) table->define(name, value);
  out.options.properties = table;
  std::fputs(problems.render().c_str(), stderr);
  if (problems.has_errors()) out.error = 78;
  return out;
}

}  // namespace

App::App(EngineOptions options) : engine_(std::make_unique<Engine>(std::move(options))) {
  register_builtin(engine_->registry());
}

App::App(int argc, char** argv, Named defaults) {
  CommandLine line = parse(argc, argv, defaults);
  usage_error_ = line.error;
  engine_ = std::make_unique<Engine>(std::move(line.options));
  register_builtin(engine_->registry());
}

std::shared_ptr<const PropertySource> load_properties(
    const std::vector<std::pair<std::string, std::string>>& defines,
    const std::vector<std::string>& folders, Diagnostics& diagnostics) {
  return read_properties(defines, folders, diagnostics);
}

bool App::load(const std::string& file) {
  const std::optional<std::string> text = read_file(file);
  if (!text) {
    engine_->diagnostics().error("E0001", Location{std::make_shared<const std::string>(file), 0, 0},
                                 "the file cannot be read");
    return false;
  }
  ContextSpec spec;
  const bool fine = read_yaml(*text, file, engine_->registry(), spec, engine_->diagnostics());
  engine_->add(std::move(spec));
  return fine;
}

bool App::build() {
  engine_->add(routes_.take());
  engine_->build();
  const auto management = http::read_management_settings(engine_->context().properties());
  if (!management)
    engine_->diagnostics().error("E0212", Location(), management.error().what,
                                 management.error().hint);
  return !engine_->diagnostics().has_errors();
}

int App::run() {
  if (usage_error_ != 0) return usage_error_;
  if (!build()) {
    std::fputs(engine_->diagnostics().render().c_str(), stderr);
    return 78;
  }
  return serve();
}

int App::serve(const std::function<bool()>& end_early) {
  const auto settings = http::read_management_settings(engine_->context().properties());
  if (settings && *settings) {
    const Result<void> serving = serve_management(*engine_, **settings);
    if (!serving) {
      engine_->log().error("drom", "cannot start: " + serving.error().message());
      return 78;
    }
  }
  return engine_->run(end_early);
}

}  // namespace drom
