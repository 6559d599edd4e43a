// A MariaDB of our own: a fresh data folder with every commit flushed, which may be killed and
// started again. Needs the server's programs (Debian: mariadb-server). Without TLS, so that the
// fault proxy can see what passes.
#pragma once

#include <string>

#include "chaos/child.hpp"
#include "chaos/database_server.hpp"

namespace drom::chaos {

class MariadbServer final : public DatabaseServer {
 public:
  // False: the programs are not there, or it did not start; `trouble` says which.
  bool start(const std::string& folder);
  bool crash_and_restart() override;
  bool ended() override;
  void stop();
  const std::string& trouble() const override { return trouble_; }
  uint16_t port() const { return port_; }

 private:
  bool launch();
  bool answers() const;
  ChildOptions as_server(std::vector<std::string> arguments) const;

  std::string folder_;
  uint16_t port_ = 0;
  Child process_;
  std::string trouble_;
};

}  // namespace drom::chaos
