// Records <-> messages. What is read becomes bytes, headers and the metadata kafka.*; what is
// written is the body as bytes or text, and the headers but for metadata, credentials and what
// belongs to one connection only. Any thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

#include "drom/model/exchange.hpp"

namespace drom::kafka {

inline constexpr const char* kTopic = "kafka.topic";
inline constexpr const char* kPartition = "kafka.partition";
inline constexpr const char* kOffset = "kafka.offset";
inline constexpr const char* kTimestamp = "kafka.timestamp";
inline constexpr const char* kKey = "kafka.key";
inline constexpr const char* kBatchSize = "kafka.batchSize";
inline constexpr const char* kRecords = "kafka.records";

// The record must outlive the call only. A tombstone has a null body.
Value body_of(const rd_kafka_message_t& record);
std::string_view key_of(const rd_kafka_message_t& record);
Exchange to_exchange(const rd_kafka_message_t& record);
// The record's metadata and headers as an object, for batches.
Value describe(const rd_kafka_message_t& record);

// What is sent. The views point into the message or into `owned`.
struct Outgoing {
  std::string owned;
  std::string_view value;
  bool tombstone = false;
};
void set_value(Outgoing& out, const Value& body, bool empty_for_null);
// Null when there is none to send. The caller owns it.
rd_kafka_headers_t* to_headers(const Headers& headers);

}  // namespace drom::kafka
