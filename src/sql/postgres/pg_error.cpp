#include "sql/postgres/pg_error.hpp"

namespace drom::sql {
namespace {

struct Meaning {
  ErrorKind kind;
  std::string_view hint;
};

Meaning meaning_of(std::string_view state) {
  const std::string_view type = state.substr(0, 2);
  if (ends_session(state)) return {ErrorKind::not_connected, "the server is stopping or starting"};
  if (state == "53300") return {ErrorKind::not_connected, "raise max_connections or lower poolSize"};
  if (state == "57014") return {ErrorKind::transient, "the statement was cancelled; raise statementTimeout if it may take longer"};
  if (state == "55P03") return {ErrorKind::transient, "another transaction holds the lock"};
  if (state == "25006") return {ErrorKind::transient, "this server is read-only: connect to the primary (target_session_attrs=read-write)"};
  if (state == "53100") return {ErrorKind::transient, "free disk space on the server"};
  // Deadlock, serialization failure; lack of resources; trouble of the operating system.
  if (type == "40" || type == "53" || type == "58") return {ErrorKind::transient, ""};
  if (type == "28") return {ErrorKind::rejected, "check the user name, the password and pg_hba.conf"};
  return {ErrorKind::rejected, ""};
}

}  // namespace

bool ends_session(std::string_view state) {
  return state == "57P01" || state == "57P02" || state == "57P03" || state == "57P05" ||
         (state.starts_with("08") && state != "08P01");
}

bool is_stale_plan(std::string_view state, std::string_view message) {
  return state == "26000" || (state == "0A000" && message.find("cached plan") != std::string_view::npos);
}

Error pg_error(std::string_view state, std::string_view message, std::string_view hint) {
  const Meaning meaning = meaning_of(state);
  Error error(meaning.kind, "PostgreSQL: " + std::string(message),
              std::string(meaning.hint.empty() ? hint : meaning.hint));
  error.type = std::string(state);
  if (is_stale_plan(state, message)) {
    error.kind = ErrorKind::transient;
    error.hint = "the schema has changed; the statement is prepared again at the next try";
  }
  return error;
}

Error pg_not_connected(std::string what, std::string_view reason, const std::string& password) {
  std::string text(reason);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text)
    if (c == '\n') c = ' ';
  if (!password.empty()) {
    for (size_t at = text.find(password); at != std::string::npos; at = text.find(password, at + 3))
      text.replace(at, password.size(), "***");
  }
  if (!text.empty()) what += ": " + text;
  return Error(ErrorKind::not_connected, std::move(what));
}

}  // namespace drom::sql
