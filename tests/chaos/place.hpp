// The database of a campaign: which kind, where, how to reach it past the engines, and how engines
// reach it. Plain data and functions of it.
#pragma once

#include <memory>
#include <string>

#include "chaos/store.hpp"

namespace drom::chaos {

enum class Database : uint8_t { postgres, mariadb, sqlite };

struct Place {
  Database database = Database::sqlite;
  std::string conninfo;        // postgres
  std::string mode = "claim";  // of the outbox on PostgreSQL
  uint16_t port = 0;           // mariadb
  std::string file;            // sqlite

  bool on_server() const { return database != Database::sqlite; }
  uint16_t server_port() const;
};

std::unique_ptr<Store> open_store(const Place& place);
// Ends up to `count` sessions of engines. False when the server does not answer.
bool end_sessions(const Place& place, int count);
// The type of the bean `db` and its properties in YAML; the port is the property {{dbport}}.
std::pair<std::string, std::string> data_source(const Place& place);

}  // namespace drom::chaos
