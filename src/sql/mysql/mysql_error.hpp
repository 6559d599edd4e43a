// Error numbers of the server and of libmariadb -> Error: the kind decides about retries, the type
// holds the SQLSTATE. Texts never carry a password or the values of a row. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "drom/base/error.hpp"

namespace drom::sql {

// `server` is how the text names it: "MariaDB" or "MySQL".
Error mysql_error(unsigned code, std::string_view sqlstate, std::string_view message,
                  std::string_view server = "MariaDB");
// After these the session is of no use.
bool ends_session(unsigned code);
// The statement must be prepared again.
bool is_stale_statement(unsigned code);
// The server cannot prepare this kind of statement, only run it as text.
bool is_unpreparable(unsigned code);

}  // namespace drom::sql
