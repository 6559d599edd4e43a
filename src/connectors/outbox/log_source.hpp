// Where the log relay reads: the insert-only tables (log_tables.cpp) or the write-ahead log
// (cdc_source.cpp). Executes the trips that machines/log_relay asks for, one at a time, each write
// as one transaction that checks the lease's token. Owned by the consumer; shard thread.
#pragma once

#include <memory>
#include <string>

#include "connectors/outbox/outbox_log_sql.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "machines/log_relay.hpp"

namespace drom::outbox {

struct LogOptions {
  std::string uri;
  std::string table;
  std::string owner;  // unique per opened consumer
  bool create_table = true;
  SentPolicy sent = SentPolicy::mark;
  milliseconds lease{10'000};
  // Log mode.
  int64_t rotate_bytes = 64 << 20;
  // CDC mode.
  std::string name;         // in the prefix of messages
  std::string slot;         // empty: from the table's name
  std::string publication;  // likewise
  milliseconds heartbeat{10'000};
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
  // Where rows are pushed: waits for some, at most `room`; empty after a while or interrupt().
  virtual async<logs::Rows> next(size_t room) = 0;
  virtual void interrupt() {}
  virtual async<> close() = 0;
};

std::unique_ptr<LogSource> make_log_tables(sql::Database& database, Clock& clock, Log& log,
                                           LogOptions options);

// What both share.
std::string holds_json(const std::vector<Hold>& holds);
bool is_fenced(const Error& error);
async<Result<int64_t>> lease_log(sql::Database& database, const LogStatements& statements,
                                 const LogOptions& options);
std::string log_resource(const LogOptions& options);

}  // namespace drom::outbox
