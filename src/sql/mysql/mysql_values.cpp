#include "sql/mysql/mysql_values.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>

#include "drom/base/json.hpp"

namespace drom::sql {
namespace {

constexpr unsigned kBinaryCharset = 63;

MYSQL_TIME to_mysql(WallTime time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  MYSQL_TIME out{};
  out.year = static_cast<unsigned>(static_cast<int>(date.year()));
  out.month = static_cast<unsigned>(date.month());
  out.day = static_cast<unsigned>(date.day());
  out.hour = static_cast<unsigned>(clock.hours().count());
  out.minute = static_cast<unsigned>(clock.minutes().count());
  out.second = static_cast<unsigned>(clock.seconds().count());
  out.second_part = static_cast<unsigned long>(clock.subseconds().count());
  out.time_type = MYSQL_TIMESTAMP_DATETIME;
  return out;
}

std::string two_digits(unsigned number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

std::string four_digits(unsigned number) {
  const std::string text = std::to_string(number);
  return std::string(text.size() < 4 ? 4 - text.size() : 0, '0') + text;
}

std::string date_text(const MYSQL_TIME& t) {
  return four_digits(t.year) + "-" + two_digits(t.month) + "-" + two_digits(t.day);
}

std::string time_text(const MYSQL_TIME& t) {
  std::string out = t.neg ? "-" : "";
  out += two_digits(t.hour + (t.time_type == MYSQL_TIMESTAMP_TIME ? t.day * 24 : 0)) + ":" +
         two_digits(t.minute) + ":" + two_digits(t.second);
  if (t.second_part == 0) return out;
  std::string fraction = std::to_string(t.second_part);
  fraction.insert(0, 6 - fraction.size(), '0');
  while (fraction.back() == '0') fraction.pop_back();
  return out + "." + fraction;
}

// The zero dates of old tables stay text.
Value moment(const MYSQL_TIME& t, enum_field_types type) {
  using namespace std::chrono;
  if (type == MYSQL_TYPE_DATE) return date_text(t);
  if (type == MYSQL_TYPE_TIME) return time_text(t);
  const year_month_day date(year(static_cast<int>(t.year)), month(t.month), day(t.day));
  if (!date.ok() || t.year == 0) return date_text(t) + " " + time_text(t);
  return WallTime(sys_days(date) + hours(t.hour) + minutes(t.minute) + seconds(t.second) +
                  microseconds(t.second_part));
}

// A FLOAT of 0.1 is 0.1, not the double nearest to it that has more digits.
double widen(float number) {
  std::array<char, 32> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  double out = number;
  std::from_chars(digits.data(), written.ptr, out);
  return out;
}

bool is_json(const MYSQL_FIELD& field) {
  if (field.type == MYSQL_TYPE_JSON) return true;
  MARIADB_CONST_STRING format{};  // MariaDB: a text with a check
  return mariadb_field_attr(&format, &field, MARIADB_FIELD_ATTR_FORMAT_NAME) == 0 &&
         std::string_view(format.str, format.length) == "json";
}

}  // namespace

void MysqlParams::point(enum_field_types type, const void* data, size_t size) {
  MYSQL_BIND bind{};
  bind.buffer_type = type;
  bind.buffer = const_cast<void*>(data);
  bind.buffer_length = size;
  bind.length_value = size;
  bind.length = nullptr;
  binds_.push_back(bind);
  bytes_ += size + 10;
}

Result<void> MysqlParams::add(const Value& value) {
  const auto text = [this](std::string_view t) { point(MYSQL_TYPE_STRING, t.data(), t.size()); };
  switch (value.kind()) {
    case Value::Kind::null: point(MYSQL_TYPE_NULL, nullptr, 0); return {};
    case Value::Kind::boolean:
      numbers_.push_back(*value.as_bool() ? 1 : 0);
      point(MYSQL_TYPE_LONGLONG, &numbers_.back(), sizeof(int64_t));
      return {};
    case Value::Kind::integer:
      numbers_.push_back(*value.as_int());
      point(MYSQL_TYPE_LONGLONG, &numbers_.back(), sizeof(int64_t));
      return {};
    case Value::Kind::real:
      if (!std::isfinite(*value.as_real())) {
        Error error(ErrorKind::rejected, "MySQL cannot hold NaN or an infinite number",
                    "store NULL or a text");
        error.type = "22003";
        return error;
      }
      reals_.push_back(*value.as_real());
      point(MYSQL_TYPE_DOUBLE, &reals_.back(), sizeof(double));
      return {};
    case Value::Kind::decimal: {
      const std::string& digits = value.as_decimal()->digits;
      point(MYSQL_TYPE_NEWDECIMAL, digits.data(), digits.size());
      return {};
    }
    case Value::Kind::text: text(*value.as_text()); return {};
    case Value::Kind::bytes: {
      const std::string_view bytes = value.as_bytes()->view();
      point(MYSQL_TYPE_BLOB, bytes.empty() ? "" : bytes.data(), bytes.size());
      return {};
    }
    case Value::Kind::time:
      times_.push_back(to_mysql(*value.as_time()));
      point(MYSQL_TYPE_DATETIME, &times_.back(), sizeof(MYSQL_TIME));
      return {};
    case Value::Kind::list:
    case Value::Kind::object:
      owned_.push_back(to_json(value));
      text(owned_.back());
      return {};
  }
  return {};
}

MysqlColumns::Form MysqlColumns::form_of(const MYSQL_FIELD& field) {
  switch (field.type) {
    case MYSQL_TYPE_TINY: return field.length == 1 ? Form::flag : Form::integer;
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR: return Form::integer;
    case MYSQL_TYPE_FLOAT: return Form::small_real;
    case MYSQL_TYPE_DOUBLE: return Form::real;
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL: return Form::decimal;
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_TIME:
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP: return Form::moment;
    case MYSQL_TYPE_BIT: return Form::bits;
    default: break;
  }
  if (is_json(field)) return Form::json;
  // UUID and INET columns of MariaDB are texts that claim to be binary.
  MARIADB_CONST_STRING type{};
  const bool named =
      mariadb_field_attr(&type, &field, MARIADB_FIELD_ATTR_DATA_TYPE_NAME) == 0 && type.length > 0;
  const bool text = field.charsetnr != kBinaryCharset || (named && field.type == MYSQL_TYPE_STRING);
  return text ? Form::text : Form::bytes;
}

MysqlColumns::MysqlColumns(MYSQL_RES* metadata) {
  const unsigned count = mysql_num_fields(metadata);
  const MYSQL_FIELD* const fields = mysql_fetch_fields(metadata);
  names_.reserve(count);
  columns_.resize(count);
  binds_.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    names_.emplace_back(fields[i].name, fields[i].name_length);
    Column& column = columns_[i];
    column.form = form_of(fields[i]);
    column.is_unsigned = (fields[i].flags & UNSIGNED_FLAG) != 0;
    column.shown = fields[i].length;
    column.type = fields[i].type;
    MYSQL_BIND& bind = binds_[i];
    bind = MYSQL_BIND{};
    bind.length = &column.length;
    bind.is_null = &column.is_null;
    bind.error = &column.error;
    switch (column.form) {
      case Form::integer:
      case Form::flag:
        bind.buffer_type = MYSQL_TYPE_LONGLONG;
        bind.buffer = &column.number;
        bind.buffer_length = sizeof column.number;
        bind.is_unsigned = column.is_unsigned ? 1 : 0;
        break;
      case Form::real:
        bind.buffer_type = MYSQL_TYPE_DOUBLE;
        bind.buffer = &column.real;
        bind.buffer_length = sizeof column.real;
        break;
      case Form::small_real:
        bind.buffer_type = MYSQL_TYPE_FLOAT;
        bind.buffer = &column.small;
        bind.buffer_length = sizeof column.small;
        break;
      case Form::moment:
        bind.buffer_type = column.type;
        bind.buffer = &column.time;
        bind.buffer_length = sizeof column.time;
        break;
      default:  // fetched by itself, once its length is known
        bind.buffer_type = MYSQL_TYPE_BLOB;
        bind.buffer = &nothing_;
        bind.buffer_length = 0;
        break;
    }
  }
}

Result<Value> MysqlColumns::value(MYSQL_STMT* statement, unsigned index) {
  Column& column = columns_[index];
  if (column.is_null) return Value();
  switch (column.form) {
    case Form::flag:
      if (column.number == 0 || column.number == 1) return Value(column.number == 1);
      return Value(column.number);
    case Form::integer:
      if (column.is_unsigned && column.number < 0)
        return Value(Decimal{std::to_string(static_cast<uint64_t>(column.number))});
      return Value(column.number);
    case Form::real: return Value(column.real);
    case Form::small_real: return Value(widen(column.small));
    case Form::moment: return moment(column.time, column.type);
    default: break;
  }
  std::string raw(column.length, '\0');
  if (!raw.empty()) {
    MYSQL_BIND bind{};
    bind.buffer_type = MYSQL_TYPE_BLOB;
    bind.buffer = raw.data();
    bind.buffer_length = raw.size();
    unsigned long length = 0;
    my_bool is_null = 0;
    my_bool error = 0;
    bind.length = &length;
    bind.is_null = &is_null;
    bind.error = &error;
    if (mysql_stmt_fetch_column(statement, &bind, index, 0) != 0 || length != raw.size())
      return Error(ErrorKind::bug, "a column could not be read");
  }
  switch (column.form) {
    case Form::decimal: return Value(Decimal{std::move(raw)});
    case Form::bytes: return Value(Bytes(std::move(raw)));
    case Form::bits: {
      uint64_t number = 0;
      for (const char c : raw) number = number << 8 | static_cast<unsigned char>(c);
      if (column.shown == 1) return Value(number == 1);
      if (number > static_cast<uint64_t>(INT64_MAX)) return Value(Decimal{std::to_string(number)});
      return Value(static_cast<int64_t>(number));
    }
    case Form::json: {
      Result<Value> document = parse_json(raw);
      if (document) return std::move(*document);
      return Value(std::move(raw));
    }
    default: return Value(std::move(raw));
  }
}

Result<List> MysqlColumns::row(MYSQL_STMT* statement) {
  List out;
  out.reserve(columns_.size());
  for (unsigned i = 0; i < columns_.size(); ++i) {
    Result<Value> v = value(statement, i);
    if (!v) return v.error();
    out.push_back(std::move(*v));
  }
  return out;
}

}  // namespace drom::sql
