#include <libpq-fe.h>

#include <map>

#include "bare/bare_database.hpp"

namespace drom::bench {
namespace {

class BarePostgres final : public BareDatabase {
 public:
  explicit BarePostgres(const std::string& conninfo) : db_(PQconnectdb(conninfo.c_str())) {
    check(PQstatus(db_) == CONNECTION_OK, "connect", PQerrorMessage(db_));
    script("SET client_min_messages = warning");
  }
  ~BarePostgres() override { PQfinish(db_); }

  sql::Dialect dialect() const override { return sql::Dialect::postgres; }

  void script(const std::string& text) override { take(PQexec(db_, text.c_str()), text); }

  std::vector<int64_t> run(const std::vector<Command>& commands, bool together) override {
    for (const Command& command : commands) prepare(command.sql);
    check(PQenterPipelineMode(db_) == 1, "pipeline", PQerrorMessage(db_));
    if (together) send("BEGIN", {});
    for (const Command& command : commands) {
      send(names_[command.sql], command.params);
      if (!together) PQpipelineSync(db_);
    }
    if (together) send("COMMIT", {});
    if (together) PQpipelineSync(db_);
    std::vector<int64_t> out;
    if (together) next("BEGIN");
    for (const Command& command : commands) {
      out = next(command.sql);
      if (!together) sync();
    }
    if (together) next("COMMIT");
    if (together) sync();
    PQexitPipelineMode(db_);
    return out;
  }

 private:
  void prepare(const std::string& sql) {
    for (const char* word : {"BEGIN", "COMMIT"})
      if (known_.emplace(word, true).second) take(PQprepare(db_, word, word, 0, nullptr), word);
    std::string& name = names_[sql];
    if (!name.empty()) return;
    name = "s" + std::to_string(names_.size());
    take(PQprepare(db_, name.c_str(), sql.c_str(), 0, nullptr), sql);
  }
  void send(const std::string& name, const std::vector<Param>& params) {
    std::vector<std::string> numbers;
    std::vector<const char*> values;
    numbers.reserve(params.size());
    for (const Param& param : params) {
      if (const auto* number = std::get_if<int64_t>(&param)) {
        numbers.push_back(std::to_string(*number));
        values.push_back(numbers.back().c_str());
      } else {
        values.push_back(std::get<std::string>(param).c_str());
      }
    }
    check(PQsendQueryPrepared(db_, name.c_str(), static_cast<int>(values.size()), values.data(),
                              nullptr, nullptr, 0) == 1,
          name, PQerrorMessage(db_));
  }
  std::vector<int64_t> next(const std::string& sql) {
    std::vector<int64_t> out;
    PGresult* const result = PQgetResult(db_);
    for (int i = 0; i < PQntuples(result); ++i)
      out.push_back(std::strtoll(PQgetvalue(result, i, 0), nullptr, 10));
    take(result, sql);
    check(PQgetResult(db_) == nullptr, sql, "more than one result");
    return out;
  }
  void sync() {
    PGresult* const result = PQgetResult(db_);
    check(PQresultStatus(result) == PGRES_PIPELINE_SYNC, "sync", PQerrorMessage(db_));
    PQclear(result);
  }
  void take(PGresult* result, const std::string& sql) {
    const ExecStatusType status = PQresultStatus(result);
    check(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, sql, PQerrorMessage(db_));
    PQclear(result);
  }

  PGconn* db_;
  std::map<std::string, std::string> names_;  // SQL -> name of the prepared statement
  std::map<std::string, bool> known_;
};

}  // namespace

std::unique_ptr<BareDatabase> open_bare_postgres(const std::string& conninfo) {
  return std::make_unique<BarePostgres>(conninfo);
}

}  // namespace drom::bench
