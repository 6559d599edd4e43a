#include "connectors/outbox/foreign_table.hpp"

#include <algorithm>

#include "connectors/outbox/outbox_message.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/base/json.hpp"

namespace drom::outbox {
namespace {

constexpr std::string_view kPayloadField = "payload";  // of the envelope
constexpr std::string_view kIdHeader = "id";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// As Java's trim(): everything up to the space is blank.
bool is_blank(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}

void drop_nulls(Value& value) {
  if (value.is_object()) {
    Object kept;
    for (auto& [name, member] : value.object()) {
      if (member.is_null()) continue;
      drop_nulls(member);
      kept.append(name, std::move(member));
    }
    value = Value(std::move(kept));
  } else if (value.is_list()) {
    for (Value& item : value.list()) drop_nulls(item);
  }
}

// A text that holds an object or an array becomes one; everything else stays as it is.
void expand(Value& payload, bool keep_nulls) {
  const std::string* text = payload.as_text();
  if (!text || (!text->starts_with('{') && !text->starts_with('['))) return;
  Result<Value> parsed = parse_json(*text);
  if (!parsed) return;
  if (!keep_nulls) drop_nulls(*parsed);
  payload = std::move(*parsed);
}

Result<std::string> topic_of(const EventShape& event, const Value& routed_by,
                             const std::string& column) {
  if (routed_by.is_null())
    return Error(ErrorKind::data, "column " + column + " is null, so the row has no topic",
                 "route.by.field names the column that the topic is made of");
  const std::string text = routed_by.to_text();
  if (!event.topic_regex) return text;
  Result<bool> matches = event.topic_regex->matches_all(text);
  if (!matches) return std::move(matches.error());
  if (!*matches) return text;
  return event.topic_regex->replace(text, event.topic_replacement, true);
}

}  // namespace

Result<std::string> java_replacement(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return Error(ErrorKind::config, "route.topic.replacement: '" + std::string(text) + "' " + why,
                 "groups are $1 or ${name}; a dollar sign is \\$");
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (++i == text.size()) return wrong("ends with a backslash");
      if (text[i] == '$' || text[i] == '\\') out += '\\';
      out += text[i];
    } else if (text[i] != '$') {
      out += text[i];
    } else if (i + 1 < text.size() && is_digit(text[i + 1])) {
      out += "${";
      out += text[++i];
      out += '}';
    } else if (i + 1 < text.size() && text[i + 1] == '{') {
      const size_t end = text.find('}', i);
      if (end == std::string_view::npos || end == i + 2) return wrong("has an unclosed group");
      out += "$+{" + std::string(text.substr(i + 2, end - i - 2)) + "}";
      i = end;
    } else {
      return wrong("has a dollar sign that names no group");
    }
  }
  return out;
}

namespace {

void add_metadata(Exchange& exchange, RelayRow& row) {
  List& columns = row.columns;
  Headers& headers = exchange.message.headers;
  exchange.key = columns[kColKey].to_text();
  headers.append("outbox.id", row.id);
  headers.append("outbox.eventId", std::move(columns[kColEventId]));
  headers.append("outbox.key", std::move(columns[kColKey]));
  headers.append("outbox.type", std::move(columns[kColType]));
  headers.append("outbox.attempts", row.attempts);
  headers.append("outbox.createdAt", std::move(columns[kColCreatedAt]));
}

// Debezium's router: the payload is the value, unless a column goes into the envelope.
Result<Exchange> restore_debezium(const TableShape& shape, const EventShape& event, RelayRow row,
                                  List extras) {
  Exchange exchange;
  exchange.delivery = static_cast<uint64_t>(row.id);
  Headers& headers = exchange.message.headers;
  headers.reserve(9 + event.placed.size());
  headers.append(std::string(kIdHeader), row.columns[kColEventId]);
  Value payload = std::move(row.columns[kColPayload]);
  const bool empty =
      payload.is_null() ||
      (payload.raw().empty() && !payload.is_list() && (payload.is_text() || payload.is_bytes())) ||
      (payload.is_text() && is_blank(payload.raw()));
  if (event.expand_json) expand(payload, event.keep_nulls);
  Object envelope;
  Value partition;
  for (const PlacedField& field : event.placed) {
    if (!shape.extras[field.extra]) continue;  // the table lacks it, and that is fine
    const Value& value = extras[field.extra];
    switch (field.placement) {
      case PlacedField::Placement::header: headers.append(field.alias, value); break;
      case PlacedField::Placement::envelope: envelope.set(field.alias, value); break;
      case PlacedField::Placement::partition: partition = value; break;
    }
  }
  Result<std::string> topic =
      topic_of(event, extras[*event.topic], shape.extras[*event.topic].name);
  if (!topic) return std::move(topic.error());
  headers.append("outbox.topic", std::move(*topic));
  if (!partition.is_null()) headers.append("outbox.partition", std::move(partition));
  if (event.schema_version) headers.append("outbox.schemaVersion", extras[*event.schema_version]);
  const bool enveloped = std::ranges::any_of(event.placed, [](const PlacedField& field) {
    return field.placement == PlacedField::Placement::envelope;
  });
  if (empty && event.tombstone_on_empty) {
    exchange.message.body = Value();
  } else if (enveloped) {
    Object out;
    out.append(std::string(kPayloadField), std::move(payload));
    for (auto& [name, value] : envelope) out.set(name, std::move(value));
    exchange.message.body = Value(std::move(out));
  } else {
    exchange.message.body = std::move(payload);
  }
  add_metadata(exchange, row);
  return exchange;
}

}  // namespace

Result<Exchange> restore_foreign(const TableShape& shape, const EventShape& event, RelayRow row) {
  constexpr size_t kOwn = kColExtras;
  List extras(std::make_move_iterator(row.columns.begin() + kOwn),
              std::make_move_iterator(row.columns.end()));
  row.columns.resize(kOwn);
  if (shape.format == TableFormat::debezium)
    return restore_debezium(shape, event, std::move(row), std::move(extras));
  Result<Exchange> exchange = restore(std::move(row));
  if (!exchange) return exchange;
  Headers& headers = exchange->message.headers;
  for (const PlacedField& field : event.placed)
    if (!extras[field.extra].is_null()) headers.set(field.alias, std::move(extras[field.extra]));
  if (event.topic && !extras[*event.topic].is_null())
    headers.append("outbox.topic", extras[*event.topic].to_text());
  return exchange;
}

}  // namespace drom::outbox
