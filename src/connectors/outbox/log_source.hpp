// Where the log relay reads: the insert-only tables (log_tables.cpp), or the write-ahead log that
// tells of them (cdc_source.cpp). Executes the trips that machines/log_relay asks for, one at a
// time, each write as one transaction that checks the lease's token. Owned by the consumer; shard
// thread.
#pragma once

#include <memory>
#include <string>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "machines/log_relay.hpp"
#include "observe/outbox_stats.hpp"

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

// The replication slot and publication of an outbox in CDC mode.
struct CdcOptions {
  std::string slot;
  std::string publication;
  milliseconds heartbeat{10'000};
  int64_t slot_lag_max = 0;  // bytes of write-ahead log that the slot may hold back; 0: any
};

// A place in the stream: what commits before is delivered, and so many events of the transaction
// that commits there. As a LogPosition it also names the start of the stream (epoch) that told it:
// what trips have read before that start comes before it.
struct StreamPlace {
  uint64_t lsn = 0;
  uint64_t nth = 0;
};
inline constexpr uint64_t kInStream = uint64_t{1} << 63;
inline constexpr int kNthBits = 48;
inline LogPosition position_of(uint64_t epoch, StreamPlace place) {
  return {kInStream | place.lsn, epoch << kNthBits | place.nth};
}
inline bool in_stream(const LogPosition& position) { return (position.major & kInStream) != 0; }
inline StreamPlace place_of(const LogPosition& position) {
  return {position.major & ~kInStream, position.minor & ((uint64_t{1} << kNthBits) - 1)};
}
inline uint64_t epoch_of(const LogPosition& position) { return position.minor >> kNthBits; }

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

  // A source that pushes: next() gives the rows that have come, at most about `max`, or nothing
  // after a while or interrupt(). They belong to the lease of `token`, the machine's; when the
  // machine has another one by then, they are to be thrown away. Runs beside the trips.
  virtual bool pushes() const { return false; }
  virtual bool pulls() const { return true; }  // whether trips shall read now
  virtual async<logs::Rows> next(int64_t token, size_t max);
  virtual void interrupt() {}
  virtual void describe(OutboxStats&) const {}
};

std::unique_ptr<LogSource> make_log_tables(sql::Database& database, Clock& clock, Log& log,
                                           LogOptions options);
std::unique_ptr<LogSource> make_cdc_source(sql::Database& database, Clock& clock, Log& log,
                                           LogOptions options, CdcOptions cdc);

}  // namespace drom::outbox
