#include "sql/sql_idempotent_repository.hpp"

#include <algorithm>
#include <numeric>

#include "drom/rt/unit_of_work.hpp"
#include "drom/spi/build_context.hpp"
#include "rt/task_group.hpp"
#include "sql/data_source.hpp"
#include "sql/inbox_janitor.hpp"

namespace drom {
namespace {

constexpr milliseconds kStopLimit{5000};

bool is_table_name(std::string_view text) {
  if (text.empty() || text.size() > 63 || (text.front() >= '0' && text.front() <= '9'))
    return false;
  for (const char c : text) {
    const bool word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!word && c != '.') return false;
  }
  return text.front() != '.' && text.back() != '.' && text.find('.') == text.rfind('.');
}

// affected == 1 tells a new key. MySQL's INSERT IGNORE would also cut keys that are too long; there
// a duplicate counts its deliveries, which affects two rows by MySQL's count.
std::string insert_statement(sql::Dialect dialect, const std::string& table) {
  return "INSERT INTO " + table + " (consumer, message_id) VALUES ($1, $2) ON " +
         (dialect == sql::Dialect::mysql ? "DUPLICATE KEY UPDATE deliveries = deliveries + 1"
                                         : "CONFLICT DO NOTHING");
}

class SqlIdempotentRepository final : public IdempotentRepository {
 public:
  SqlIdempotentRepository(sql::Database& database, const std::string& table)
      : database_(database),
        insert_(insert_statement(database.dialect(), table)),
        remove_("DELETE FROM " + table + " WHERE consumer = $1 AND message_id = $2"),
        contains_("SELECT 1 FROM " + table + " WHERE consumer = $1 AND message_id = $2") {}

  async<Result<bool>> add(std::string_view consumer, std::string_view key,
                          Exchange& exchange) override {
    List params = parameters(consumer, key);
    Result<sql::Rows> rows = co_await sql::execute(exchange, database_, insert_, std::move(params));
    if (!rows) co_return std::move(rows.error());
    co_return rows->affected == 1;
  }

  std::string data_source() const override { return database_.name(); }

  // In the order of the keys: two batches with the same keys wait for each other, but never in a
  // circle.
  async<Result<std::vector<bool>>> add_all(std::string consumer, std::vector<std::string> keys,
                                           Batch& exchanges) override {
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {},
                      [&](size_t i) { return std::pair<std::string_view, size_t>(keys[i], i); });
    std::vector<sql::Command> commands;
    commands.reserve(keys.size());
    for (const size_t i : order) commands.push_back({insert_, parameters(consumer, keys[i])});
    Result<std::vector<sql::Rows>> results =
        co_await sql::execute_all(exchanges.front(), database_, std::move(commands));
    if (!results) co_return std::move(results.error());
    std::vector<bool> out(keys.size());
    for (size_t i = 0; i < order.size(); ++i) out[order[i]] = (*results)[i].affected == 1;
    co_return out;
  }

  async<Result<void>> confirm(std::string_view, std::string_view, Exchange&) override {
    co_return Result<void>();
  }

  // A unit of work that rolls back frees the key by itself, and only there: deleting it afterwards
  // could take away the key of another delivery that has meanwhile succeeded.
  async<Result<void>> remove(std::string_view consumer, std::string_view key,
                             Exchange& exchange) override {
    if (exchange.unit && exchange.unit->rollback_only()) co_return Result<void>();
    List params = parameters(consumer, key);
    Result<sql::Rows> rows = co_await sql::execute(exchange, database_, remove_, std::move(params));
    if (!rows) co_return std::move(rows.error());
    co_return Result<void>();
  }

  async<Result<bool>> contains(std::string_view consumer, std::string_view key) override {
    List params = parameters(consumer, key);
    Result<sql::Rows> rows = co_await database_.execute(contains_, std::move(params));
    if (!rows) co_return std::move(rows.error());
    co_return !rows->rows.empty();
  }

 private:
  static List parameters(std::string_view consumer, std::string_view key) {
    List out;
    out.emplace_back(consumer);
    out.emplace_back(key);
    return out;
  }

  sql::Database& database_;
  std::string insert_;
  std::string remove_;
  std::string contains_;
};

ConfigSpec bean_spec() {
  ConfigSpec spec;
  spec.name = "drom.sqlIdempotentRepository";
  spec.title = "SQL idempotent repository";
  spec.doc =
      "The inbox: remembers handled message ids in a table. Inside a transacted block the key "
      "commits together "
      "with what the steps have written, so that the effect of a message happens once, even when "
      "it is "
      "delivered again. Keys of different consumers do not disturb each other.";
  OptionSpec source;
  source.name = "dataSource";
  source.type = OptionType::reference;
  source.doc = "Data source that holds the table; not needed when there is only one.";
  source.example = "#orders";
  OptionSpec table;
  table.name = "table";
  table.doc = "Name of the table.";
  table.fallback = "drom_inbox";
  OptionSpec create;
  create.name = "createTable";
  create.type = OptionType::boolean;
  create.doc = "Whether the table is created when it does not exist.";
  create.fallback = "true";
  OptionSpec retention;
  retention.name = "retention";
  retention.type = OptionType::duration;
  retention.doc =
      "How long keys are kept. A message that comes again later, also one that a person replays, "
      "has its effect again. 0 keeps them for ever.";
  retention.fallback = "30d";
  retention.minimum = 0;
  spec.options = {std::move(source), std::move(table), std::move(create), std::move(retention)};
  spec.example =
      "- beans:\n"
      "    - name: inbox\n"
      "      type: drom.sqlIdempotentRepository\n"
      "      properties: {dataSource: \"#orders\"}\n";
  return spec;
}

// Deletes old keys while the engine runs.
struct Retention {
  std::string name;
  InboxJanitor janitor;
  TaskGroup tasks;
};

async<Result<void>> start_retention(std::shared_ptr<Retention> work) {
  work->tasks.spawn(work->name, work->janitor.run());
  co_return Result<void>();
}

async<> stop_retention(std::shared_ptr<Retention> work) {
  work->janitor.stop();
  const bool ended = co_await work->tasks.wait(kStopLimit);
  if (!ended) work->tasks.cancel();
}

void keep_short(const std::string& name, sql::Database& database, const std::string& table,
                milliseconds retention, BuildContext& context) {
  const std::string title = "retention of inbox " + name;
  const auto work = std::make_shared<Retention>(
      title, InboxJanitor(database, context.clock(), context.log(), table, retention),
      TaskGroup(context.io(), context.clock(), context.log()));
  context.on_start(title, [work] { return start_retention(work); });
  context.on_stop(title, [work] { return stop_retention(work); });
}

Result<void> make_bean(const std::string& name, const Config& config, BuildContext& context) {
  Result<sql::Database*> database =
      sql::find_data_source(context.registry(), config.text("dataSource"));
  if (!database) return std::move(database.error());
  if (!is_table_name(config.text("table")))
    return Error(ErrorKind::config,
                 "'" + config.text("table") + "' cannot be the name of the inbox table",
                 "use letters, digits and underscores");
  const std::string& table = config.text("table");
  context.registry().bind<IdempotentRepository>(name,
                                                make_sql_idempotent_repository(**database, table));
  // Not on first use: that is inside a transaction, which would have to wait for itself.
  if (config.flag("createTable"))
    context.on_start("inbox " + name,
                     [source = *database, table] { return prepare_inbox(*source, table); });
  const milliseconds retention = config.duration("retention");
  if (retention.count() > 0) keep_short(name, **database, table, retention, context);
  return {};
}

// MySQL: keys compare byte by byte, also their trailing blanks, which utf8mb4_bin would not see.
std::string mysql_inbox_ddl(const std::string& table, const std::string& index_name) {
  const std::string exact =
      " CHARACTER SET utf8mb4 /*M! COLLATE utf8mb4_nopad_bin */ /*!80017 COLLATE utf8mb4_0900_bin "
      "*/ NOT NULL";
  return "CREATE TABLE IF NOT EXISTS " + table + " (\n  consumer varchar(200)" + exact +
         ",\n  message_id varchar(500)" + exact +
         ",\n  created_at datetime(3) NOT NULL DEFAULT (utc_timestamp(3))"
         ",\n  deliveries bigint NOT NULL DEFAULT 1"
         ",\n  PRIMARY KEY (consumer, message_id),\n  INDEX " +
         index_name + "_created (created_at)\n) ENGINE=InnoDB;\n";
}

}  // namespace

std::string inbox_ddl(sql::Dialect dialect, const std::string& table) {
  const bool postgres = dialect == sql::Dialect::postgres;
  const std::string index_name = table.substr(table.find('.') + 1);
  if (dialect == sql::Dialect::mysql) return mysql_inbox_ddl(table, index_name);
  return "CREATE TABLE IF NOT EXISTS " + table +
         " (\n  consumer text NOT NULL,\n  message_id text NOT NULL,\n  created_at " +
         (postgres ? "timestamptz NOT NULL DEFAULT now()"
                   : "text NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))") +
         ",\n  PRIMARY KEY (consumer, message_id)\n)" + (postgres ? "" : " WITHOUT ROWID") +
         ";\nCREATE INDEX IF NOT EXISTS " + index_name + "_created ON " + table +
         " (created_at);\n";
}

async<Result<void>> prepare_inbox(sql::Database& database, std::string table) {
  const std::string probe = "SELECT consumer, message_id FROM " + table + " LIMIT 0";
  List none;
  Result<sql::Rows> there = co_await database.execute(probe, std::move(none));
  if (there) co_return Result<void>();
  if (there.error().kind != ErrorKind::rejected) co_return std::move(there.error());
  Result<void> created = co_await database.script(inbox_ddl(database.dialect(), table));
  if (created) co_return created;
  List again;  // another process may have been faster
  there = co_await database.execute(probe, std::move(again));
  if (there) co_return Result<void>();
  co_return created;
}

std::shared_ptr<IdempotentRepository> make_sql_idempotent_repository(sql::Database& database,
                                                                     const std::string& table) {
  return std::make_shared<SqlIdempotentRepository>(database, table);
}

void register_sql_idempotent(Registry& registry) {
  BeanInfo info;
  info.type = "drom.sqlIdempotentRepository";
  info.spec = bean_spec;
  info.make = make_bean;
  info.aliases = {
      "org.apache.camel.processor.idempotent.jdbc.JdbcMessageIdRepository",
      "org.apache.camel.processor.idempotent.jdbc.JdbcCachedMessageIdRepository",
      "org.apache.camel.processor.idempotent.jdbc.JdbcOrphanLockAwareIdempotentRepository"};
  registry.add(std::move(info));
}

}  // namespace drom
