#include "connectors/rabbitmq/message.hpp"

#include "config/utf8.hpp"
#include "drom/base/json.hpp"

namespace drom::rabbitmq {
namespace {

// One short string of AMQP has its length in one byte.
constexpr size_t kShortMax = 255;
constexpr int kDepthMax = 16;

Error too_long(std::string_view what, size_t size) {
  return Error(ErrorKind::data,
               std::string(what) + " has " + std::to_string(size) + " bytes, AMQP allows 255");
}

Result<std::optional<std::string>> property(const ExpressionPtr& expression, std::string_view name,
                                            const Exchange& exchange, const EvalScope& scope) {
  if (!expression) return std::optional<std::string>();
  Result<Value> value = expression->evaluate(exchange, scope);
  if (!value) return value.error();
  if (value->is_null()) return std::optional<std::string>();
  std::string text = value->to_text();
  if (text.size() > kShortMax) return too_long(name, text.size());
  return std::optional<std::string>(std::move(text));
}

// The room that a value takes on the wire, at most; nullopt: nested too deeply.
std::optional<size_t> room(const Value& value, int depth) {
  if (depth > kDepthMax) return std::nullopt;
  size_t out = 16;
  if (const List* list = value.as_list()) {
    for (const Value& item : *list) {
      const std::optional<size_t> inner = room(item, depth + 1);
      if (!inner) return inner;
      out += *inner;
    }
  } else if (const Object* object = value.as_object()) {
    for (const auto& [name, item] : *object) {
      const std::optional<size_t> inner = room(item, depth + 1);
      if (!inner || name.size() > kShortMax) return std::nullopt;
      out += *inner + name.size();
    }
  } else {
    out += value.raw().size();
    if (const Decimal* number = value.as_decimal()) out += number->digits.size();
  }
  return out;
}

// By CC and BCC the broker would route copies to queues that a message names.
bool stays_here(std::string_view name) {
  return name == "CC" || name == "BCC" || is_private_header(name);
}

// The broker's own notes about deliveries of the message that came in.
bool is_broker_note(std::string_view name) {
  return name == "x-death" || name == "x-delivery-count" || name.starts_with("x-first-death-") ||
         name.starts_with("x-last-death-");
}

Result<void> take_headers(const Headers& from, Headers& out) {
  size_t total = 0;
  for (const Headers::Entry& entry : from) {
    if (is_engine_header(entry.first) || stays_here(entry.first) || is_broker_note(entry.first) ||
        iequals(entry.first, "Content-Type"))
      continue;
    if (entry.first.size() > kShortMax) return too_long("a header's name", entry.first.size());
    const std::optional<size_t> size = room(entry.second, 0);
    if (!size)
      return Error(ErrorKind::data, "the header '" + entry.first + "' cannot be sent",
                   "it is nested too deeply, or holds a name of more than 255 bytes");
    total += *size + entry.first.size();
    if (total > kHeadersMax)
      return Error(ErrorKind::data, "the headers take more than 100 KB",
                   "remove the large ones, or put them into the body");
    out.append(entry.first, entry.second);
  }
  return {};
}

std::string_view take_body(const Value& body, Value& out) {
  switch (body.kind()) {
    case Value::Kind::null: return "";
    case Value::Kind::text: out = body; return "text/plain; charset=utf-8";
    case Value::Kind::bytes: out = body; return "application/octet-stream";
    case Value::Kind::list:
    case Value::Kind::object: out = Value(to_json(body)); return "application/json";
    default: out = Value(body.to_text()); return "text/plain; charset=utf-8";
  }
}

Value text_or_bytes(std::string_view text) {
  return find_invalid_utf8(text) == std::string_view::npos ? Value(text)
                                                           : Value(Bytes(std::string(text)));
}

WallTime at_second(uint64_t seconds) {
  // Later than the year 9999 is a sender that counts milliseconds; kept in range all the same.
  const uint64_t bounded = std::min<uint64_t>(seconds, 253402300799ULL);
  return WallTime(std::chrono::seconds(static_cast<int64_t>(bounded)));
}

Value from_field(const amqp_field_value_t& field) {
  switch (field.kind) {
    case AMQP_FIELD_KIND_BOOLEAN: return Value(field.value.boolean != 0);
    case AMQP_FIELD_KIND_I8: return Value(int64_t{field.value.i8});
    case AMQP_FIELD_KIND_U8: return Value(int64_t{field.value.u8});
    case AMQP_FIELD_KIND_I16: return Value(int64_t{field.value.i16});
    case AMQP_FIELD_KIND_U16: return Value(int64_t{field.value.u16});
    case AMQP_FIELD_KIND_I32: return Value(int64_t{field.value.i32});
    case AMQP_FIELD_KIND_U32: return Value(int64_t{field.value.u32});
    case AMQP_FIELD_KIND_I64: return Value(int64_t{field.value.i64});
    case AMQP_FIELD_KIND_U64:
      if (field.value.u64 > INT64_MAX) return Value(Decimal{std::to_string(field.value.u64)});
      return Value(static_cast<int64_t>(field.value.u64));
    case AMQP_FIELD_KIND_F32: return Value(static_cast<double>(field.value.f32));
    case AMQP_FIELD_KIND_F64: return Value(field.value.f64);
    case AMQP_FIELD_KIND_DECIMAL: {
      std::string digits = std::to_string(field.value.decimal.value);
      const size_t places = field.value.decimal.decimals;
      if (places == 0) return Value(Decimal{digits});
      if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
      digits.insert(digits.size() - places, ".");
      return Value(Decimal{digits});
    }
    case AMQP_FIELD_KIND_UTF8: return text_or_bytes(view(field.value.bytes));
    case AMQP_FIELD_KIND_BYTES: return Value(Bytes(std::string(view(field.value.bytes))));
    case AMQP_FIELD_KIND_TIMESTAMP: return Value(at_second(field.value.u64));
    case AMQP_FIELD_KIND_ARRAY: {
      List out;
      for (int i = 0; i < field.value.array.num_entries; ++i)
        out.push_back(from_field(field.value.array.entries[i]));
      return Value(std::move(out));
    }
    case AMQP_FIELD_KIND_TABLE: {
      Object out;
      for (int i = 0; i < field.value.table.num_entries; ++i) {
        const amqp_table_entry_t& entry = field.value.table.entries[i];
        out.set(view(entry.key), from_field(entry.value));
      }
      return Value(std::move(out));
    }
    default: return Value();
  }
}

}  // namespace

Result<Outgoing> to_wire(const Exchange& exchange, const ProducerOptions& options,
                         const EvalScope& scope, WallTime now) {
  Outgoing out;
  out.persistent = options.persistent;
  struct Field {
    const ExpressionPtr& expression;
    std::string_view name;
    std::optional<std::string>& to;
  };
  std::optional<std::string> routing_key;
  std::optional<std::string> priority;
  for (const Field& field :
       {Field{options.routing_key, "the routing key", routing_key},
        Field{options.message_id, "the message id", out.message_id},
        Field{options.type, "the type", out.type},
        Field{options.content_type, "the content type", out.content_type},
        Field{options.correlation_id, "the correlation id", out.correlation_id},
        Field{options.reply_to, "replyTo", out.reply_to},
        Field{options.expiration, "the expiration", out.expiration},
        Field{options.priority, "the priority", priority}}) {
    Result<std::optional<std::string>> value =
        property(field.expression, field.name, exchange, scope);
    if (!value) return value.error();
    field.to = std::move(*value);
  }
  out.routing_key = routing_key.value_or("");
  if (out.expiration && (out.expiration->empty() || out.expiration->size() > 10 ||
                         out.expiration->find_first_not_of("0123456789") != std::string::npos))
    return Error(ErrorKind::data, "expiration cannot be '" + *out.expiration + "'",
                 "it is a number of milliseconds");
  if (priority) {
    const std::optional<int64_t> number = Value(*priority).to_int();
    if (!number || *number < 0 || *number > 255)
      return Error(ErrorKind::data, "priority cannot be '" + *priority + "'", "write 0 to 255");
    out.priority = static_cast<uint8_t>(*number);
  }
  const Headers& headers = exchange.message.headers;
  if (!options.message_id) {
    for (const char* name : {"outbox.eventId", "eventId"}) {
      const Value* id = headers.find(name);
      if (!id || id->is_null()) continue;
      std::string text = id->to_text();
      if (text.size() > kShortMax) return too_long("the event id", text.size());
      out.message_id = std::move(text);
      break;
    }
  }
  const std::string_view fitting = take_body(exchange.message.body, out.body);
  if (!out.content_type) {
    const std::string_view given = headers.text("Content-Type");
    const std::string_view chosen = given.empty() ? fitting : given;
    if (chosen.size() > kShortMax) return too_long("the content type", chosen.size());
    if (!chosen.empty()) out.content_type = std::string(chosen);
  }
  if (options.timestamp)
    out.timestamp_s = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  Result<void> taken = take_headers(headers, out.headers);
  if (!taken) return taken.error();
  return out;
}

Table::Table(const Headers& headers) {
  std::vector<amqp_table_entry_t> entries;
  for (const Headers::Entry& entry : headers)
    entries.push_back({bytes(entry.first), field(entry.second)});
  entries_.push_back(std::move(entries));
  table_.num_entries = static_cast<int>(entries_.back().size());
  table_.entries = entries_.back().data();
}

amqp_field_value_t Table::field(const Value& value) {
  amqp_field_value_t out{};
  switch (value.kind()) {
    case Value::Kind::null: out.kind = AMQP_FIELD_KIND_VOID; break;
    case Value::Kind::boolean:
      out.kind = AMQP_FIELD_KIND_BOOLEAN;
      out.value.boolean = *value.as_bool() ? 1 : 0;
      break;
    case Value::Kind::integer:
      out.kind = AMQP_FIELD_KIND_I64;
      out.value.i64 = *value.as_int();
      break;
    case Value::Kind::real:
      out.kind = AMQP_FIELD_KIND_F64;
      out.value.f64 = *value.as_real();
      break;
    case Value::Kind::bytes:
      out.kind = AMQP_FIELD_KIND_BYTES;
      out.value.bytes = bytes(value.raw());
      break;
    case Value::Kind::time:
      out.kind = AMQP_FIELD_KIND_TIMESTAMP;
      out.value.u64 = static_cast<uint64_t>(
          std::chrono::floor<std::chrono::seconds>(value.as_time()->time_since_epoch()).count());
      break;
    case Value::Kind::text:
      out.kind = AMQP_FIELD_KIND_UTF8;
      out.value.bytes = bytes(*value.as_text());
      break;
    case Value::Kind::decimal:
      out.kind = AMQP_FIELD_KIND_UTF8;  // its digits: AMQP's own decimals are 32 bits
      out.value.bytes = bytes(value.as_decimal()->digits);
      break;
    case Value::Kind::list: {
      std::vector<amqp_field_value_t> items;
      for (const Value& item : *value.as_list()) items.push_back(field(item));
      lists_.push_back(std::move(items));
      out.kind = AMQP_FIELD_KIND_ARRAY;
      out.value.array.num_entries = static_cast<int>(lists_.back().size());
      out.value.array.entries = lists_.back().data();
      break;
    }
    case Value::Kind::object: {
      std::vector<amqp_table_entry_t> items;
      for (const auto& [name, item] : *value.as_object())
        items.push_back({bytes(name), field(item)});
      entries_.push_back(std::move(items));
      out.kind = AMQP_FIELD_KIND_TABLE;
      out.value.table.num_entries = static_cast<int>(entries_.back().size());
      out.value.table.entries = entries_.back().data();
      break;
    }
  }
  return out;
}

std::string Table::encoded() {
  std::string out(2 * kHeadersMax, '\0');
  size_t size = 0;
  amqp_encode_table(bytes(out), &table_, &size);
  out.resize(size);
  return out;
}

amqp_basic_properties_t to_properties(const Outgoing& message, Table& table) {
  amqp_basic_properties_t out{};
  out._flags = AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_HEADERS_FLAG;
  out.delivery_mode = message.persistent ? 2 : 1;
  out.headers = *table.get();
  const auto set = [&out](const std::optional<std::string>& from, amqp_bytes_t& to,
                          amqp_flags_t flag) {
    if (!from) return;
    to = bytes(*from);
    out._flags |= flag;
  };
  set(message.message_id, out.message_id, AMQP_BASIC_MESSAGE_ID_FLAG);
  set(message.type, out.type, AMQP_BASIC_TYPE_FLAG);
  set(message.content_type, out.content_type, AMQP_BASIC_CONTENT_TYPE_FLAG);
  set(message.correlation_id, out.correlation_id, AMQP_BASIC_CORRELATION_ID_FLAG);
  set(message.reply_to, out.reply_to, AMQP_BASIC_REPLY_TO_FLAG);
  set(message.expiration, out.expiration, AMQP_BASIC_EXPIRATION_FLAG);
  if (message.priority) {
    out.priority = *message.priority;
    out._flags |= AMQP_BASIC_PRIORITY_FLAG;
  }
  if (message.timestamp_s) {
    out.timestamp = static_cast<uint64_t>(*message.timestamp_s);
    out._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
  }
  return out;
}

bool is_same(const Outgoing& message, std::string_view routing_key,
             const amqp_basic_properties_t& p, std::string_view body) {
  if (message.routing_key != routing_key || message.body.raw() != body) return false;
  Table mine(message.headers);
  const amqp_basic_properties_t own = to_properties(message, mine);
  if (own._flags != p._flags || own.priority != p.priority || own.timestamp != p.timestamp)
    return false;
  if (view(own.message_id) != view(p.message_id) || view(own.type) != view(p.type) ||
      view(own.content_type) != view(p.content_type) ||
      view(own.correlation_id) != view(p.correlation_id) ||
      view(own.reply_to) != view(p.reply_to) || view(own.expiration) != view(p.expiration))
    return false;
  const Headers returned = from_table(p.headers);
  Table theirs(returned);
  const Headers sent = from_table(*mine.get());
  Table ours(sent);
  return theirs.encoded() == ours.encoded();
}

Headers from_table(const amqp_table_t& table) {
  Headers out;
  for (int i = 0; i < table.num_entries; ++i) {
    const std::string_view name = view(table.entries[i].key);
    if (!is_engine_header(name)) out.set(name, from_field(table.entries[i].value));
  }
  return out;
}

Headers from_properties(const amqp_basic_properties_t& p) {
  Headers out;
  if (p._flags & AMQP_BASIC_HEADERS_FLAG) out = from_table(p.headers);
  const auto text = [&](amqp_flags_t flag, const char* name, amqp_bytes_t value) {
    if (p._flags & flag) out.append(name, text_or_bytes(view(value)));
  };
  if (p._flags & AMQP_BASIC_CONTENT_TYPE_FLAG)
    out.set("Content-Type", text_or_bytes(view(p.content_type)));
  text(AMQP_BASIC_CONTENT_TYPE_FLAG, "rabbitmq.contentType", p.content_type);
  text(AMQP_BASIC_CONTENT_ENCODING_FLAG, "rabbitmq.contentEncoding", p.content_encoding);
  text(AMQP_BASIC_CORRELATION_ID_FLAG, "rabbitmq.correlationId", p.correlation_id);
  text(AMQP_BASIC_REPLY_TO_FLAG, "rabbitmq.replyTo", p.reply_to);
  text(AMQP_BASIC_EXPIRATION_FLAG, "rabbitmq.expiration", p.expiration);
  text(AMQP_BASIC_MESSAGE_ID_FLAG, "rabbitmq.messageId", p.message_id);
  text(AMQP_BASIC_TYPE_FLAG, "rabbitmq.type", p.type);
  text(AMQP_BASIC_USER_ID_FLAG, "rabbitmq.userId", p.user_id);
  text(AMQP_BASIC_APP_ID_FLAG, "rabbitmq.appId", p.app_id);
  if (p._flags & AMQP_BASIC_DELIVERY_MODE_FLAG)
    out.append("rabbitmq.persistent", Value(p.delivery_mode == 2));
  if (p._flags & AMQP_BASIC_PRIORITY_FLAG)
    out.append("rabbitmq.priority", Value(int64_t{p.priority}));
  if (p._flags & AMQP_BASIC_TIMESTAMP_FLAG)
    out.append("rabbitmq.timestamp", Value(at_second(p.timestamp)));
  if (const Value* count = out.find("x-delivery-count"))
    out.append("rabbitmq.deliveryCount", Value(*count));
  return out;
}

}  // namespace drom::rabbitmq
