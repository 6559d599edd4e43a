// A PostgreSQL of our own: a fresh cluster with fsync on in a private folder, which may be crashed
// and started again. Needs the server's programs (Debian: /usr/lib/postgresql/*/bin).
#pragma once

#include <string>

#include "chaos/child.hpp"
#include "chaos/database_server.hpp"

namespace drom::chaos {

class PostgresServer final : public DatabaseServer {
 public:
  // False: the programs are not there, or it did not start; `trouble` says which.
  // `data`, when given, is an empty folder for the data; the log of transactions stays in `folder`.
  bool start(const std::string& folder, const std::string& data = "");
  // SIGQUIT to all its processes, as in a crash, then starts it again and waits.
  bool crash_and_restart() override;
  bool ended() override;
  void stop();
  uint16_t port() const { return port_; }
  std::string conninfo(const std::string& database) const;
  const std::string& trouble() const override { return trouble_; }

 private:
  bool launch();
  ChildOptions as_server(std::vector<std::string> arguments) const;

  std::string bin_;
  std::string folder_;
  std::string data_;
  uint16_t port_ = 0;
  Child process_;
  std::string trouble_;
};

}  // namespace drom::chaos
