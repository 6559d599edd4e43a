// Which table an outbox works on and what its columns mean: our own table, Debezium's, or any other
// by column mapping. A shape is written from options at load time; table_check resolves it against
// the real table, which gives the names as they are spelled and the kinds of the columns. Plain
// data.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/sql/database.hpp"
#include "machines/outbox_relay.hpp"

namespace drom::outbox {

enum class TableFormat : uint8_t { drom, debezium, mapped };

// What becomes of a row that has been sent.
enum class SentPolicy : uint8_t {
  mark,     // it stays, told apart by a column
  remove,   // deleted
  archive,  // moved to TABLE_archive
};

enum class ColumnKind : uint8_t {
  unknown,  // not resolved yet, or of no further interest
  integer,
  boolean,
  bytes,
  instant,     // a time with its zone
  local_time,  // a time without one: UTC is meant
};

struct Column {
  std::string name;  // empty: the table has no such column
  ColumnKind kind = ColumnKind::unknown;
  bool optional = false;  // a default: when the table lacks it, it is dropped from the shape
  explicit operator bool() const { return !name.empty(); }
};

struct TableShape {
  TableFormat format = TableFormat::drom;
  Ordering ordering = Ordering::key;
  std::string table;      // as configured, checked; also the resource of the leases
  std::string sql_table;  // as it stands in statements

  // Foreign tables only. `sequence` orders the rows and names them; it is what ids mean.
  Column sequence;
  Column event_id;
  Column key;
  Column type;
  Column payload;
  Column headers;
  Column created;
  Column available;
  // A row is due while `sent` is null (or false), and while `status` holds a due value.
  Column sent;
  Column status;
  std::vector<std::string> due_values;
  std::string sent_value;
  // Read as well, after the columns of RowColumn, in this order.
  std::vector<Column> extras;
  // The table's own columns, for the archive; generated ones are not among them.
  std::vector<std::string> all_columns;

  bool foreign() const { return format != TableFormat::drom; }
  bool marks() const { return sent || status; }
};

TableShape own_shape(std::string table);

// `name` in the quotes of the dialect; for names that came out of the catalog.
std::string quoted(sql::Dialect dialect, std::string_view name);

// A column name that may be written in an option: letters, digits, underscores, at most 63.
Result<std::string> checked_column(std::string_view option, const std::string& name);

// SQL over the alias `t` (or none), for tables of any shape.
std::string column_sql(sql::Dialect dialect, const Column& column, std::string_view alias);
// The column as a text that compares byte by byte; NULL when there is no such column.
std::string text_sql(sql::Dialect dialect, const Column& column, std::string_view alias);
// True for rows that have not been sent yet; our own table has `status`.
std::string unsent_sql(sql::Dialect dialect, const TableShape& shape, std::string_view alias);
std::string bucket_sql(sql::Dialect dialect, const TableShape& shape, std::string_view alias);
// `column <= now`, by its kind.
std::string past_sql(sql::Dialect dialect, const Column& column, std::string_view alias);
// What marks a row as sent, as SET takes it; foreign tables only.
std::string sent_changes(sql::Dialect dialect, const TableShape& shape, std::string_view alias);
// "INSERT INTO TABLE_archive (columns)" and the values of a row that has been sent now.
std::pair<std::string, std::string> archive_insert(sql::Dialect dialect, const TableShape& shape,
                                                   std::string_view alias);
// Now, as a value for the column.
std::string now_for(sql::Dialect dialect, const Column& column);

}  // namespace drom::outbox
