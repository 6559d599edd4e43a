// drom-chaos: kills engines on real databases and counts what that costs. Also the engine that it
// kills: `drom-chaos engine VERB...` is `drom VERB...` with its failpoints alive.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "app/cli/common.hpp"
#include "chaos/campaign.hpp"
#include "chaos/clock_shift.hpp"
#include "chaos/dice.hpp"
#include "chaos/postgres_server.hpp"
#include "chaos/report.hpp"
#include "chaos/small_disk.hpp"
#ifdef DROM_MYSQL
#include "chaos/mariadb_server.hpp"
#endif
#include "rt/failpoint_plan.hpp"

namespace drom::chaos {
namespace {

namespace fs = std::filesystem;

int engine(int argc, char** argv) {
  jump_on_sigusr1();
  const Result<void> followed = follow_failpoints_of_environment();
  if (!followed) {
    std::fprintf(stderr, "error: %s\n", followed.error().message().c_str());
    return cli::kUsage;
  }
  return cli::run_program(argc - 1, argv + 1);
}

struct Options {
  size_t kills = 500;
  uint64_t seed = 0;
  std::string store = "both";
  std::string report;
  std::string conninfo;
  size_t round = 100;
  std::string mode = "claim";
  std::string sink = "http";
  bool keep = false;
  bool verbose = false;
};

// A folder that everybody may enter: the PostgreSQL server runs as its own user.
std::string make_folder() {
  std::string name = (fs::temp_directory_path() / "drom-chaos-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make a folder " + name);
  fs::permissions(name, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec |
                            fs::perms::group_read | fs::perms::others_read);
  return name;
}

std::unique_ptr<Broker> open_broker(const std::string& sink) {
#ifdef DROM_KAFKA
  if (sink == "kafka") return open_kafka();
#endif
#ifdef DROM_RABBITMQ
  if (sink == "rabbitmq") return open_rabbitmq();
#endif
  if (sink == "http") return nullptr;
  throw std::runtime_error("this build has no " + sink);
}

int run(const Options& options) {
  const std::string folder = make_folder();
  std::vector<CampaignReport> reports;
  std::vector<std::string> not_run;
  std::optional<SmallDisk> small;  // outlives the server on it
  PostgresServer server;
  CampaignOptions common;
  common.program = fs::read_symlink("/proc/self/exe");
  common.round = options.round;
  common.verbose = options.verbose;
  const std::unique_ptr<Broker> broker = open_broker(options.sink);
  common.broker = broker.get();
  if (!clock_jumps()) not_run.emplace_back("clock jumps: the shifted clock is not seen");

  const bool both = options.store == "both";
  if (both || options.store == "postgres") {
    CampaignOptions postgres = common;
    postgres.place.database = Database::postgres;
    postgres.place.mode = options.mode;
    postgres.name = options.mode == "claim" ? "postgres" : "postgres-" + options.mode;
    if (broker) postgres.name += "-" + broker->name();
    postgres.folder = folder + "/postgres";
    postgres.kills = both ? (options.kills + 1) / 2 : options.kills;
    postgres.seed = options.seed;
    postgres.place.conninfo = options.conninfo;
    if (!options.conninfo.empty()) {
      not_run.emplace_back("database crash: the PostgreSQL server is not ours");
    } else {
      small.emplace(folder + "/postgres-data", 4096);
      if (small->mounted())
        postgres.disk = &*small;
      else
        not_run.emplace_back("full disk of PostgreSQL: a small one cannot be mounted here");
      if (!server.start(folder + "/server", small->mounted() ? small->folder() : ""))
        throw std::runtime_error(server.trouble());
      postgres.server = &server;
      postgres.place.conninfo = server.conninfo("postgres");
    }
    reports.push_back(run_campaign(postgres));
    server.stop();
    small.reset();
  }
#ifdef DROM_MYSQL
  if (options.store == "mariadb") {
    MariadbServer own;
    CampaignOptions mariadb = common;
    mariadb.place.database = Database::mariadb;
    mariadb.name = "mariadb";
    if (broker) mariadb.name += "-" + broker->name();
    mariadb.folder = folder + "/mariadb";
    mariadb.kills = options.kills;
    mariadb.seed = options.seed;
    if (!own.start(folder + "/mariadb-server")) throw std::runtime_error(own.trouble());
    mariadb.server = &own;
    mariadb.place.port = own.port();
    reports.push_back(run_campaign(mariadb));
    own.stop();
  }
#endif
  if (both || options.store == "sqlite") {
    CampaignOptions sqlite = common;
    sqlite.place.database = Database::sqlite;
    sqlite.name = "sqlite";
    if (broker) sqlite.name += "-" + broker->name();
    sqlite.folder = folder + "/sqlite";
    sqlite.kills = both ? options.kills / 2 : options.kills;
    sqlite.seed = options.seed + 1;
    const SmallDisk disk(folder + "/disk", 4096);
    if (disk.mounted())
      sqlite.disk = &disk;
    else
      not_run.emplace_back("full disk of SQLite: a small one cannot be mounted here");
    if (sqlite.kills > 0) reports.push_back(run_campaign(sqlite));
  }
  const bool clean = print_report(options.seed, reports, not_run, options.report);
  if (clean && !options.keep) {
    fs::remove_all(folder);
  } else {
    std::fprintf(stderr, "drom-chaos: logs and history are in %s\n", folder.c_str());
  }
  return clean ? 0 : 1;
}

}  // namespace
}  // namespace drom::chaos

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "engine") return drom::chaos::engine(argc, argv);
  drom::chaos::Options options;
  CLI::App app("Kills engines on real databases, disturbs them in every other way, and judges");
  app.name("drom-chaos");
  app.add_option("--kills", options.kills, "How many kills")->capture_default_str();
  app.add_option("--seed", options.seed, "Of all choices; 0 takes one by the clock");
  app.add_option("--store", options.store,
                 "postgres, mariadb, sqlite, or both: PostgreSQL and SQLite")
      ->check(CLI::IsMember({"postgres", "mariadb", "sqlite", "both"}))
      ->capture_default_str();
  app.add_option("--mode", options.mode,
                 "Of the outbox on PostgreSQL; tableless: cdc, events without rows")
      ->check(CLI::IsMember({"claim", "log", "cdc", "tableless"}))
      ->capture_default_str();
  app.add_option("--sink", options.sink,
                 "Where the relays deliver: a server of our own, or a broker that with_servers.sh "
                 "has started for us alone")
      ->check(CLI::IsMember({"http", "kafka", "rabbitmq"}))
      ->capture_default_str();
  app.add_option("--round", options.round, "Kills between two drains")->capture_default_str();
  app.add_option("--report", options.report, "Also writes the report to this file (Markdown)");
  app.add_option("--postgres", options.conninfo,
                 "An empty database to use (libpq keywords) instead of a server of our own");
  app.add_flag("--keep", options.keep, "Keeps logs and history");
  app.add_flag("--verbose", options.verbose, "Tells how it goes");
  CLI11_PARSE(app, argc, argv);
  if (options.seed == 0) options.seed = static_cast<uint64_t>(drom::chaos::now_ns()) % 1'000'000;
  try {
    return drom::chaos::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "drom-chaos: %s\n", error.what());
    return 1;
  }
}
