// How a message becomes an outbox row and back. Bodies: texts and bytes as they are, other values
// as JSON text; a null body is a null payload (a tombstone), which differs from an empty text.
// Headers: a JSON object; engine metadata, credentials and hop-by-hop headers are never stored.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/model/exchange.hpp"
#include "machines/outbox_relay.hpp"

namespace drom::outbox {

// Which headers go into the row: names, `prefix*`, or `*` for all that may travel.
class HeaderFilter {
 public:
  explicit HeaderFilter(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  bool passes(std::string_view name) const;

 private:
  std::vector<std::string> patterns_;
};

struct StoredBody {
  Value text;         // null when there are bytes or nothing
  Value bytes;        // only what is no clean UTF-8 text
  bool json = false;  // made from a value: content type application/json
};

StoredBody store_body(const Value& body);
// The JSON text of the headers to keep; null when there are none.
Value store_headers(const Headers& headers, const HeaderFilter& filter, bool json_body);

// What went wrong, as every database takes it: UTF-8 without NUL, of at most 2000 bytes, not cut
// inside a character. Errors may quote what a broker or a server has sent.
std::string storable_error(std::string text);

// The exchange of a row. An error of kind data when its headers are no JSON object.
Result<Exchange> restore(RelayRow row);

// Readable by the route, not sent on: outbox.id, outbox.eventId, outbox.key, outbox.type,
// outbox.attempts, outbox.createdAt. Sent on, so that receivers can recognise a duplicate:
inline constexpr std::string_view kEventIdHeader = "eventId";
inline constexpr std::string_view kEventTypeHeader = "eventType";

}  // namespace drom::outbox
