// The SQL of our own outbox table on MariaDB (10.6 or later) and MySQL (8.0.17 or later). Each
// statement is a transaction of its own, guarded by lease and token: these servers take a trip one
// statement at a time, and a relay that freezes between two must not hold locks. Pure; any thread.
#pragma once

#include <string>

#include "connectors/outbox/outbox_sql.hpp"

namespace drom::outbox {

std::string mysql_outbox_ddl(std::string_view table);
std::string mysql_lease_ddl();
Statements make_mysql_statements(const std::string& table, SentPolicy sent);

}  // namespace drom::outbox
