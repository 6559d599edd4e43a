// What the benchmarks measure Dromedary against: a database spoken to through its C library and
// nothing else, in the way a careful program of one loop would: statements prepared once, and, on
// PostgreSQL, a whole transaction sent in one trip (pipeline mode). Every failure ends the program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "drom/sql/database.hpp"

namespace drom::bench {

using Param = std::variant<int64_t, std::string>;

struct Command {
  std::string sql;  // with $1, $2 ...; prepared when it comes for the first time
  std::vector<Param> params;
};

class BareDatabase {
 public:
  virtual ~BareDatabase() = default;
  virtual sql::Dialect dialect() const = 0;
  // Statements without parameters, separated by semicolons.
  virtual void script(const std::string& text) = 0;
  // All commands, in one transaction if `together`, else each in its own. Reads every row of the
  // last one and returns its first column.
  virtual std::vector<int64_t> run(const std::vector<Command>& commands, bool together) = 0;
  int64_t number(const std::string& query);
};

std::unique_ptr<BareDatabase> open_bare_sqlite(const std::string& file);
std::unique_ptr<BareDatabase> open_bare_postgres(const std::string& conninfo);
std::unique_ptr<BareDatabase> open_bare_mysql(const std::string& url);

// Ends the program with what went wrong unless `ok`.
void check(bool ok, const std::string& what, const std::string& detail = "");

}  // namespace drom::bench
