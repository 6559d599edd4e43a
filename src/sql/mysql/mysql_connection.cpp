#include "sql/mysql/mysql_connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "rt/failpoint.hpp"
#include "sql/mysql/mysql_error.hpp"
#include "sql/mysql/mysql_values.hpp"

namespace drom::sql {
namespace {

Error refused(std::string what, std::string hint, std::string type) {
  Error error(ErrorKind::rejected, std::move(what), std::move(hint));
  error.type = std::move(type);
  return error;
}

// INSERT ... RETURNING and its kin, which MariaDB has.
bool changes_rows(std::string_view sql) {
  std::string word;
  for (const char c : sql) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      break;
    }
  }
  return word == "insert" || word == "replace" || word == "delete" || word == "update";
}

struct Freer {
  void operator()(MYSQL_RES* result) const { mysql_free_result(result); }
};
using Metadata = std::unique_ptr<MYSQL_RES, Freer>;

// Leaves a cached statement without its rows, and the session without further results.
struct Finish {
  MYSQL_STMT* statement;
  explicit Finish(MYSQL_STMT* s) : statement(s) {}
  Finish(const Finish&) = delete;
  ~Finish() {
    mysql_stmt_free_result(statement);
    while (mysql_stmt_more_results(statement) && mysql_stmt_next_result(statement) == 0)
      mysql_stmt_free_result(statement);
  }
};

}  // namespace

Error MysqlConnection::failure(unsigned code, const char* state, const char* message) {
  if (ends_session(code)) broken_ = true;
  if (is_stale_statement(code)) stale_ = true;
  return mysql_error(code, state, message, mariadb_ ? "MariaDB" : "MySQL");
}
Error MysqlConnection::failure() {
  MYSQL* const mysql = handle_.get();
  return failure(mysql_errno(mysql), mysql_sqlstate(mysql), mysql_error(mysql));
}
Error MysqlConnection::failure(MYSQL_STMT* statement) {
  return failure(mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                 mysql_stmt_error(statement));
}

unsigned MysqlConnection::status() const {
  unsigned out = 0;
  mariadb_get_infov(handle_.get(), MARIADB_CONNECTION_SERVER_STATUS, &out);
  return out;
}

bool MysqlConnection::in_transaction() const { return (status() & SERVER_STATUS_IN_TRANS) != 0; }

bool MysqlConnection::usable() const {
  return !broken_ && (status() & SERVER_STATUS_AUTOCOMMIT) != 0;
}

bool MysqlConnection::still_there() const {
  my_socket socket = -1;
  if (mariadb_get_infov(handle_.get(), MARIADB_CONNECTION_SOCKET, &socket) != 0) return false;
  // A server says nothing to a session at rest, except that it ends it.
  char byte = 0;
  const auto got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

Result<void> MysqlConnection::run_text(const std::string& sql) {
  if (mysql_real_query(handle_.get(), sql.data(), sql.size()) != 0) return failure();
  if (const Metadata rows{mysql_store_result(handle_.get())}; !rows && mysql_errno(handle_.get()))
    return failure();
  return {};
}

Result<void> MysqlConnection::commit() {
  constexpr std::string_view kCommit = "COMMIT";
  const auto unknown = [](const char* point) {
    return Error(ErrorKind::not_connected, failpoint_error(point).what);
  };
  if (failpoint("commit.before")) return failpoint_error("commit.before");
  if (mysql_send_query(handle_.get(), kCommit.data(), kCommit.size()) != 0) return failure();
  if (failpoint("commit.sent")) {
    broken_ = true;
    return unknown("commit.sent");
  }
  if (mysql_read_query_result(handle_.get()) != 0) return failure();
  if (failpoint("commit.done")) return unknown("commit.done");
  return {};
}

void MysqlConnection::roll_back() {
  if (broken_ || !in_transaction()) return;
  if (Result<void> done = run_text("ROLLBACK"); !done) broken_ = true;
}

// What only the text protocol can do. Its rows, if any, come as texts.
Result<Rows> MysqlConnection::run_unprepared(const Command& command) {
  MYSQL* const mysql = handle_.get();
  if (mysql_real_query(mysql, command.sql.data(), command.sql.size()) != 0) return failure();
  Rows out;
  const Metadata rows(mysql_store_result(mysql));
  if (!rows) {
    if (mysql_errno(mysql) != 0) return failure();
    out.affected = static_cast<int64_t>(mysql_affected_rows(mysql));
    return out;
  }
  const unsigned columns = mysql_num_fields(rows.get());
  const MYSQL_FIELD* const fields = mysql_fetch_fields(rows.get());
  for (unsigned c = 0; c < columns; ++c) out.columns.emplace_back(fields[c].name);
  while (MYSQL_ROW row = mysql_fetch_row(rows.get())) {
    const unsigned long* const lengths = mysql_fetch_lengths(rows.get());
    List values;
    for (unsigned c = 0; c < columns; ++c)
      values.push_back(row[c] ? Value(std::string(row[c], lengths[c])) : Value());
    out.rows.push_back(std::move(values));
  }
  return out;
}

Result<MysqlConnection::Statement*> MysqlConnection::prepare(const std::string& sql) {
  if (Statement* known = statements_.find(sql)) return known;
  Result<MysqlText> text = translate_parameters(sql);
  if (!text) return text.error();
  Statement statement;
  statement.handle.reset(mysql_stmt_init(handle_.get()));
  if (!statement.handle) return failure();
  statement.text = std::move(*text);
  statement.changes = changes_rows(sql);
  const std::string& translated = statement.text.sql;
  if (mysql_stmt_prepare(statement.handle.get(), translated.data(), translated.size()) != 0) {
    if (is_unpreparable(mysql_stmt_errno(statement.handle.get())) &&
        statement.text.parameters.empty())
      return nullptr;
    return failure(statement.handle.get());
  }
  if (mysql_stmt_param_count(statement.handle.get()) != statement.text.parameters.size())
    return refused("the statement has parameters where none can be", "write $1, $2, ...", "42000");
  return &statements_.insert(sql, std::move(statement));
}

Result<Rows> MysqlConnection::read(Statement& statement) {
  MYSQL_STMT* const handle = statement.handle.get();
  Rows out;
  const Metadata metadata(mysql_stmt_result_metadata(handle));
  if (!metadata) {
    out.affected = static_cast<int64_t>(mysql_stmt_affected_rows(handle));
    return out;
  }
  MysqlColumns columns(metadata.get());
  if (mysql_stmt_bind_result(handle, columns.binds()) != 0 || mysql_stmt_store_result(handle) != 0)
    return failure(handle);
  out.columns = columns.names();
  out.rows.reserve(mysql_stmt_num_rows(handle));
  while (true) {
    const int code = mysql_stmt_fetch(handle);
    if (code == MYSQL_NO_DATA) break;
    if (code != 0 && code != MYSQL_DATA_TRUNCATED) return failure(handle);
    Result<List> row = columns.row(handle);
    if (!row) return row.error();
    out.rows.push_back(std::move(*row));
  }
  if (statement.changes) out.affected = static_cast<int64_t>(out.rows.size());
  return out;
}

Result<Rows> MysqlConnection::run(Statement& statement, const List& params) {
  if (params.size() != statement.text.parameter_count)
    return refused("the statement takes " + std::to_string(statement.text.parameter_count) +
                       " parameters and got " + std::to_string(params.size()),
                   "", "07001");
  MysqlParams bound;
  for (const size_t i : statement.text.parameters)
    if (Result<void> fits = bound.add(params[i]); !fits) return fits.error();
  // The server would hang up in the middle of it.
  if (packet_bytes_max_ > 0 && bound.bytes() + 1024 > packet_bytes_max_) {
    Error error(ErrorKind::data,
                "the parameters of the statement are larger than the " +
                    std::to_string(packet_bytes_max_) + " bytes that the server takes",
                "raise max_allowed_packet on the server, or send less");
    error.type = "08S01";
    return error;
  }
  MYSQL_STMT* const handle = statement.handle.get();
  const Finish finish(handle);
  if (bound.bytes() > 0 && mysql_stmt_bind_param(handle, bound.binds()) != 0)
    return failure(handle);
  if (mysql_stmt_execute(handle) != 0) return failure(handle);
  return read(statement);
}

Result<Rows> MysqlConnection::execute(const Command& command) {
  Result<Statement*> statement = prepare(command.sql);
  if (!statement) return statement.error();
  if (!*statement) return run_unprepared(command);
  stale_ = false;
  Result<Rows> rows = run(**statement, command.params);
  if (stale_) statements_.erase(command.sql);
  statements_.trim();
  return rows;
}

Result<void> MysqlConnection::script(const std::string& text) {
  MYSQL* const mysql = handle_.get();
  if (mysql_set_server_option(mysql, MYSQL_OPTION_MULTI_STATEMENTS_ON) != 0) return failure();
  Result<void> done = begin();
  if (done && mysql_real_query(mysql, text.data(), text.size()) != 0) done = failure();
  while (done) {
    if (const Metadata rows{mysql_store_result(mysql)}; !rows && mysql_errno(mysql) != 0)
      done = failure();
    const int next = done ? mysql_next_result(mysql) : -1;
    if (next > 0) done = failure();
    if (next != 0) break;
  }
  if (done && in_transaction()) done = commit();
  if (!done) roll_back();
  if (!broken_ && mysql_set_server_option(mysql, MYSQL_OPTION_MULTI_STATEMENTS_OFF) != 0) {
    broken_ = true;
    if (done) done = failure();
  }
  return done;
}

}  // namespace drom::sql
