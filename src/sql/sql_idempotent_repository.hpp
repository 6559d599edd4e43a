// The inbox: an idempotent repository in a SQL table. The key is inserted first and in the current
// unit of work, so that key and effect commit together or not at all; a second delivery of the same
// message waits for the first one's commit and is then seen as a duplicate. Nothing is cached: only
// the database knows what has committed. Shard thread.
#pragma once

#include <memory>
#include <string>

#include "drom/spi/idempotent_repository.hpp"
#include "drom/sql/database.hpp"

namespace drom {

class Registry;

// Creates the inbox table where it does not exist. The table name must be checked by the caller.
std::string inbox_ddl(sql::Dialect dialect, const std::string& table);

// Creates it unless it is there.
async<Result<void>> prepare_inbox(sql::Database& database, std::string table);

std::shared_ptr<IdempotentRepository> make_sql_idempotent_repository(sql::Database& database,
                                                                     const std::string& table);

// The bean type `drom.sqlIdempotentRepository`, also under Camel's class names.
void register_sql_idempotent(Registry& registry);

}  // namespace drom
