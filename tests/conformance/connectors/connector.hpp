// What the conformance suite needs to know of a connector: how its routes name a queue, what it can
// do, and how its server is disturbed. One object per connector, made in connectors.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drom/app.hpp"

namespace drom::conformance {

// What not every connector promises: its tests are made for those that do.
struct Features {
  bool keeps = false;  // messages outlive the engine: stop and start, and nothing is missing
  bool again = false;  // a message whose route failed comes again, or its sender learns of it
  bool unicode_headers = true;
  bool bytes = false;     // headers of raw bytes travel as they are
  bool bounded = false;   // takes no more than a window from its source while the route is busy
  bool cuttable = false;  // cut() and heal() work
  bool restarts = false;  // restart_server() works
};

class Connector {
 public:
  virtual ~Connector() = default;
  virtual std::string name() const = 0;
  virtual Features features() const = 0;
  // Why it cannot be tested here: "DROM_TEST_KAFKA is not set".
  virtual std::optional<std::string> missing() const { return std::nullopt; }
  // Makes the queue, where the connector does not do so by itself.
  virtual void create(const std::string& queue) { static_cast<void>(queue); }
  // Beans for both routes, and properties.
  virtual void prepare(Routes& routes, const std::string& queue) {
    static_cast<void>(routes);
    static_cast<void>(queue);
  }
  virtual std::vector<std::pair<std::string, std::string>> properties() const { return {}; }
  virtual std::string source(const std::string& queue) const = 0;
  virtual std::string sink(const std::string& queue) const = 0;
  // The network between the engine and its server. cut() ends open connections.
  virtual void cut() {}
  virtual void heal() {}
  // Kills the server; it is there again when this returns.
  virtual void restart_server() {}
};

using ConnectorFactory = std::unique_ptr<Connector> (*)();

// All connectors of this build.
const std::vector<std::pair<std::string, ConnectorFactory>>& connectors();

}  // namespace drom::conformance
