// Looks for what is wrong with an outbox and says what to do about it: `drom outbox verify`. Reads
// only. Shard thread.
#pragma once

#include <string>
#include <vector>

#include "connectors/outbox/table_shape.hpp"
#include "drom/rt/async.hpp"

namespace drom::outbox {

struct Finding {
  enum class Level : uint8_t { ok, warning, error } level = Level::ok;
  std::string check;   // what was looked at: table, indexes, relays, states, lag, transactions
  std::string what;    // what was found
  std::string advice;  // empty when all is well
};

struct VerifyLimits {
  milliseconds oldest{5 * 60'000};       // a due row older than this is a problem
  milliseconds transaction{5 * 60'000};  // so is an open transaction
};

// `shape` as configured; an error only when the database cannot be asked.
async<Result<std::vector<Finding>>> verify(sql::Database& database, TableShape shape,
                                           SentPolicy sent, VerifyLimits limits);

}  // namespace drom::outbox
