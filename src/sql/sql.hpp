// The bean types of SQL data sources: drom.sqlite, drom.postgres, and Java's data source classes
// with a JDBC url. A bean is bound as sql::Database, opened before the routes start and closed
// after they have stopped. Load time.
#pragma once

namespace drom {
class Registry;
}

namespace drom::sql {

void register_sql(Registry& registry);

}  // namespace drom::sql
