// Where the log relay reads: the insert-only tables (log_tables.cpp). Executes the trips that
// machines/log_relay asks for, one at a time, each write as one transaction that checks the lease's
// token. Owned by the consumer; shard thread.
#pragma once

#include <memory>
#include <string>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "machines/log_relay.hpp"

namespace drom::outbox {

struct LogOptions {
  std::string uri;
  std::string table;
  std::string owner;  // unique per opened consumer
  bool create_table = true;
  milliseconds lease{10'000};
  bool keyed = true;  // else no order is kept
  int64_t rotate_bytes = 64 << 20;
};

class LogSource {
 public:
  virtual ~LogSource() = default;
  // Creates and checks what this mode needs. Errors of kind config say what to do.
  virtual async<Result<void>> open() = 0;
  // `failure` holds the error of a trip that did not work.
  virtual async<logs::LeaseAnswer> lease(LogLease request, Error* failure) = 0;
  virtual async<logs::TripAnswer> trip(LogTrip trip, Error* failure) = 0;
  virtual async<Result<void>> release() = 0;
  // Housekeeping while we lead, between trips. Returns when to call again.
  virtual async<SteadyTime> maintain() = 0;
};

std::unique_ptr<LogSource> make_log_tables(sql::Database& database, Clock& clock, Log& log,
                                           LogOptions options);

}  // namespace drom::outbox
