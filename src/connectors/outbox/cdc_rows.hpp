// From the events of a replication stream to the rows of the log: which of them are new, where each
// stands, and what a message without a row means. Pure; one per started stream.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connectors/outbox/log_source.hpp"
#include "sql/replication.hpp"

namespace drom::outbox {

// The prefix of our signs of life; their text is ours.
inline constexpr std::string_view kHeartbeatPrefix = "drom.heartbeat";

// Whether a transaction is visible in a snapshot, by the lower half of its id, which is all that
// the stream tells. Both must be less than 2^31 transactions apart.
class SnapshotFilter {
 public:
  explicit SnapshotFilter(const std::string& snapshot);
  bool contains(uint32_t xid) const;
  // All transactions below have ended, none from there on had begun.
  uint64_t xmin() const { return xmin_; }
  uint64_t xmax() const { return xmax_; }

 private:
  uint64_t xmin_ = 0;
  uint64_t xmax_ = 0;
  std::vector<uint64_t> running_;
};

class StreamRows {
 public:
  struct Start {
    std::string table;  // as configured
    uint64_t epoch = 0;
    StreamPlace place;  // events up to here are known
    std::string read;   // rows of transactions visible in it have been read from the table
    bool keyed = true;
  };
  explicit StreamRows(Start start);

  struct Out {
    logs::Rows rows;
    std::vector<std::pair<uint64_t, std::string>> heartbeats;  // place and text
  };
  void take(std::vector<sql::WalEvent> events, Out& out);
  // Inside a transaction no place can be named.
  bool in_transaction() const { return in_transaction_; }
  // Messages that were not part of a transaction; their events may be of work that was undone, so
  // they are left out.
  uint64_t untransacted() const { return untransacted_; }

 private:
  void move_to(uint64_t lsn);
  bool is_new();
  LogRow row(sql::WalEvent& event);
  LogRow message(sql::WalEvent& event) const;
  LogRow finish(List columns, WallTime now) const;
  LogPosition here() const { return position_of(start_.epoch, place_); }

  Start start_;
  std::string prefix_;
  std::string log_;  // the log table, without its schema
  SnapshotFilter read_;
  bool in_transaction_ = false;
  bool was_read_ = false;  // its rows
  StreamPlace place_;
  uint64_t untransacted_ = 0;
  const sql::WalRelation* known_ = nullptr;
  std::shared_ptr<const sql::WalRelation> relation_;
  std::vector<std::optional<size_t>> places_;  // of our columns in the relation
};

}  // namespace drom::outbox
