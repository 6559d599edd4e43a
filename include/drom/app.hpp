// A complete engine with everything built in: all steps, connectors, formats and data sources of
// this build. What a C++ program starts from:
//
//   int main(int argc, char** argv) {
//     drom::App app(argc, argv);
//     app.routes().from("timer:tick?period=1s").log("tick");
//     return app.run();
//   }
//
// The command line takes `-D name=value` (properties for {{name}}); application.properties of the
// current folder is read as well. run() prints every configuration error and returns 78, or runs
// until SIGINT or SIGTERM. One thread; see Engine for what may be called when.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drom/dsl/routes.hpp"
#include "drom/engine/engine.hpp"

namespace drom {

// Registers all components, steps, formats and bean types of this build.
void register_builtin(Registry& registry);

// Properties from -D pairs (first), application.properties of `folders` and the environment. A file
// that cannot be read right is reported.
std::shared_ptr<const PropertySource> load_properties(
    const std::vector<std::pair<std::string, std::string>>& defines,
    const std::vector<std::string>& folders, Diagnostics& diagnostics);

class App {
 public:
  explicit App(EngineOptions options = {});
  // `defaults` are properties that -D and application.properties may replace.
  App(int argc, char** argv, Named defaults = {});

  Engine& engine() { return *engine_; }
  Registry& registry() { return engine_->registry(); }
  Routes& routes() { return routes_; }
  // Adds the routes of a YAML file; false: see engine().diagnostics().
  bool load(const std::string& file);
  // Builds; false: see engine().diagnostics().
  bool build();
  // Builds and runs; the process exit code.
  int run();
  // What run() does after build(): serves health and metrics when a property asks for them
  // (drom.management.port), and runs the engine. `end_early` as in Engine::run().
  int serve(const std::function<bool()>& end_early = {});

 private:
  int usage_error_ = 0;  // the exit code of a wrong command line
  Routes routes_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drom
