#include "connectors/sql/sql_endpoint.hpp"

namespace drom::sqlc {
namespace {

class SqlProducer final : public Producer {
 public:
  SqlProducer(const SqlServices& services, const SqlOptions& options)
      : database_(services.database), options_(options) {}

  bool takes_batches() const override { return true; }
  std::string data_source() const override { return database_.name(); }
  async<> run(Batch& batch, Scope& scope) override {
    const EvalScope eval = scope.eval();
    if (shares_a_unit(batch) && !options_.batch) co_return co_await run_together(batch, eval);
    for (Exchange& exchange : batch) {
      if (options_.batch)
        co_await run_list(exchange, eval);
      else
        co_await run_one(exchange, eval);
    }
  }

 private:
  // One transaction for all: they share the trip as well as the fate.
  async<> run_together(Batch& batch, const EvalScope& eval) {
    std::vector<sql::Command> commands;
    commands.reserve(batch.size());
    for (Exchange& exchange : batch) {
      const SqlInput input{exchange.message.body, exchange, eval, options_.separator};
      Result<sql::Command> command = bind_sql(options_.query, input);
      if (!command) {
        exchange.fail(std::move(command.error()));
        co_return;
      }
      commands.push_back(std::move(*command));
    }
    Result<std::vector<sql::Rows>> results =
        co_await sql::execute_all(batch.front(), database_, std::move(commands));
    if (!results) {
      for (Exchange& exchange : batch) exchange.fail(results.error());
      co_return;
    }
    for (size_t i = 0; i < batch.size(); ++i) take(batch[i], std::move((*results)[i]));
  }

  async<> run_one(Exchange& exchange, const EvalScope& eval) {
    const SqlInput input{exchange.message.body, exchange, eval, options_.separator};
    Result<sql::Command> command = bind_sql(options_.query, input);
    if (!command) {
      exchange.fail(std::move(command.error()));
      co_return;
    }
    Result<sql::Rows> rows = co_await sql::execute(exchange, database_, std::move(command->sql),
                                                   std::move(command->params));
    if (rows)
      take(exchange, std::move(*rows));
    else
      exchange.fail(std::move(rows.error()));
  }

  void take(Exchange& exchange, sql::Rows rows) const {
    if (rows.columns.empty()) {
      exchange.message.headers.set("CamelSqlUpdateCount", rows.affected);
      return;  // the body stays: an update has no result
    }
    Result<Value> result = result_of(rows);
    if (!result) {
      exchange.fail(std::move(result.error()));
      return;
    }
    const size_t count =
        options_.output == OutputType::select_one && rows.rows.empty() ? 0 : rows.rows.size();
    exchange.message.headers.set("CamelSqlRowCount", static_cast<int64_t>(count));
    if (!options_.output_header.empty())
      exchange.message.headers.set(options_.output_header, std::move(*result));
    else if (!options_.noop)
      exchange.message.body = std::move(*result);
  }

  // One statement, all elements of the body, one transaction.
  async<> run_list(Exchange& exchange, const EvalScope& eval) {
    const List* list = exchange.message.body.as_list();
    if (!list) {
      exchange.fail(Error(ErrorKind::data, "batch=true needs a list as the body",
                          "give one element per execution of the statement"));
      co_return;
    }
    std::vector<sql::Command> commands;
    commands.reserve(list->size());
    for (const Value& element : *list) {
      const SqlInput input{element, exchange, eval, options_.separator};
      Result<sql::Command> command = bind_sql(options_.query, input);
      if (!command) {
        exchange.fail(std::move(command.error()));
        co_return;
      }
      commands.push_back(std::move(*command));
    }
    int64_t total = 0;
    if (!commands.empty()) {
      Result<std::vector<sql::Rows>> results =
          co_await sql::execute_all(exchange, database_, std::move(commands));
      if (!results) {
        exchange.fail(std::move(results.error()));
        co_return;
      }
      for (const sql::Rows& rows : *results) total += rows.affected;
    }
    exchange.message.headers.set("CamelSqlUpdateCount", total);
  }

  Result<Value> result_of(const sql::Rows& rows) const {
    if (options_.output == OutputType::select_list) {
      List list;
      list.reserve(rows.rows.size());
      for (size_t i = 0; i < rows.rows.size(); ++i) list.emplace_back(rows.object(i));
      return Value(std::move(list));
    }
    if (rows.rows.size() > 1)
      return Error(ErrorKind::data,
                   "outputType=SelectOne got " + std::to_string(rows.rows.size()) + " rows",
                   "narrow the statement, or use outputType=SelectList");
    if (rows.rows.empty()) return Value();
    if (rows.columns.size() == 1) return rows.rows[0][0];
    return Value(rows.object(0));
  }

  sql::Database& database_;
  SqlOptions options_;
};

}  // namespace

std::unique_ptr<Producer> make_producer(const SqlServices& services, const SqlOptions& options) {
  return std::make_unique<SqlProducer>(services, options);
}

}  // namespace drom::sqlc
