// PostgreSQL's SQLSTATE -> Error: the kind decides about retries, the type holds the SQLSTATE. Texts
// never carry a password or the values of a row (the server's DETAIL is left out). Any thread.
#pragma once

#include <string>
#include <string_view>

#include "drom/base/error.hpp"

namespace drom::sql {

Error pg_error(std::string_view sqlstate, std::string_view message, std::string_view hint);
// Of a lost or refused connection. `reason` is libpq's text, `password` is masked in it.
Error pg_not_connected(std::string what, std::string_view reason, const std::string& password);
// After these the session is of no use: the server is ending it.
bool ends_session(std::string_view sqlstate);
// A cached plan that the server does not accept any more: prepare the statement again.
bool is_stale_plan(std::string_view sqlstate, std::string_view message);

}  // namespace drom::sql
