// The relay's side of the outbox tables: executes the trips that the machine asks for, one at a
// time, each as one transaction in one round trip. Owned by the consumer; shard thread.
#pragma once

#include <memory>
#include <string>

#include "connectors/outbox/outbox_sql.hpp"
#include "connectors/outbox/relay_store.hpp"
#include "connectors/outbox/table_shape.hpp"
#include "drom/rt/clock.hpp"

namespace drom::outbox {

// Creates the tables when they do not exist and `create` is set, and checks that they have the
// columns we need. Errors of kind config say what to do.
async<Result<void>> prepare_tables(sql::Database& database, std::string table, bool create);

struct StoreOptions {
  TableShape shape;   // resolved
  std::string owner;  // unique per opened consumer
  SentPolicy sent = SentPolicy::mark;
  milliseconds lease{10'000};
  milliseconds retention{0};  // of sent rows; 0 = kept
};

// The store in the tables of a database. `database` and `clock` outlive it.
std::unique_ptr<RelayStore> make_sql_store(sql::Database& database, Clock& clock,
                                           StoreOptions options);

}  // namespace drom::outbox
