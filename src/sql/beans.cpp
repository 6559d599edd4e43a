#include "sql/beans.hpp"

#include "sql/kept_sends.hpp"
#include "sql/sql.hpp"
#include "sql/sqlite/sqlite_database.hpp"

namespace drom::sql {
namespace {

ConfigSpec sqlite_spec() {
  ConfigSpec spec;
  spec.name = "drom.sqlite";
  spec.title = "SQLite data source";
  spec.doc =
      "One SQLite file as a data source: one connection writes, a few others read beside it. Use "
      "it for "
      "programs on one machine; the outbox and the inbox work in it as they do in PostgreSQL.";
  spec.options = {
      {.name = "file",
       .doc =
           "The database file; it and its folder are created when missing, :memory: keeps nothing.",
       .example = "./data/orders.db",
       .required = true},
      {.name = "synchronous",
       .type = OptionType::enumeration,
       .doc = "How hard a commit is pressed to disk; below FULL a power loss may undo the last "
              "commits.",
       .fallback = "FULL",
       .values = {"OFF", "NORMAL", "FULL", "EXTRA"}},
      {.name = "busyTimeout",
       .type = OptionType::duration,
       .doc = "How long a statement waits for a lock that another process holds.",
       .fallback = "5s",
       .minimum = 0,
       .maximum = 3'600'000},
      {.name = "readers",
       .type = OptionType::integer,
       .doc = "Connections that serve SELECT statements outside transactions.",
       .fallback = "2",
       .minimum = 0,
       .maximum = 64},
  };
  for (OptionSpec& option : common_bean_options()) spec.options.push_back(std::move(option));
  spec.example =
      "- beans:\n"
      "    - name: orders\n"
      "      type: drom.sqlite\n"
      "      properties:\n"
      "        file: ./data/orders.db\n"
      "        init: CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT "
      "NULL)\n";
  return spec;
}

SqliteOptions common_options(const std::string& name, std::string file, const Config& config) {
  SqliteOptions options;
  options.name = name;
  options.file = std::move(file);
  options.acquire_timeout = config.duration("acquireTimeout");
  options.statements_max = static_cast<size_t>(config.integer("statements"));
  options.init = config.text("init");
  return options;
}

Result<void> make_sqlite_bean(const std::string& name, const Config& config,
                              BuildContext& context) {
  SqliteOptions options = common_options(name, config.text("file"), config);
  options.synchronous = config.text("synchronous");
  options.busy_timeout = config.duration("busyTimeout");
  options.readers = static_cast<size_t>(config.integer("readers"));
  bind_database(name, make_sqlite(std::move(options), context.io(), context.clock(), context.log()),
                config, context);
  return {};
}

ConfigSpec jdbc_spec() {
  ConfigSpec spec;
  spec.name = "drom.jdbc";
  spec.title = "Data source with a JDBC url";
  spec.doc =
      "A data source as Java programs declare it: the url picks SQLite, PostgreSQL or "
      "MariaDB and MySQL. Use it to keep the bean of a Camel route file; new files say "
      "drom.sqlite, drom.postgres or drom.mysql.";
  spec.options = {
      {.name = "jdbcUrl",
       .doc = "The url, as HikariCP calls it.",
       .example = "jdbc:postgresql://localhost:5432/shop"},
      {.name = "url",
       .doc = "The url, as Commons DBCP calls it.",
       .example = "jdbc:sqlite:./data/shop.db"},
      {.name = "username", .doc = "The database user (not SQLite)."},
      {.name = "password", .doc = "The password of the user (not SQLite).", .secret = true},
      {.name = "driverClassName", .doc = "The Java driver; the url alone decides here."},
  };
  for (OptionSpec& option : server_bean_options()) spec.options.push_back(std::move(option));
  for (OptionSpec& option : common_bean_options()) spec.options.push_back(std::move(option));
  spec.example =
      "- beans:\n"
      "    - name: shop\n"
      "      type: com.zaxxer.hikari.HikariDataSource\n"
      "      properties:\n"
      "        jdbcUrl: jdbc:sqlite:./data/shop.db\n";
  return spec;
}

Result<std::shared_ptr<Database>> make_jdbc(const std::string& name, const Config& config,
                                            BuildContext& context) {
  const std::string url = config.has("jdbcUrl") ? config.text("jdbcUrl") : config.text("url");
  const std::string_view sqlite = "jdbc:sqlite:";
  if (url.starts_with(sqlite)) {
    SqliteOptions options = common_options(name, url.substr(sqlite.size()), config);
    return make_sqlite(std::move(options), context.io(), context.clock(), context.log());
  }
#ifdef DROM_POSTGRES
  const std::string_view jdbc = "jdbc:";
  if (url.starts_with("jdbc:postgresql:")) {
    std::vector<std::pair<std::string, std::string>> keywords;
    if (config.has("username")) keywords.emplace_back("user", config.text("username"));
    if (config.has("password")) keywords.emplace_back("password", config.text("password"));
    return make_postgres_from(name, url.substr(jdbc.size()), std::move(keywords), config, context);
  }
#endif
#ifdef DROM_MYSQL
  if (url.starts_with("jdbc:mysql:") || url.starts_with("jdbc:mariadb:"))
    return make_mysql_from(name, url, config, context);
#endif
  // The url may hold a password, so it is not repeated here.
  return Error(ErrorKind::config, "the url of data source '" + name + "' names no known database",
               "write jdbc:postgresql://host:5432/database, jdbc:mariadb://host:3306/database or "
               "jdbc:sqlite:path");
}

Result<void> make_jdbc_bean(const std::string& name, const Config& config, BuildContext& context) {
  Result<std::shared_ptr<Database>> made = make_jdbc(name, config, context);
  if (!made) return made.error();
  bind_database(name, std::move(*made), config, context);
  return {};
}

}  // namespace

std::vector<OptionSpec> common_bean_options() {
  return {
      {.name = "acquireTimeout",
       .type = OptionType::duration,
       .doc =
           "How long a statement waits for a free connection, or for its turn to write (SQLite).",
       .fallback = "10s",
       .minimum = 1,
       .maximum = 3'600'000},
      {.name = "statements",
       .type = OptionType::integer,
       .doc = "Prepared statements that each connection keeps, the least recently used goes first.",
       .fallback = "256",
       .minimum = 1,
       .maximum = 100'000},
      {.name = "init",
       .doc =
           "SQL statements, separated by semicolons, that run in one transaction at every start.",
       .example = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)"},
      {.name = "outbox",
       .doc = "Name of an outbox that keeps the sends of transactions on this data source: they "
              "commit with the transaction, and a relay that comes with it sends them. Without it "
              "they run after the commit, and a crash in between loses them.",
       .example = "sends"},
  };
}

std::vector<OptionSpec> server_bean_options() {
  return {
      {.name = "poolSize",
       .type = OptionType::integer,
       .doc = "Connections to the server at most; they open on use.",
       .fallback = "10",
       .minimum = 1,
       .maximum = 1000},
      {.name = "connectTimeout",
       .type = OptionType::duration,
       .doc = "How long a new connection may take.",
       .fallback = "10s",
       .minimum = 1,
       .maximum = 3'600'000},
      {.name = "statementTimeout",
       .type = OptionType::duration,
       .doc = "When the server gives up a statement.",
       .fallback = "60s",
       .minimum = 1,
       .maximum = 86'400'000},
  };
}

void bind_database(const std::string& name, std::shared_ptr<Database> database,
                   const Config& config, BuildContext& context) {
  context.registry().bind<Database>(name, database);
  context.on_start("data source '" + name + "'", [database] { return database->open(); });
  context.on_stop("data source '" + name + "'", [database] { return database->close(); });
  if (config.has("outbox"))
    keep_sends(name, config.text("outbox"), config.where("outbox"), *database, context);
}

BeanInfo sqlite_bean() { return {"drom.sqlite", sqlite_spec, make_sqlite_bean, {}}; }

BeanInfo jdbc_bean() {
  return {"drom.jdbc",
          jdbc_spec,
          make_jdbc_bean,
          {"com.zaxxer.hikari.HikariDataSource", "org.apache.commons.dbcp2.BasicDataSource",
           "org.postgresql.ds.PGSimpleDataSource", "org.sqlite.SQLiteDataSource",
           "org.mariadb.jdbc.MariaDbDataSource", "com.mysql.cj.jdbc.MysqlDataSource"}};
}

void register_sql(Registry& registry) {
  registry.add(sqlite_bean());
#ifdef DROM_POSTGRES
  registry.add(postgres_bean());
#endif
#ifdef DROM_MYSQL
  registry.add(mysql_bean());
#endif
  registry.add(jdbc_bean());
}

}  // namespace drom::sql
