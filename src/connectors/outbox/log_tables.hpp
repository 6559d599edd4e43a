// Log mode: batches between two snapshots over insert-only tables, as PgQ reads them. A batch is
// what was committed after snapshot s1 and before snapshot s2; one open transaction neither blocks
// it nor is lost: its rows are in the batch after its commit. Inside a batch rows come by id, which
// per key is commit order when writers of a key exclude each other.
//
// The same tables can be read through the write-ahead log (cdc_source.cpp). A checkpoint then names
// both: what is visible in s1 is delivered, and what the stream told up to a place. Shard thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "connectors/outbox/log_source.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"

namespace drom::outbox {

class LogTables final : public LogSource {
 public:
  // Where delivery stands.
  struct Mark {
    std::string s1 = kNothing;
    std::string s2;  // empty: none; else rows up to last_id that are visible in it, too
    int64_t last_id = 0;
    StreamPlace place;  // 0: never read from the stream
  };

  LogTables(sql::Database& database, Clock& clock, Log& log, LogOptions options);

  async<Result<void>> open() override;
  async<logs::LeaseAnswer> lease(LogLease request, Error* failure) override;
  async<logs::TripAnswer> trip(LogTrip trip, Error* failure) override;
  async<Result<void>> release() override;
  async<SteadyTime> maintain() override;

  // For the stream. Another generation means: go on from mark().
  int64_t generation() const { return generation_; }
  bool loaded() const { return !fresh_; }  // mark() is that of the generation
  const Mark& mark() const { return mark_; }
  // Rows visible in this have been read by trips or come before the last synchronized place.
  const std::string& read_to() const { return s1_; }
  bool in_batch() const { return paging_; }
  // What is visible in `snapshot` has been read, or comes before the place `at` of the stream.
  struct SyncPoint {
    uint64_t epoch = 0;
    uint64_t lsn = 0;
    friend auto operator<=>(const SyncPoint&, const SyncPoint&) = default;
  };
  void synchronized(SyncPoint at, std::string snapshot);
  sql::Command guard() const {
    return {statements_.guard, {resource_, options_.owner, token_, identity_}};
  }

 private:
  // Between two snapshots. A null s2 stands for "now".
  struct Batch {
    uint64_t number = 0;
    std::string s1;
    std::string s2;
  };
  struct Sync {
    SyncPoint at;
    std::string snapshot;
    uint64_t batches = 0;  // the last one before it
  };

  async<Result<bool>> take_lease(bool load);
  List owner_params() const { return {resource_, options_.owner}; }
  async<Result<void>> load(logs::LeaseAnswer& answer);
  async<> ask_system();
  void resume(Mark mark);
  async<Result<bool>> repair(std::string system, logs::LeaseAnswer& answer, Mark& mark);

  Mark mark_of(const LogPosition& position) const;
  void add_checkpoint(const LogTrip& trip, std::vector<sql::Command>& commands) const;
  sql::Command mark_command(uint64_t serial, const Mark& mark) const;
  void checkpointed(const LogTrip& trip);
  sql::Command read(size_t max) const;
  bool take_rows(sql::Rows rows, size_t max, logs::Rows& out);
  bool take_page(std::vector<List> rows, size_t max, logs::Rows& out);
  LogRow row(List columns) const;

  async<Result<std::unique_ptr<sql::Transaction>>> begin_guarded(std::string lock);
  async<> trim_marks();
  async<bool> truncate(int slot);

  sql::Database& database_;
  Clock& clock_;
  Log& log_;
  LogOptions options_;
  std::string resource_;
  LogStatements statements_;
  bool held_ = false;  // the lease, as far as we know
  int64_t token_ = 0;  // in the database
  std::string identity_;
  std::string system_;  // empty: not told
  // What the machine sees as the token: another one when it must read from the checkpoint again.
  int64_t generation_ = 0;
  bool fresh_ = false;         // of a generation that has not been loaded yet
  Mark mark_;                  // the last checkpoint
  std::deque<Batch> batches_;  // read and not behind the checkpoint
  uint64_t number_ = 0;
  std::deque<Sync> syncs_;  // not behind the checkpoint
  // Where reading goes on.
  std::string s1_ = kNothing;
  std::string s2_;
  int64_t last_id_ = 0;
  bool paging_ = false;
};

}  // namespace drom::outbox
