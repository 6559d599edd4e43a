// Camel routes name Java classes where errors are caught (doCatch, onException); our errors carry a
// kind and perhaps a type. This is the one table between the two worlds. Pure; any thread.
//
// What may be written, and what it catches:
//   - a kind of ours: data, transient, timeout, not_connected, rejected, config, bug; or
//   `retryable`
//     (transient, timeout, not_connected);
//   - a Java class, full or simple name, of the table in the .cpp: IOException catches connection
//   and
//     timeout errors, SQLException catches what a database answered, and so on;
//   - any other name: errors that carry exactly this type (throwException's exceptionType, an
//   SQLSTATE,
//     a code of a connector); classes that the table does not know are RuntimeExceptions.
// Errors of kind `cancelled` match nothing: the engine is stopping and the message will come again.
#pragma once

#include <optional>
#include <string_view>

#include "drom/base/error.hpp"

namespace drom {

// How far the written name is from the error: 0 is the error's own type, larger is more general.
// nullopt when it does not match. Camel takes the closest of several onException.
std::optional<int> exception_distance(std::string_view written, const Error& error);

inline bool matches_exception(std::string_view written, const Error& error) {
  return exception_distance(written, error).has_value();
}

// The kind of an error that a route throws with this class name: java.net.ConnectException is
// not_connected, and our own kinds are themselves. Classes without a counterpart are `rejected`.
ErrorKind kind_of_exception(std::string_view class_name);

}  // namespace drom
