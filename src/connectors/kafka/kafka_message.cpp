#include "connectors/kafka/kafka_message.hpp"

#include <cstring>

#include "config/utf8.hpp"

namespace drom::kafka {
namespace {

Value bytes_of(const void* data, size_t size) {
  if (size == 0) return Value(Bytes());
  // One allocation. A body that adopts librdkafka's buffer would keep the client from closing.
  std::shared_ptr<char[]> copy = std::make_shared_for_overwrite<char[]>(size);
  std::memcpy(copy.get(), data, size);
  const std::string_view view(copy.get(), size);
  return Value(Bytes(std::move(copy), view));
}

// Keys and header values: text where they are text.
Value text_or_bytes(const void* data, size_t size) {
  if (!data) return Value();
  const std::string_view view(static_cast<const char*>(data), size);
  if (find_invalid_utf8(view) == std::string_view::npos) return Value(view);
  return bytes_of(data, size);
}

template <class Add>
void each_header(const rd_kafka_message_t& record, Add add) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&record, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    // Nobody outside writes metadata of the engine.
    if (is_engine_header(name) || has_header_injection(name)) continue;
    add(name, text_or_bytes(value, size));
  }
}

int64_t timestamp_of(const rd_kafka_message_t& record) {
  rd_kafka_timestamp_type_t type;
  return rd_kafka_message_timestamp(&record, &type);
}

template <class Add>
void each_metadata(const rd_kafka_message_t& record, Add add) {
  add(kTopic, Value(rd_kafka_topic_name(record.rkt)));
  add(kPartition, Value(int64_t{record.partition}));
  add(kOffset, Value(int64_t{record.offset}));
  add(kTimestamp, Value(timestamp_of(record)));
  if (record.key) add(kKey, text_or_bytes(record.key, record.key_len));
}

}  // namespace

Value body_of(const rd_kafka_message_t& record) {
  return record.payload ? bytes_of(record.payload, record.len) : Value();
}

std::string_view key_of(const rd_kafka_message_t& record) {
  return record.key ? std::string_view(static_cast<const char*>(record.key), record.key_len)
                    : std::string_view();
}

Exchange to_exchange(const rd_kafka_message_t& record) {
  Message message;
  message.body = body_of(record);
  Headers& headers = message.headers;
  headers.reserve(8);
  const auto add = [&](const char* name, Value value) { headers.append(name, std::move(value)); };
  each_metadata(record, add);
  each_header(record, add);
  Exchange out(std::move(message));
  out.key = key_of(record);
  return out;
}

Value describe(const rd_kafka_message_t& record) {
  Object out;
  Object headers;
  constexpr size_t kPrefix = std::string_view("kafka.").size();
  each_metadata(
      record, [&](const char* name, Value value) { out.append(name + kPrefix, std::move(value)); });
  each_header(record,
              [&](const char* name, Value value) { headers.append(name, std::move(value)); });
  if (!headers.empty()) out.append("headers", Value(std::move(headers)));
  return Value(std::move(out));
}

void set_value(Outgoing& out, const Value& body, bool empty_for_null) {
  out.tombstone = body.is_null() && !empty_for_null;
  if (body.is_text() || body.is_bytes() || body.is_null()) {
    out.value = body.raw();
    return;
  }
  out.owned = body.to_text();
  out.value = out.owned;
}

rd_kafka_headers_t* to_headers(const Headers& headers) {
  rd_kafka_headers_t* out = nullptr;
  for (const auto& [name, value] : headers) {
    if (is_engine_header(name) || is_private_header(name)) continue;
    if (!out) out = rd_kafka_headers_new(headers.size());
    std::string text;
    std::string_view view = value.raw();
    if (!value.is_text() && !value.is_bytes() && !value.is_null()) {
      text = value.to_text();
      view = text;
    }
    // A null pointer is a null value, so an empty text needs one that is not.
    const char* data = value.is_null() ? nullptr : view.data() ? view.data() : "";
    rd_kafka_header_add(out, name.data(), static_cast<ssize_t>(name.size()), data,
                        static_cast<ssize_t>(view.size()));
  }
  return out;
}

}  // namespace drom::kafka
