// The replication slot and the publication that an outbox in CDC mode reads through. A slot makes
// the server keep its write-ahead log until we have confirmed it; it may be lost all the same, and
// is then made anew. Shard thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drom/sql/database.hpp"
#include "sql/replication.hpp"

namespace drom::outbox {

// drom_TABLE for a publication, drom_DATABASE_TABLE for a slot, whose names the whole server
// shares.
std::string publication_name(std::string_view table);
// A name that a slot may have: lower-case letters, digits, underscores, at most 63.
Result<std::string> checked_slot(std::string_view name);

// What an owner of the database runs, beside log_ddl().
std::string cdc_ddl(std::string_view table, std::string_view publication);
std::string slot_ddl(std::string_view slot);

// Whether the server can tell of its changes, and this user may listen; finds the name of the slot
// when it has none yet, and creates the publication. Errors of kind config say what to do.
async<Result<void>> prepare_cdc(sql::Database& database, std::string table, std::string publication,
                                std::string* slot, bool create);

// The check of it: wal_level, database, whether it is a standby, whether the user may replicate,
// the user, the version as a number.
Result<void> check_cdc_server(const List& facts);

struct SlotState {
  bool lost = false;       // the server has removed what it should tell
  bool foreign = false;    // of another database or plugin
  sql::Lsn confirmed = 0;  // what commits before is not told
  int64_t active_pid = 0;  // the server's process that reads it
  int64_t lag = 0;         // bytes of write-ahead log that it holds back
};
// Nothing when there is no such slot.
async<Result<std::optional<SlotState>>> slot_state(sql::Database& database, std::string slot);
// Waits for the transactions that are open now.
async<Result<void>> create_slot(sql::Database& database, std::string slot);
// Creates it when it does not exist.
async<Result<void>> require_slot(sql::Database& database, std::string slot);

}  // namespace drom::outbox
