#include "sql/postgres/pg_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "drom/base/json.hpp"

namespace drom::sql {
namespace {

// pg_type.oid of the built-in types; fixed for ever.
enum : Oid {
  kBool = 16,
  kBytea = 17,
  kInt8 = 20,
  kInt2 = 21,
  kInt4 = 23,
  kText = 25,
  kOid = 26,
  kJson = 114,
  kFloat4 = 700,
  kFloat8 = 701,
  kBpchar = 1042,
  kVarchar = 1043,
  kTimestamptz = 1184,
  kNumeric = 1700,
  kJsonb = 3802,
};

// Array types with their element types.
constexpr std::pair<Oid, Oid> kArrays[] = {
    {1000, kBool},  {1001, kBytea},   {1005, kInt2},   {1007, kInt4},      {1009, kText},
    {1014, kBpchar}, {1015, kVarchar}, {1016, kInt8},   {1021, kFloat4},    {1022, kFloat8},
    {1115, 1114},   {1182, 1082},     {1185, kTimestamptz}, {1231, kNumeric}, {199, kJson},
    {2951, 2950},   {3807, kJsonb},
};

Oid element_of(Oid type) {
  for (const auto& [array, element] : kArrays)
    if (array == type) return element;
  return 0;
}

bool is_integer(Oid type) { return type == kInt8 || type == kInt4 || type == kInt2 || type == kOid; }
// Types whose binary form is their bytes.
bool is_plain(Oid type) {
  return type == kBytea || type == kText || type == kVarchar || type == kBpchar || type == kJson;
}

void append_hex(std::string& out, std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end);
}

void append_real(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number > 0 ? "Infinity" : "-Infinity";
  } else {
    append_number(out, number);
  }
}

void append_array(std::string& out, const List& list, Oid element);

// The text form of scalars and documents; never called for null.
void append_text(std::string& out, const Value& value, Oid type) {
  switch (value.kind()) {
    case Value::Kind::null:
      break;
    case Value::Kind::boolean:
      out += is_integer(type) ? (*value.as_bool() ? "1" : "0") : (*value.as_bool() ? "true" : "false");
      break;
    case Value::Kind::integer:
      append_number(out, *value.as_int());
      break;
    case Value::Kind::real:
      append_real(out, *value.as_real());
      break;
    case Value::Kind::decimal:
      out += value.as_decimal()->digits;
      break;
    case Value::Kind::text:
      out += *value.as_text();
      break;
    case Value::Kind::bytes:
      if (type == kBytea) {
        out += "\\x";
        append_hex(out, value.as_bytes()->view());
      } else {
        out += value.as_bytes()->view();
      }
      break;
    case Value::Kind::time:
      out += to_iso8601(*value.as_time());
      break;
    case Value::Kind::list:
      if (const Oid element = element_of(type)) {
        append_array(out, *value.as_list(), element);
      } else {
        append_json(out, value);
      }
      break;
    case Value::Kind::object:
      append_json(out, value);
      break;
  }
}

// {1,NULL,"quoted \"text\""}
void append_array(std::string& out, const List& list, Oid element) {
  out += '{';
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    const Value& value = list[i];
    if (value.is_null()) {
      out += "NULL";
      continue;
    }
    text.clear();
    append_text(text, value, element);
    out += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  out += '}';
}

Error nul_in_text() {
  Error error(ErrorKind::rejected, "a text with a NUL byte cannot be stored in PostgreSQL",
              "store it in a bytea column");
  error.type = "22021";
  return error;
}

Result<void> as_text(std::string_view text, PgParam& out) {
  if (text.find('\0') != std::string_view::npos) return nul_in_text();
  out.data = text.data();
  out.size = static_cast<int>(text.size());
  return {};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Value decode_bytes(std::string_view text) {
  if (!text.starts_with("\\x")) return std::string(text);  // bytea_output is hex in our sessions
  text.remove_prefix(2);
  std::string out(text.size() / 2, '\0');
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<char>((hex_digit(text[2 * i]) << 4) | hex_digit(text[2 * i + 1]));
  return Bytes(std::move(out));
}

Value decode_real(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::string(text);
}

}  // namespace

Result<void> encode(const Value& value, Oid type, PgParam& out) {
  out.data = nullptr;
  out.size = 0;
  out.binary = false;
  if (value.is_null()) return {};
  const std::string_view raw = value.raw();
  if (raw.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return Error(ErrorKind::rejected, "a parameter is larger than 2 GB");
  const bool bytes = value.is_bytes();
  if ((bytes && is_plain(type)) || (value.is_text() && type == kBytea)) {
    out.binary = true;
    out.data = raw.empty() ? "" : raw.data();
    out.size = static_cast<int>(raw.size());
    return {};
  }
  // libpq takes a text parameter up to its first NUL, and std::string has one at its end.
  if (value.is_text()) return as_text(*value.as_text(), out);
  out.owned.clear();
  append_text(out.owned, value, type);
  return as_text(out.owned, out);
}

Value decode(std::string_view text, Oid type) {
  switch (type) {
    case kBool:
      return text == "t";
    case kInt2:
    case kInt4:
    case kInt8:
    case kOid: {
      int64_t number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      return number;
    }
    case kFloat4:
    case kFloat8:
      return decode_real(text);
    case kNumeric:
      if (text.find_first_not_of("+-.0123456789") != std::string_view::npos) return std::string(text);
      return Decimal{std::string(text)};
    case kBytea:
      return decode_bytes(text);
    case kTimestamptz: {
      // "infinity" and years before Christ stay text.
      const Result<WallTime> time = parse_iso8601(text);
      if (time) return time.value();
      return std::string(text);
    }
    case kJson:
    case kJsonb: {
      Result<Value> document = parse_json(text);
      if (document) return std::move(*document);
      return std::string(text);
    }
    default:
      return std::string(text);
  }
}

}  // namespace drom::sql
