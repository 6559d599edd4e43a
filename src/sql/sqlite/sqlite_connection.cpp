#include "sql/sqlite/sqlite_connection.hpp"

#include <sqlite3.h>

#include <charconv>
#include <filesystem>
#include <limits>

#include "drom/base/json.hpp"
#include "sql/sqlite/sqlite_error.hpp"

namespace drom::sql {
namespace {

Error refused(std::string what, std::string hint, std::string type) {
  Error error(ErrorKind::rejected, std::move(what), std::move(hint));
  error.type = std::move(type);
  return error;
}

// Leaves a cached statement as it was found, so that it holds neither locks nor big values.
struct Reset {
  sqlite3_stmt* statement;
  explicit Reset(sqlite3_stmt* s) : statement(s) {}
  Reset(const Reset&) = delete;
  ~Reset() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};

Value column_value(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return static_cast<int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
      return Bytes(size == 0 ? std::string() : std::string(bytes, size));
    }
    default: return nullptr;
  }
}

// `value` must stay as it is until the statement is reset: texts and blobs are not copied.
int bind_value(sqlite3_stmt* statement, int position, const Value& value) {
  const auto text = [&](std::string_view t, sqlite3_destructor_type lifetime) {
    // An empty view may carry a null pointer, which SQLite would take for NULL.
    const char* data = t.empty() ? "" : t.data();
    return sqlite3_bind_text64(statement, position, data, t.size(), lifetime, SQLITE_UTF8);
  };
  switch (value.kind()) {
    case Value::Kind::null: return sqlite3_bind_null(statement, position);
    case Value::Kind::boolean:
      return sqlite3_bind_int64(statement, position, *value.as_bool() ? 1 : 0);
    case Value::Kind::integer: return sqlite3_bind_int64(statement, position, *value.as_int());
    case Value::Kind::real: return sqlite3_bind_double(statement, position, *value.as_real());
    case Value::Kind::decimal: return text(value.as_decimal()->digits, SQLITE_STATIC);
    case Value::Kind::text: return text(*value.as_text(), SQLITE_STATIC);
    case Value::Kind::bytes: {
      const std::string_view bytes = value.as_bytes()->view();
      if (bytes.empty()) return sqlite3_bind_zeroblob(statement, position, 0);
      return sqlite3_bind_blob64(statement, position, bytes.data(), bytes.size(), SQLITE_STATIC);
    }
    case Value::Kind::time: return text(to_iso8601(*value.as_time()), SQLITE_TRANSIENT);
    case Value::Kind::list:
    case Value::Kind::object: return text(to_json(value), SQLITE_TRANSIENT);
  }
  return SQLITE_MISUSE;
}

// What may follow a statement: blanks, semicolons, comments.
bool has_statement(sqlite3* db, const char* text, const char* end) {
  while (text < end) {
    sqlite3_stmt* statement = nullptr;
    const char* next = nullptr;
    const int code = sqlite3_prepare_v2(db, text, static_cast<int>(end - text), &statement, &next);
    const bool found = code != SQLITE_OK || statement;
    sqlite3_finalize(statement);
    if (found) return true;
    if (next <= text) return false;
    text = next;
  }
  return false;
}

Result<void> make_folder(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (!failed) return {};
  return Error(
      ErrorKind::not_connected,
      "cannot create the folder '" + folder.string() + "' of the database: " + failed.message(),
      "create it, or let `file` point somewhere else");
}

// SQLite's own handler sleeps longer and longer, and whoever has waited longest looks least often:
// beside busy writers a relay of another process would hardly ever get its turn.
int keep_trying(void* busy_ms, int tries) {
  if (tries >= *static_cast<const int*>(busy_ms)) return 0;
  sqlite3_sleep(1);
  return 1;
}

}  // namespace

bool SqliteOptions::in_memory() const { return file == ":memory:"; }

void SqliteConnection::Closer::operator()(sqlite3* db) const { sqlite3_close_v2(db); }
void SqliteConnection::Finalizer::operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }

SqliteConnection::~SqliteConnection() = default;

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::open(const SqliteOptions& options,
                                                                 Role role) {
  if (!options.in_memory()) {
    if (Result<void> made = make_folder(options.file); !made) return made.error();
  }
  std::unique_ptr<SqliteConnection> self(new SqliteConnection(options.statements_max));
  sqlite3* db = nullptr;
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(options.file.c_str(), &db, flags, nullptr);
  self->db_.reset(db);
  if (code != SQLITE_OK) {
    Error error = db ? sqlite_error(db) : sqlite_error(code, sqlite3_errstr(code));
    error.what += " ('" + options.file + "')";
    return error;
  }
  self->busy_ms_ = static_cast<int>(options.busy_timeout.count());
  sqlite3_busy_handler(db, keep_trying, &self->busy_ms_);
  std::string pragmas =
      "PRAGMA foreign_keys = ON; PRAGMA synchronous = " + options.synchronous + ";";
  // WAL lets readers work beside the writer. A reader opens as a writer would, because WAL needs
  // its shared memory file, and is held to reading by query_only.
  pragmas += role == Role::writer ? "PRAGMA journal_mode = WAL;" : "PRAGMA query_only = ON;";
  if (Result<void> set = self->run_text(pragmas.c_str()); !set) {
    set.error().what += " ('" + options.file + "')";
    return set.error();
  }
  return self;
}

Result<void> SqliteConnection::run_text(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return sqlite_error(db_.get());
  return {};
}

bool SqliteConnection::in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

void SqliteConnection::roll_back() {
  if (!in_transaction()) return;
  // It fails only when the transaction is gone already.
  sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<SqliteConnection::Statement*> SqliteConnection::prepare(const std::string& sql) {
  if (Statement* known = statements_.find(sql)) return known;
  sqlite3_stmt* handle = nullptr;
  const char* tail = nullptr;
  if (sql.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return refused("the statement is too long", "", "SQLITE_TOOBIG");
  const int code = sqlite3_prepare_v3(db_.get(), sql.c_str(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, &tail);
  Statement statement;
  statement.handle.reset(handle);
  if (code != SQLITE_OK) return sqlite_error(db_.get());
  if (!handle) return refused("the statement is empty", "write one SQL statement", "SQLITE_ERROR");
  if (has_statement(db_.get(), tail, sql.c_str() + sql.size()))
    return refused("more than one statement in one call",
                   "give each statement its own call or use a script", "SQLITE_ERROR");
  const int positions = sqlite3_bind_parameter_count(handle);
  for (int i = 1; i <= positions; ++i) {
    const char* name = sqlite3_bind_parameter_name(handle, i);
    const std::string_view text = name ? name : "?";
    size_t number = 0;
    const auto parsed = text.starts_with('$')
                            ? std::from_chars(text.data() + 1, text.data() + text.size(), number)
                            : std::from_chars_result{nullptr, std::errc::invalid_argument};
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || number == 0)
      return refused("parameter '" + std::string(text) + "' has no number", "write $1, $2, ...",
                     "SQLITE_ERROR");
    statement.parameters.push_back(number - 1);
    statement.parameter_count = std::max(statement.parameter_count, number);
  }
  const int columns = sqlite3_column_count(handle);
  for (int c = 0; c < columns; ++c) {
    const char* name = sqlite3_column_name(handle, c);
    statement.columns.emplace_back(name ? name : "");
  }
  return &statements_.insert(sql, std::move(statement));
}

Result<void> SqliteConnection::bind(const Statement& statement, const List& params) {
  if (params.size() != statement.parameter_count)
    return refused("the statement takes " + std::to_string(statement.parameter_count) +
                       " parameters and got " + std::to_string(params.size()),
                   "", "SQLITE_RANGE");
  for (size_t i = 0; i < statement.parameters.size(); ++i) {
    const Value& value = params[statement.parameters[i]];
    const int code = bind_value(statement.handle.get(), static_cast<int>(i + 1), value);
    if (code != SQLITE_OK) return sqlite_error(db_.get());
  }
  return {};
}

Result<Rows> SqliteConnection::run(Statement& statement, const List& params) {
  sqlite3_stmt* const handle = statement.handle.get();
  const Reset reset(handle);
  if (Result<void> bound = bind(statement, params); !bound) return bound.error();
  Rows out;
  const auto changes_before = sqlite3_total_changes64(db_.get());
  while (true) {
    const int code = sqlite3_step(handle);
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return sqlite_error(db_.get());
    // A schema change re-prepares the statement silently: `SELECT *` may have got more columns.
    const auto columns = static_cast<size_t>(sqlite3_data_count(handle));
    if (columns != statement.columns.size()) {
      statement.columns.clear();
      for (size_t c = 0; c < columns; ++c)
        statement.columns.emplace_back(sqlite3_column_name(handle, static_cast<int>(c)));
    }
    List row;
    row.reserve(columns);
    for (size_t c = 0; c < columns; ++c) row.push_back(column_value(handle, static_cast<int>(c)));
    out.rows.push_back(std::move(row));
  }
  out.columns = statement.columns;
  // sqlite3_changes alone would report the previous statement after a SELECT or a DDL statement.
  if (sqlite3_total_changes64(db_.get()) != changes_before)
    out.affected = sqlite3_changes64(db_.get());
  return out;
}

Result<Rows> SqliteConnection::execute(const Command& command) {
  Result<Statement*> statement = prepare(command.sql);
  if (!statement) return statement.error();
  Result<Rows> rows = run(**statement, command.params);
  statements_.trim();
  return rows;
}

Result<std::optional<Rows>> SqliteConnection::query(const Command& command) {
  Result<Statement*> statement = prepare(command.sql);
  if (!statement) return statement.error();
  if (!sqlite3_stmt_readonly((*statement)->handle.get())) return std::optional<Rows>();
  Result<Rows> rows = run(**statement, command.params);
  statements_.trim();
  if (!rows) return rows.error();
  return std::optional<Rows>(std::move(*rows));
}

Result<void> SqliteConnection::script(const std::string& text) {
  if (Result<void> begun = run_text("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> done = run_text(text.c_str());
  if (done) done = run_text("COMMIT");
  if (!done) roll_back();
  return done;
}

}  // namespace drom::sql
