// What the bean types share: common options and the binding of a data source. Load time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drom/spi/build_context.hpp"
#include "drom/sql/database.hpp"

namespace drom::sql {

std::vector<OptionSpec> common_bean_options();
// Of data sources on a server.
std::vector<OptionSpec> server_bean_options();
// Under `name`, opened and closed with the engine.
void bind_database(const std::string& name, std::shared_ptr<Database> database,
                   const Config& config, BuildContext& context);

BeanInfo sqlite_bean();
BeanInfo jdbc_bean();

#ifdef DROM_POSTGRES
BeanInfo postgres_bean();
// `url` is a libpq URI or conninfo text, may be empty; `keywords` are libpq's and win over it.
// Reads the common and the server options of `config`.
Result<std::shared_ptr<Database>> make_postgres_from(
    const std::string& name, const std::string& url,
    std::vector<std::pair<std::string, std::string>> keywords, const Config& config,
    BuildContext& context);
#endif

#ifdef DROM_MYSQL
BeanInfo mysql_bean();
// Reads the common and the server options of `config`, and username and password, which win.
Result<std::shared_ptr<Database>> make_mysql_from(const std::string& name, const std::string& url,
                                                  const Config& config, BuildContext& context);
#endif

}  // namespace drom::sql
