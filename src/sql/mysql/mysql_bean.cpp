#include "sql/beans.hpp"
#include "sql/mysql/mysql_database.hpp"

namespace drom::sql {
namespace {

ConfigSpec mysql_spec() {
  ConfigSpec spec;
  spec.name = "drom.mysql";
  spec.title = "MariaDB or MySQL data source";
  spec.doc =
      "A MariaDB (10.6 or later) or MySQL (8.0 or later) server as a data source: a pool of "
      "connections with statements prepared once. Sessions are strict, in UTC and READ COMMITTED.";
  spec.options = {
      {.name = "url",
       .doc = "The server and the database; the options below win over it.",
       .example = "mysql://app@localhost:3306/shop"},
      {.name = "host",
       .doc = "The server's name or address, or the path of its socket.",
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
       .example = "{{env:MYSQL_PWD}}",
       .secret = true},
      {.name = "sslmode",
       .type = OptionType::enumeration,
       .doc = "Whether the connection is encrypted and the server's certificate checked; without "
              "it verify-full, and prefer on the own machine.",
       .values = {"disable", "prefer", "require", "verify-full"}},
      {.name = "sslrootcert",
       .doc = "File with the certificates of the authorities to trust instead of the system's.",
       .example = "/etc/ssl/shop-ca.pem"},
  };
  for (OptionSpec& option : server_bean_options()) spec.options.push_back(std::move(option));
  for (OptionSpec& option : common_bean_options()) spec.options.push_back(std::move(option));
  spec.example =
      "- beans:\n"
      "    - name: orders\n"
      "      type: drom.mysql\n"
      "      properties:\n"
      "        url: mysql://app@localhost:3306/shop\n"
      "        password: \"{{env:MYSQL_PWD}}\"\n";
  return spec;
}

Result<std::shared_ptr<Database>> make_from(MysqlOptions options, const Config& config,
                                            BuildContext& context) {
  options.pool_size = static_cast<size_t>(config.integer("poolSize"));
  options.acquire_timeout = config.duration("acquireTimeout");
  options.connect_timeout = config.duration("connectTimeout");
  options.statement_timeout = config.duration("statementTimeout");
  options.statements_max = static_cast<size_t>(config.integer("statements"));
  options.init = config.text("init");
  return make_mysql(std::move(options), context.io(), context.clock(), context.log());
}

Result<void> read_url(const std::string& url, MysqlOptions& options) {
  if (url.empty()) return {};
  Result<void> read = read_mysql_url(url, options);
  if (!read) read.error().what += " (data source '" + options.name + "')";
  return read;
}

Result<void> make_mysql_bean(const std::string& name, const Config& config, BuildContext& context) {
  MysqlOptions options;
  options.name = name;
  if (Result<void> read = read_url(config.text("url"), options); !read) return read;
  if (config.has("host")) {
    const std::string& host = config.text("host");
    (host.starts_with('/') ? options.socket : options.host) = host;
    if (!host.starts_with('/')) options.socket.clear();
  }
  if (config.has("port")) options.port = static_cast<unsigned>(config.integer("port"));
  if (config.has("dbname")) options.database = config.text("dbname");
  if (config.has("user")) options.user = config.text("user");
  if (config.has("password")) options.password = config.text("password");
  if (config.has("sslmode")) options.tls = *tls_mode(config.text("sslmode"));
  if (config.has("sslrootcert")) options.ca_file = config.text("sslrootcert");
  Result<std::shared_ptr<Database>> made = make_from(std::move(options), config, context);
  if (!made) return made.error();
  bind_database(name, std::move(*made), config, context);
  return {};
}

}  // namespace

BeanInfo mysql_bean() { return {"drom.mysql", mysql_spec, make_mysql_bean, {"drom.mariadb"}}; }

Result<std::shared_ptr<Database>> make_mysql_from(const std::string& name, const std::string& url,
                                                  const Config& config, BuildContext& context) {
  MysqlOptions options;
  options.name = name;
  if (Result<void> read = read_url(url, options); !read) return read.error();
  if (config.has("username")) options.user = config.text("username");
  if (config.has("password")) options.password = config.text("password");
  return make_from(std::move(options), config, context);
}

}  // namespace drom::sql
