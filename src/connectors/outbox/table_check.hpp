// Compares a shape with the real table: which names and kinds the columns have, and what is missing
// with the DDL that mends it. At the start, and again when a statement finds a column gone. May
// wait for the database; shard thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "connectors/outbox/table_shape.hpp"
#include "drom/rt/async.hpp"

namespace drom::outbox {

struct CatalogColumn {
  std::string name;
  std::string type;  // as the database prints it
  ColumnKind kind = ColumnKind::unknown;
  bool generated = false;
};

struct CatalogTable {
  std::string sql_name;  // quoted where it must be; empty: there is no such table
  std::vector<CatalogColumn> columns;
};

// What the catalog says about `table`: its exact spelling first, then as the database folds it.
async<Result<CatalogTable>> read_catalog(sql::Database& database, std::string table);

// The shape with real names and kinds. Errors of kind config name every missing column and hold the
// DDL in their hint. Pure.
Result<TableShape> resolve(sql::Dialect dialect, TableShape shape, const CatalogTable& table);

// Creates what is missing when `create` is set (a foreign table never, its companions yes) and
// returns the resolved shape; afterwards every statement of the shape works.
async<Result<TableShape>> prepare_shape(sql::Database& database, TableShape shape, SentPolicy sent,
                                        bool create);

// After a failed statement: an error of kind config when the table has lost what the shape needs,
// else `failure` as it is.
async<Error> explain(sql::Database& database, TableShape shape, SentPolicy sent, Error failure);

// The definition of TABLE_archive.
std::string archive_ddl(sql::Dialect dialect, const CatalogTable& table);

}  // namespace drom::outbox
