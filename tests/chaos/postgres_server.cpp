#include "chaos/postgres_server.hpp"

#include <libpq-fe.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "chaos/http_io.hpp"

namespace drom::chaos {
namespace fs = std::filesystem;

ChildOptions PostgresServer::as_server(std::vector<std::string> arguments) const {
  ChildOptions out;
  out.arguments = std::move(arguments);
  out.log = folder_ + "/log";
  out.death_signal = SIGINT;  // a fast shutdown
  if (::geteuid() == 0) {     // it refuses to run as root
    if (const passwd* user = ::getpwnam("postgres")) {
      out.user = user->pw_uid;
      out.group = user->pw_gid;
    }
  }
  return out;
}

bool PostgresServer::start(const std::string& folder, const std::string& data) {
  folder_ = folder;
  data_ = data.empty() ? folder + "/data" : data;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ec))
    if (fs::exists(entry.path() / "bin/initdb")) bin_ = entry.path() / "bin";
  if (bin_.empty()) {
    trouble_ = "the programs of a PostgreSQL server are not installed";
    return false;
  }
  fs::create_directories(folder_);
  const ChildOptions init =
      as_server({bin_ + "/initdb", "-D", data_, "-X", folder_ + "/wal", "-A", "trust", "-U",
                 "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"});
  for (const std::string& owned : {folder_, data})
    if (init.user && !owned.empty() && ::chown(owned.c_str(), *init.user, *init.group) != 0) {
      trouble_ = "cannot hand over " + owned;
      return false;
    }
  Child child;
  child.start(init);
  const auto status = child.wait(milliseconds(120'000));
  if (!status || *status != 0) {
    trouble_ = "initdb failed, see " + folder_ + "/log";
    return false;
  }
  port_ = free_port();
  std::ofstream conf(data_ + "/postgresql.conf", std::ios::app);
  conf << "listen_addresses = '127.0.0.1'\nport = " << port_ << "\nunix_socket_directories = '"
       << folder_
       << "'\nfsync = on\nwal_level = logical\nmax_connections = 200\nlog_timezone = UTC\ntimezone "
          "= UTC\n";
  conf.close();
  return launch();
}

bool PostgresServer::launch() {
  process_.start(as_server({bin_ + "/postgres", "-D", data_}));
  const std::string conninfo = this->conninfo("postgres") + " connect_timeout=5";
  for (int i = 0; i < 6000; ++i) {
    if (PQping(conninfo.c_str()) == PQPING_OK) return true;
    if (process_.ended()) break;
    sleep_for(milliseconds(10));
  }
  trouble_ = "the PostgreSQL server did not start, see " + folder_ + "/log";
  return false;
}

bool PostgresServer::ended() { return process_.ended() || !process_.running(); }

bool PostgresServer::crash_and_restart() {
  process_.signal(SIGQUIT);
  if (!process_.wait(milliseconds(30'000))) process_.end();
  return launch();
}

void PostgresServer::stop() {
  process_.signal(SIGINT);
  process_.wait(milliseconds(10'000));
  process_.end();
}

std::string PostgresServer::conninfo(const std::string& database) const {
  return "host=127.0.0.1 port=" + std::to_string(port_) + " user=postgres dbname=" + database;
}

}  // namespace drom::chaos
