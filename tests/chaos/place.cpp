#include "chaos/place.hpp"

namespace drom::chaos {
namespace {

constexpr const char* kServerOptions =
    "port: \"{{dbport}}\", poolSize: 8, connectTimeout: 1s, statementTimeout: 2s, "
    "acquireTimeout: 2s, outbox: sends }";

}  // namespace

uint16_t Place::server_port() const {
  if (database != Database::postgres) return port;
  return static_cast<uint16_t>(std::stoi(conninfo.substr(conninfo.find("port=") + 5)));
}

std::unique_ptr<Store> open_store(const Place& place) {
#ifdef DROM_MYSQL
  if (place.database == Database::mariadb) return open_mariadb(place.port);
#endif
  if (place.database == Database::postgres) return open_postgres(place.conninfo, place.mode);
  return open_sqlite(place.file);
}

bool end_sessions(const Place& place, int count) {
#ifdef DROM_MYSQL
  if (place.database == Database::mariadb) return kill_sessions(place.port, count);
#endif
  return terminate_backends(place.conninfo, count);
}

std::pair<std::string, std::string> data_source(const Place& place) {
  switch (place.database) {
    case Database::mariadb:  // without TLS, so that the proxy sees what passes
      return {"drom.mysql",
              std::string("{ url: \"mysql://engine@127.0.0.1/chaos\", sslmode: disable, ") +
                  kServerOptions};
    case Database::postgres:
      return {"drom.postgres",
              "{ url: \"" + place.conninfo + " application_name=engine\", " + kServerOptions};
    case Database::sqlite:
      return {"drom.sqlite",
              "{ file: \"" + place.file +
                  "\", busyTimeout: 2s, acquireTimeout: 2s, readers: 1, outbox: sends }"};
  }
  return {};
}

}  // namespace drom::chaos
