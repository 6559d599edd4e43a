// What a PostgreSQL database commits, transaction by transaction in the order of the commits, as it
// happens: logical replication with the output plugin pgoutput, protocol version 1. A slot in the
// server remembers what was confirmed; everything after it comes again with the next start. Shard
// thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/base/time.hpp"
#include "drom/base/value.hpp"
#include "drom/rt/async.hpp"

namespace drom::sql {

// A place in the write-ahead log; in text two hexadecimal halves, "16/B374D848".
using Lsn = uint64_t;
std::string lsn_text(Lsn lsn);
std::optional<Lsn> parse_lsn(std::string_view text);

struct WalRelation {
  std::string schema;
  std::string name;
  std::vector<std::string> columns;
  std::vector<unsigned int> types;
};

struct WalEvent {
  enum class Kind : uint8_t {
    begin,      // lsn: of the commit; xid
    commit,     // lsn: where the transaction ends
    insert,     // relation, values
    message,    // lsn: its own; prefix, content: of pg_logical_emit_message
    keepalive,  // lsn: everything up to it has come
  };
  Kind kind = Kind::keepalive;
  Lsn lsn = 0;
  uint32_t xid = 0;  // the lower half of the transaction id
  WallTime sent{};   // by the server's clock
  std::shared_ptr<const WalRelation> relation;
  List values;
  bool transactional = false;
  std::string prefix;
  std::string content;
};

class ReplicationStream {
 public:
  virtual ~ReplicationStream() = default;
  // What the slot has not confirmed. Messages of pg_logical_emit_message are among it.
  virtual async<Result<void>> start(std::string slot, std::string publication) = 0;
  // What has arrived, at most about `max` events; nothing after `timeout` of real time or
  // interrupt(). After an error the stream is of no use.
  virtual async<Result<std::vector<WalEvent>>> read(size_t max, milliseconds timeout) = 0;
  virtual void interrupt() = 0;
  // The slot may forget everything before `lsn`; told with one of the next calls.
  virtual void confirm(Lsn lsn) = 0;
  // Tells the server that we are still here; for times without a read().
  virtual Result<void> keep_alive() = 0;
};

}  // namespace drom::sql
