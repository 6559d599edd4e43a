// The relay's side of the outbox tables: executes the trips that the machine asks for, one at a
// time, each as one transaction in one round trip. Owned by the consumer; shard thread.
#pragma once

#include <memory>
#include <string>

#include "connectors/outbox/outbox_sql.hpp"
#include "connectors/outbox/relay_lock.hpp"
#include "connectors/outbox/table_shape.hpp"
#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "machines/outbox_relay.hpp"

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

class OutboxStore {
 public:
  OutboxStore(sql::Database& database, Clock& clock, StoreOptions options);

  // Finds out whether a lock file guards this outbox (SQLite in a file). Before the first trip.
  async<Result<void>> open();
  // True when the lock file decides who is the relay, so that leases may be long.
  bool guarded() const { return lock_ != nullptr; }
  void set_lease(milliseconds lease) { options_.lease = lease; }
  void close() { lock_.reset(); }

  // `failure` holds the error of a trip that did not work.
  async<LeaseAnswer> lease(LeaseRequest request, Error* failure);
  async<relay::DataAnswer> data(DataTrip trip, Error* failure);
  async<LeaseAnswer> leave(Error* failure);

 private:
  void add_sent_marks(const std::vector<SentMark>& marks, std::vector<sql::Command>& commands,
                      std::vector<size_t>& counted) const;
  sql::Command failed_marks(const std::vector<FailedMark>& marks) const;
  sql::Command read(const ReadRequest& request) const;
  async<Result<std::vector<sql::Rows>>> run(std::vector<sql::Command> commands);

  sql::Database& database_;
  Clock& clock_;
  StoreOptions options_;
  Statements statements_;
  std::unique_ptr<RelayLock> lock_;
};

}  // namespace drom::outbox
