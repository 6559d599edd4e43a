// The SQL by which operators look at an outbox: one view of equal columns over tables of any shape.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "connectors/outbox/table_shape.hpp"

namespace drom::outbox {

// "(SELECT ...)": id, event_id, key, type, state, attempts, created_at, available_at,
// next_attempt_at, sent_at, last_error, bucket, headers, payload, payload_bytes. The state is due,
// waiting (due later), sent, dead, parked, or what the column says when we do not know it.
std::string view_sql(sql::Dialect dialect, const TableShape& shape);
// Only the rows that are not sent, found by the index of due rows.
std::string unsent_view_sql(sql::Dialect dialect, const TableShape& shape);

// Milliseconds since a time of the view; null when it is null.
std::string age_ms(sql::Dialect dialect, std::string_view column);

}  // namespace drom::outbox
