// Reads the messages of a logical replication stream: what the walsender wraps ('w' and 'k'), and
// in it what pgoutput writes ("Logical Replication Message Formats", protocol version 1). Pure;
// any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sql/replication.hpp"

namespace drom::sql {

class PgOutput {
 public:
  // One CopyData message. Nothing when it is of no interest (updates, deletes, types, origins).
  // `reply_wanted` is set when the server asks for a sign of life. Fails when the bytes are no such
  // message; then the stream cannot be read on.
  Result<std::optional<WalEvent>> decode(std::string_view message, bool& reply_wanted);

 private:
  std::map<uint32_t, std::shared_ptr<const WalRelation>> relations_;
};

// "Standby status update": everything before `received` has come, everything before `flushed` is
// safe.
std::string status_update(Lsn received, Lsn flushed, WallTime now);

}  // namespace drom::sql
