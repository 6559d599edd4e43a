#include "chaos/mariadb_server.hpp"

#include <mariadb/mysql.h>
#include <pwd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "chaos/http_io.hpp"

namespace drom::chaos {
namespace fs = std::filesystem;
namespace {

constexpr const char* kServer = "/usr/sbin/mariadbd";
constexpr const char* kInstall = "/usr/bin/mariadb-install-db";

}  // namespace

ChildOptions MariadbServer::as_server(std::vector<std::string> arguments) const {
  ChildOptions out;
  out.arguments = std::move(arguments);
  out.log = folder_ + "/log";
  out.death_signal = SIGTERM;
  if (::geteuid() == 0) {  // it refuses to run as root
    if (const passwd* user = ::getpwnam("mysql")) {
      out.user = user->pw_uid;
      out.group = user->pw_gid;
    }
  }
  return out;
}

bool MariadbServer::start(const std::string& folder) {
  folder_ = folder;
  if (!fs::exists(kServer) || !fs::exists(kInstall)) {
    trouble_ = "the programs of a MariaDB server are not installed";
    return false;
  }
  fs::create_directories(folder_);
  const ChildOptions install =
      as_server({kInstall, "--no-defaults", "--datadir=" + folder_ + "/data",
                 "--auth-root-authentication-method=normal", "--skip-test-db"});
  if (install.user && ::chown(folder_.c_str(), *install.user, *install.group) != 0) {
    trouble_ = "cannot hand over " + folder_;
    return false;
  }
  Child child;
  child.start(install);
  const auto status = child.wait(milliseconds(120'000));
  if (!status || *status != 0) {
    trouble_ = "mariadb-install-db failed, see " + folder_ + "/log";
    return false;
  }
  port_ = free_port();
  return launch();
}

bool MariadbServer::answers() const {
  MYSQL* const handle = mysql_init(nullptr);
  const bool there = mysql_real_connect(handle, "127.0.0.1", "root", nullptr, nullptr, port_,
                                        nullptr, 0) != nullptr;
  mysql_close(handle);
  return there;
}

bool MariadbServer::launch() {
  process_.start(as_server({kServer, "--no-defaults", "--datadir=" + folder_ + "/data",
                            "--bind-address=127.0.0.1", "--port=" + std::to_string(port_),
                            "--socket=" + folder_ + "/socket", "--pid-file=" + folder_ + "/pid",
                            "--max-connections=200", "--skip-name-resolve",
                            "--innodb-flush-log-at-trx-commit=1", "--character-set-server=utf8mb4",
                            "--collation-server=utf8mb4_bin"}));
  for (int i = 0; i < 3000; ++i) {
    if (answers()) return true;
    if (process_.ended()) break;
    sleep_for(milliseconds(20));
  }
  trouble_ = "the MariaDB server did not start, see " + folder_ + "/log";
  return false;
}

bool MariadbServer::ended() { return process_.ended() || !process_.running(); }

bool MariadbServer::crash_and_restart() {
  process_.end();
  return launch();
}

void MariadbServer::stop() {
  process_.signal(SIGTERM);
  process_.wait(milliseconds(15'000));
  process_.end();
}

}  // namespace drom::chaos
