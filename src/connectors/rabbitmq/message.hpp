// Between AMQP messages and ours: properties, typed header tables, metadata under rabbitmq.*. Pure;
// any thread.
#pragma once

#include <amqp.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/rabbitmq/options.hpp"
#include "drom/model/exchange.hpp"
#include "drom/spi/scope.hpp"

namespace drom::rabbitmq {

// Of the headers of one message together. Properties travel in one frame, which is 128 KiB by the
// broker's default.
constexpr size_t kHeadersMax = 100 * 1024;

inline std::string_view view(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}
inline amqp_bytes_t bytes(std::string_view text) {
  amqp_bytes_t out;
  out.len = text.size();
  out.bytes = const_cast<char*>(text.data());
  return out;
}

// A message as it goes out; owns everything, because the link reads it on its own thread.
struct Outgoing {
  std::string routing_key;
  std::optional<std::string> message_id, type, content_type, correlation_id, reply_to, expiration;
  std::optional<uint8_t> priority;
  std::optional<int64_t> timestamp_s;
  bool persistent = true;
  Headers headers;
  Value body;  // text, bytes or null
};

// Errors are of kind data: something is too long or no number.
Result<Outgoing> to_wire(const Exchange& exchange, const ProducerOptions& options,
                         const EvalScope& scope, WallTime now);

// The AMQP form of a header list; refers to it.
class Table {
 public:
  explicit Table(const Headers& headers);
  Table(const Table&) = delete;
  amqp_table_t* get() { return &table_; }
  std::string encoded();  // as it stands on the wire

 private:
  amqp_field_value_t field(const Value& value);
  amqp_table_t table_{};
  std::deque<std::vector<amqp_table_entry_t>> entries_;
  std::deque<std::vector<amqp_field_value_t>> lists_;
  std::deque<std::string> texts_;
};

// `table` lives as long as the answer.
amqp_basic_properties_t to_properties(const Outgoing& message, Table& table);
// Whether a returned message is this one: everything that the broker gives back is equal. Messages
// that are equal in all of it may stand for each other.
bool is_same(const Outgoing& message, std::string_view routing_key,
             const amqp_basic_properties_t& properties, std::string_view body);

Headers from_table(const amqp_table_t& table);
// Headers of the sender without engine names, then what the properties say, under rabbitmq.*.
Headers from_properties(const amqp_basic_properties_t& properties);

}  // namespace drom::rabbitmq
