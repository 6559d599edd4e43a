// SQLite's extended result codes -> Error: the kind decides about retries, the type names the code.
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "drom/base/error.hpp"

struct sqlite3;

namespace drom::sql {

// "SQLITE_CONSTRAINT_UNIQUE"; "SQLITE_ERROR_4711" for a code that we do not know.
std::string sqlite_code_name(int extended_code);

// `message` is SQLite's own text; it names tables and columns, never values.
Error sqlite_error(int extended_code, std::string_view message);
// Of the last call on `db`.
Error sqlite_error(sqlite3* db);

}  // namespace drom::sql
