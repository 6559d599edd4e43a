#include "connectors/outbox/outbox_message.hpp"

#include <algorithm>

#include "config/utf8.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/base/json.hpp"

namespace drom::outbox {
namespace {

// A header that is no JSON value: {"$bytes": "base64"}.
constexpr std::string_view kBytesMark = "$bytes";

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && iequals(text.substr(0, prefix.size()), prefix);
}

// UTF-8 without NUL: what a text column of every database takes.
bool is_clean_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos &&
         find_invalid_utf8(text) == std::string_view::npos;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

Value header_to_json(const Value& value) {
  const std::string* text = value.as_text();
  if (!value.is_bytes() && (!text || is_clean_text(*text))) return value;
  Object marked;
  marked.append(std::string(kBytesMark), text ? Value(Bytes(*text)) : value);
  return marked;
}

Value header_from_json(Value value) {
  const Object* object = value.as_object();
  if (!object || object->size() != 1) return value;
  const Value* bytes = object->find(kBytesMark);
  if (!bytes || !bytes->is_text()) return value;
  std::optional<std::string> decoded = from_base64(*bytes->as_text());
  return decoded ? Value(Bytes(std::move(*decoded))) : value;
}

Result<void> restore_headers(const Value& stored, Headers& headers) {
  const std::string_view text = stored.raw();
  if (text.empty()) return {};
  Result<Value> parsed = parse_json(text);
  if (!parsed || !parsed->is_object())
    return Error(ErrorKind::data, "the column headers holds no JSON object",
                 "write it like {\"content-type\": \"application/json\"}, or leave it null");
  for (auto& [name, value] : parsed->object())
    if (!is_engine_header(name)) headers.set(name, header_from_json(std::move(value)));
  return {};
}

}  // namespace

bool HeaderFilter::passes(std::string_view name) const {
  if (is_engine_header(name)) return false;
  // They belong to the event that came in, not to the one that goes out.
  if (iequals(name, kEventIdHeader) || iequals(name, kEventTypeHeader)) return false;
  if (iequals(name, "content-type") || iequals(name, "traceparent") || iequals(name, "tracestate"))
    return true;
  for (const std::string& pattern : patterns_)
    if (iequals(pattern, name)) return true;
  if (is_private_header(name)) return false;
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
    return pattern.ends_with('*') &&
           starts_with_ignoring_case(name, std::string_view(pattern).substr(0, pattern.size() - 1));
  });
}

std::string storable_error(std::string text) {
  constexpr size_t kMax = 2000;
  text.resize(std::min(text.size(), 2 * kMax));
  std::erase(text, '\0');
  for (size_t at = find_invalid_utf8(text); at != std::string::npos; at = find_invalid_utf8(text))
    text[at] = '?';
  if (text.size() <= kMax) return text;
  size_t end = kMax;
  while (end > 0 && is_utf8_tail(text[end])) --end;
  text.resize(end);
  return text;
}

StoredBody store_body(const Value& body) {
  StoredBody out;
  switch (body.kind()) {
    case Value::Kind::null: return out;
    case Value::Kind::text:
    case Value::Kind::bytes:
      if (is_clean_text(body.raw())) {
        out.text = body.is_text() ? body : Value(body.raw());
      } else {
        out.bytes = body.is_bytes() ? body : Value(Bytes(std::string(body.raw())));
      }
      return out;
    default:
      out.text = to_json(body);
      out.json = true;
      return out;
  }
}

Value store_headers(const Headers& headers, const HeaderFilter& filter, bool json_body) {
  Object kept;
  for (const auto& [name, value] : headers)
    if (filter.passes(name)) kept.append(name, header_to_json(value));
  if (json_body && !headers.find("content-type")) kept.append("content-type", "application/json");
  return kept.empty() ? Value() : Value(to_json(Value(std::move(kept))));
}

Result<Exchange> restore(RelayRow row) {
  List& columns = row.columns;
  Exchange exchange;
  exchange.delivery = static_cast<uint64_t>(row.id);
  Headers& headers = exchange.message.headers;
  headers.reserve(10);
  Result<void> restored = restore_headers(columns[kColHeaders], headers);
  if (!restored) return std::move(restored.error());
  headers.set(kEventIdHeader, columns[kColEventId]);
  if (!columns[kColType].is_null()) headers.set(kEventTypeHeader, columns[kColType]);
  exchange.key = columns[kColKey].to_text();
  headers.append("outbox.id", row.id);
  headers.append("outbox.eventId", std::move(columns[kColEventId]));
  headers.append("outbox.key", std::move(columns[kColKey]));
  headers.append("outbox.type", std::move(columns[kColType]));
  headers.append("outbox.attempts", row.attempts);
  headers.append("outbox.createdAt", std::move(columns[kColCreatedAt]));
  const bool has_bytes = columns[kColPayload].is_null();
  exchange.message.body = std::move(columns[has_bytes ? kColPayloadBytes : kColPayload]);
  return exchange;
}

}  // namespace drom::outbox
