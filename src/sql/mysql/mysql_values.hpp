// Values <-> MySQL's binary protocol. Results become: integers -> integer (a decimal above int64),
// TINYINT(1) and BIT(1) with 0 or 1 -> bool, FLOAT and DOUBLE -> real, DECIMAL -> Decimal, binary
// columns -> Bytes, DATETIME and TIMESTAMP -> time (sessions run in UTC), JSON -> the parsed
// document (text when our parser refuses it), everything else -> text. On the connection's lane.
#pragma once

#include <mariadb/mysql.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "drom/base/value.hpp"

namespace drom::sql {

// The parameters of one execution. Texts are not copied: the values stay as they are until then.
class MysqlParams {
 public:
  // Fails for what MySQL cannot hold: NaN and infinities.
  Result<void> add(const Value& value);
  MYSQL_BIND* binds() { return binds_.data(); }
  size_t bytes() const { return bytes_; }

 private:
  void point(enum_field_types type, const void* data, size_t size);
  template <class T>
  void scalar(enum_field_types type, T value);

  std::vector<MYSQL_BIND> binds_;
  std::deque<std::string> owned_;
  std::deque<MYSQL_TIME> times_;
  std::deque<int64_t> numbers_;
  std::deque<double> reals_;
  size_t bytes_ = 0;
};

// The columns of one result, bound to a statement while its rows are fetched.
class MysqlColumns {
 public:
  explicit MysqlColumns(MYSQL_RES* metadata);
  MysqlColumns(const MysqlColumns&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  MYSQL_BIND* binds() { return binds_.data(); }
  // The row that was fetched last.
  Result<List> row(MYSQL_STMT* statement);

 private:
  enum class Form : uint8_t {
    integer,
    flag,
    real,
    small_real,
    decimal,
    moment,
    bits,
    text,
    bytes,
    json
  };
  struct Column {
    Form form = Form::text;
    bool is_unsigned = false;
    unsigned long shown = 0;  // display width; bits
    enum_field_types type = MYSQL_TYPE_STRING;
    int64_t number = 0;
    double real = 0;
    float small = 0;
    MYSQL_TIME time{};
    unsigned long length = 0;
    my_bool is_null = 0;
    my_bool error = 0;
  };
  static Form form_of(const MYSQL_FIELD& field);
  Result<Value> value(MYSQL_STMT* statement, unsigned index);

  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::vector<MYSQL_BIND> binds_;
  char nothing_ = 0;
};

}  // namespace drom::sql
