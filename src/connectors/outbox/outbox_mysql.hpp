// The SQL of outbox tables, our own and others, on MariaDB (10.6 or later) and MySQL (8.0.17 or
// later). Each statement is a transaction of its own, guarded by lease and token: these servers
// take a trip one statement at a time, and a relay that freezes between two must not hold locks;
// only the copy for the archive and its delete go together. Pure; any thread.
#pragma once

#include <string>

#include "connectors/outbox/outbox_sql.hpp"

namespace drom::outbox {

std::string mysql_outbox_ddl(std::string_view table);
std::string mysql_lease_ddl();
std::string mysql_trouble_ddl();
// For a shape that table_check has resolved.
Statements make_mysql_statements(const TableShape& shape, SentPolicy sent);

// Of a row with this key, or by its id when it has none.
std::string mysql_bucket(const std::string& key, const std::string& id);
// The ids of $1 joined with the table: what an UPDATE or DELETE walks over.
std::string mysql_listed(const std::string& table, std::string_view id);

}  // namespace drom::outbox
