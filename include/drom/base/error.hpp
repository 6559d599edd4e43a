// Errors are values in Dromedary: a kind that decides what happens next (retry, dead letter, refuse
// to start), a sentence for people, the place, and a hint what to change. Nothing throws for data.
// Values and free functions; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "drom/base/assert.hpp"

namespace drom {

// Decides the reaction, not the text. `transient`, `timeout` and `not_connected` are worth a retry.
enum class ErrorKind : uint8_t {
  config,         // the route file or an option is wrong; the engine does not start
  data,           // the payload is wrong; retrying cannot help
  transient,      // may work next time
  timeout,        // a deadline passed
  not_connected,  // the other side is not reachable; costs no delivery attempt
  rejected,       // the other side refused for good (4xx, constraint, unroutable)
  cancelled,      // we are stopping
  bug,            // our own mistake
};

std::string_view to_string(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::bug;
  std::string what;   // what happened, one sentence, no secrets
  std::string where;  // `route/step` or `file:line:column`; filled in by the engine when empty
  std::string hint;   // what to change; may be empty
  std::string type;   // Camel exception name given by a route, or a stable code; may be empty
  std::optional<std::chrono::milliseconds> retry_after;

  Error() = default;
  Error(ErrorKind k, std::string text, std::string fix = {})
      : kind(k), what(std::move(text)), hint(std::move(fix)) {}

  bool retryable() const {
    return kind == ErrorKind::transient || kind == ErrorKind::timeout ||
           kind == ErrorKind::not_connected;
  }
  // "what (hint)" for logs.
  std::string message() const;
};

// A value or an Error. Check before use; reading the wrong side is our own mistake and aborts.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    DROM_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    DROM_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    DROM_ASSERT(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() {
    DROM_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const {
    DROM_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  Error& error() {
    DROM_ASSERT(error_);
    return *error_;
  }
  const Error& error() const {
    DROM_ASSERT(error_);
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace drom
