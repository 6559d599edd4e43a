#include "sql/beans.hpp"
#include "sql/postgres/postgres_database.hpp"

namespace drom::sql {
namespace {

ConfigSpec postgres_spec() {
  ConfigSpec spec;
  spec.name = "drom.postgres";
  spec.title = "PostgreSQL data source";
  spec.doc =
      "A PostgreSQL server as a data source: a pool of connections, statements prepared once, a "
      "batch in one "
      "round trip. Everything that libpq's url and its PG* environment variables can say works "
      "here.";
  spec.options = {
      {.name = "url",
       .doc = "A libpq URI or a list of keywords; the options below win over it.",
       .example = "postgresql://app@localhost:5432/shop"},
      {.name = "host",
       .doc = "The server's name, address, or the folder of its socket.",
       .example = "localhost"},
      {.name = "port",
       .type = OptionType::integer,
       .doc = "The server's port.",
       .minimum = 1,
       .maximum = 65535},
      {.name = "dbname", .doc = "The database.", .example = "shop"},
      {.name = "user", .doc = "The user of the database.", .example = "app"},
      {.name = "password",
       .doc = "The password of the user.",
       .example = "{{env:PGPASSWORD}}",
       .secret = true},
      {.name = "sslmode",
       .type = OptionType::enumeration,
       .doc = "Whether the connection is encrypted and the server's certificate checked.",
       .values = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}},
  };
  for (OptionSpec& option : server_bean_options()) spec.options.push_back(std::move(option));
  for (OptionSpec& option : common_bean_options()) spec.options.push_back(std::move(option));
  spec.example =
      "- beans:\n"
      "    - name: orders\n"
      "      type: drom.postgres\n"
      "      properties:\n"
      "        url: postgresql://app@localhost:5432/shop\n"
      "        password: \"{{env:PGPASSWORD}}\"\n";
  return spec;
}

Result<void> make_postgres_bean(const std::string& name, const Config& config,
                                BuildContext& context) {
  std::vector<std::pair<std::string, std::string>> keywords;
  for (const char* text : {"host", "dbname", "user", "password", "sslmode"})
    if (config.has(text)) keywords.emplace_back(text, config.text(text));
  if (config.has("port")) keywords.emplace_back("port", std::to_string(config.integer("port")));
  Result<std::shared_ptr<Database>> made =
      make_postgres_from(name, config.text("url"), std::move(keywords), config, context);
  if (!made) return made.error();
  bind_database(name, std::move(*made), config, context);
  return {};
}

}  // namespace

BeanInfo postgres_bean() { return {"drom.postgres", postgres_spec, make_postgres_bean, {}}; }

Result<std::shared_ptr<Database>> make_postgres_from(
    const std::string& name, const std::string& url,
    std::vector<std::pair<std::string, std::string>> keywords, const Config& config,
    BuildContext& context) {
  PostgresOptions options;
  options.name = name;
  options.url = url;
  options.keywords = std::move(keywords);
  options.pool_size = static_cast<size_t>(config.integer("poolSize"));
  options.acquire_timeout = config.duration("acquireTimeout");
  options.connect_timeout = config.duration("connectTimeout");
  options.statement_timeout = config.duration("statementTimeout");
  options.statements_max = static_cast<size_t>(config.integer("statements"));
  options.init = config.text("init");
  options.instance = context.rng().uuid();
  if (Result<void> checked = check_options(options); !checked) return checked.error();
  return make_postgres(std::move(options), context.io(), context.clock(), context.log());
}

}  // namespace drom::sql
