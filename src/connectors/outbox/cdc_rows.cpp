#include "connectors/outbox/cdc_rows.hpp"

#include <algorithm>
#include <charconv>

#include "connectors/outbox/outbox_log_sql.hpp"
#include "drom/base/json.hpp"

namespace drom::outbox {
namespace {

struct Source {
  std::string_view name;
  size_t column;
};
// The log's columns that an event has.
constexpr Source kSources[] = {
    {"id", kColId},
    {"event_id", kColEventId},
    {"key", kColKey},
    {"type", kColType},
    {"payload", kColPayload},
    {"payload_bytes", kColPayloadBytes},
    {"headers", kColHeaders},
    {"created_at", kColCreatedAt},
    {"available_at", kColAvailableAt},
    {"expires_at", kColExpiresAt},
};

std::optional<std::string> from_hex(std::string_view text) {
  if (text.starts_with("\\x")) text.remove_prefix(2);
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const auto read = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (read.ec != std::errc() || read.ptr != text.data() + i + 2) return std::nullopt;
    out += static_cast<char>(byte);
  }
  return out;
}

List empty_columns() {
  List out(kColExpiresAt + 1);
  out[kColId] = int64_t{0};
  out[kColBucket] = int64_t{0};
  out[kColAttempts] = int64_t{0};
  out[kColLater] = false;
  return out;
}

bool has_nul(const Value& value) {
  return value.is_text() && value.raw().find('\0') != std::string_view::npos;
}

// One column of a message; false when it makes no sense.
bool take_column(std::string_view name, size_t column, Value value, List& columns) {
  if (value.is_null() || column == kColId) return true;
  switch (column) {
    case kColPayload:
      if (has_nul(value)) {  // no text of the database
        columns[kColPayloadBytes] = Bytes(std::string(value.raw()));
        return true;
      }
      columns[column] = value.is_text() ? std::move(value) : Value(to_json(value));
      return true;
    case kColHeaders:
      columns[column] = value.is_text() ? std::move(value) : Value(to_json(value));
      return !has_nul(columns[column]);
    case kColPayloadBytes: {
      std::optional<std::string> bytes = from_hex(value.raw());
      if (bytes) columns[column] = Bytes(std::move(*bytes));
      return bytes.has_value();
    }
    case kColCreatedAt:
    case kColAvailableAt:
    case kColExpiresAt: {
      Result<WallTime> time = parse_iso8601(value.raw());
      if (time) columns[column] = *time;
      return time.ok();
    }
    default:
      if (value.is_object() || value.as_list() || has_nul(value)) return false;
      columns[column] = value.to_text();
      return name != "event_id" || !columns[column].raw().empty();
  }
}

std::string take_message(std::string_view content, List& columns) {
  Result<Value> parsed = parse_json(content);
  if (!parsed || !parsed->is_object())
    return "the message is no JSON object with the columns of an event (key, type, payload, ...)";
  for (auto& [name, value] : parsed->object()) {
    const auto* source = std::ranges::find(kSources, std::string_view(name), &Source::name);
    if (source == std::end(kSources)) return "the message has an unknown member '" + name + "'";
    if (!take_column(name, source->column, std::move(value), columns))
      return "the member '" + name + "' of the message does not fit";
  }
  return {};
}

}  // namespace

SnapshotFilter::SnapshotFilter(const std::string& snapshot) {
  // xmin:xmax:xid,xid,...
  std::vector<uint64_t> numbers;
  const char* at = snapshot.data();
  const char* const end = at + snapshot.size();
  while (at < end) {
    uint64_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec == std::errc()) numbers.push_back(number);
    at = read.ptr < end ? read.ptr + 1 : end;
  }
  if (numbers.size() < 2) return;
  xmin_ = numbers[0];
  xmax_ = numbers[1];
  running_.assign(numbers.begin() + 2, numbers.end());
  std::ranges::sort(running_);
}

bool SnapshotFilter::contains(uint32_t xid) const {
  constexpr uint64_t kEpoch = uint64_t{1} << 32;
  uint64_t full = (xmax_ & ~(kEpoch - 1)) | xid;
  if (full > xmax_ + kEpoch / 2 && full >= kEpoch) full -= kEpoch;
  if (full + kEpoch / 2 < xmax_) full += kEpoch;
  if (full < xmin_) return true;
  return full < xmax_ && !std::ranges::binary_search(running_, full);
}

StreamRows::StreamRows(Start start)
    : start_(std::move(start)),
      prefix_(message_prefix(start_.table)),
      log_(log_table(start_.table).substr(start_.table.rfind('.') + 1)),
      read_(start_.read) {}

void StreamRows::take(std::vector<sql::WalEvent> events, Out& out) {
  using Kind = sql::WalEvent::Kind;
  for (sql::WalEvent& event : events) {
    switch (event.kind) {
      case Kind::begin:
        in_transaction_ = true;
        was_read_ = read_.contains(event.xid);
        place_ = {event.lsn, 0};
        break;
      case Kind::commit: in_transaction_ = false; [[fallthrough]];
      case Kind::keepalive:
        if (!in_transaction_) move_to(event.lsn);
        break;
      case Kind::insert:
        if (event.relation->name != log_ || !is_new() || was_read_) break;
        out.rows.rows.push_back(row(event));
        break;
      case Kind::message:
        if (!event.transactional) {
          if (!in_transaction_) move_to(event.lsn);
          if (event.prefix == kHeartbeatPrefix)
            out.heartbeats.emplace_back(event.lsn, std::move(event.content));
          if (event.prefix == prefix_) ++untransacted_;
          break;
        }
        if (event.prefix == prefix_ && is_new()) out.rows.rows.push_back(message(event));
        break;
    }
  }
  if (!in_transaction_ && place_.lsn > start_.place.lsn) out.rows.end = here();
}

// Everything that commits before has come.
void StreamRows::move_to(uint64_t lsn) { place_ = {std::max(place_.lsn, lsn), 0}; }

// Counts the event.
bool StreamRows::is_new() {
  ++place_.nth;
  // A transaction may commit at the very place where the one before it has ended.
  const StreamPlace& known = start_.place;
  return place_.lsn > known.lsn || (place_.lsn == known.lsn && place_.nth > known.nth);
}

LogRow StreamRows::row(sql::WalEvent& event) {
  if (event.relation.get() != known_) {
    relation_ = event.relation;
    known_ = relation_.get();
    places_.clear();
    for (const Source& source : kSources) {
      const auto at = std::ranges::find(relation_->columns, source.name);
      places_.push_back(at == relation_->columns.end()
                            ? std::nullopt
                            : std::optional(static_cast<size_t>(at - relation_->columns.begin())));
    }
  }
  List columns = empty_columns();
  for (size_t i = 0; i < places_.size(); ++i)
    if (places_[i]) columns[kSources[i].column] = std::move(event.values[*places_[i]]);
  return finish(std::move(columns), event.sent);
}

LogRow StreamRows::message(sql::WalEvent& event) const {
  List columns = empty_columns();
  std::string wrong = take_message(event.content, columns);
  if (!wrong.empty()) {
    columns = empty_columns();
    columns[kColPayloadBytes] = Bytes(std::move(event.content));
    columns[kColLater] = std::move(wrong);
  }
  if (columns[kColEventId].is_null())  // the same after a restart
    columns[kColEventId] = sql::lsn_text(place_.lsn) + "." + std::to_string(place_.nth);
  if (columns[kColCreatedAt].is_null()) columns[kColCreatedAt] = event.sent;
  return finish(std::move(columns), event.sent);
}

LogRow StreamRows::finish(List columns, WallTime now) const {
  LogRow out;
  out.position = here();
  if (start_.keyed) out.key = columns[kColKey].to_text();
  if (const WallTime* at = columns[kColExpiresAt].as_time()) {
    out.expires_in = std::chrono::ceil<milliseconds>(*at - now);
    out.later = out.expires_in->count() <= 0;
  }
  if (const WallTime* at = columns[kColAvailableAt].as_time()) out.later = out.later || *at > now;
  out.columns = std::move(columns);
  return out;
}

}  // namespace drom::outbox
