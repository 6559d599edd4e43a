// The two ends of an outbox; made by the endpoint in outbox.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "connectors/outbox/foreign_table.hpp"
#include "connectors/outbox/log_source.hpp"
#include "connectors/outbox/outbox_message.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/endpoint.hpp"
#include "machines/outbox_relay.hpp"
#include "observe/outbox_stats.hpp"

namespace drom::outbox {

enum class Mode : uint8_t {
  claim,  // rows are read by state and marked
  log,    // PostgreSQL: rows are only inserted, and read between two snapshots
  cdc,    // as log, and read through the write-ahead log
};

struct OutboxOptions {
  std::string uri;
  std::string table;
  Mode mode = Mode::claim;
  bool mode_given = true;  // else a writer asks RelayModes
  bool create_table = true;
  std::optional<ForeignTable> foreign;  // the table is not ours
  // Producer.
  ExpressionPtr key;  // null: Exchange::key
  ExpressionPtr type;
  ExpressionPtr event_id;
  ExpressionPtr delay;
  ExpressionPtr time_to_live;
  std::vector<std::string> headers;
  // Consumer.
  RelayPolicy policy;
  SentPolicy sent = SentPolicy::mark;
  milliseconds retention{0};
  size_t in_flight_max = 64;
  size_t window = 512;  // in its place, where a route only sends to a broker at its end
  CdcOptions cdc;
  bool tableless = false;           // cdc: events are written to the write-ahead log only
  int64_t rotate_bytes = 64 << 20;  // log mode: a table of this size is followed by the next one
};

// The shape to be resolved against the real table.
inline TableShape shape_of(const OutboxOptions& options) {
  TableShape out = options.foreign ? options.foreign->shape : own_shape(options.table);
  out.ordering = options.policy.ordering;
  return out;
}

// The options of `outbox:` endpoints, for the engine and for programs that work on the same tables.
ConfigSpec endpoint_spec();
Result<OutboxOptions> read_options(const Config& config);

// How the routes of this engine read their tables, for writers that are not told how.
using RelayModes = std::map<std::pair<const sql::Database*, std::string>, Mode>;

// What the shard offers to both ends; they all outlive the endpoint.
struct OutboxServices {
  sql::Database& database;
  boost::asio::io_context& io;
  Clock& clock;
  Log& log;
  Rng& rng;
  OutboxBoard* board = nullptr;  // where relays tell what they are doing
  RelayModes* modes = nullptr;
};

std::unique_ptr<Producer> make_producer(const OutboxServices& services,
                                        const OutboxOptions& options);
// By the mode.
std::unique_ptr<Consumer> make_consumer(const OutboxServices& services,
                                        const OutboxOptions& options);
std::unique_ptr<Consumer> make_claim_consumer(const OutboxServices& services,
                                              const OutboxOptions& options);
std::unique_ptr<Consumer> make_log_consumer(const OutboxServices& services,
                                            const OutboxOptions& options);

}  // namespace drom::outbox
