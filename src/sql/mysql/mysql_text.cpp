#include "sql/mysql/mysql_text.hpp"

#include <algorithm>
#include <charconv>

namespace drom::sql {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What an unquoted name may hold: a `$` after it belongs to the name.
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The position after what starts at `at` and holds no parameter; `at` itself when nothing does.
size_t skip(std::string_view sql, size_t at) {
  const char c = sql[at];
  const auto after = [&](std::string_view mark, size_t from) {
    const size_t found = sql.find(mark, from);
    return found == std::string_view::npos ? sql.size() : found + mark.size();
  };
  if (c == '\'' || c == '"') {
    // A doubled quote is two quoted texts side by side, which comes to the same.
    size_t end = at + 1;
    while (end < sql.size() && sql[end] != c) end += sql[end] == '\\' ? 2 : 1;
    return std::min(end + 1, sql.size());
  }
  if (c == '`') return after("`", at + 1);
  if (c == '#') return after("\n", at);
  const std::string_view rest = sql.substr(at);
  if (rest.starts_with("--") && (rest.size() == 2 || static_cast<unsigned char>(rest[2]) <= ' '))
    return after("\n", at);
  if (rest.starts_with("/*")) {
    // `/*! ... */` and `/*M! ... */` hold statements, not remarks.
    if (rest.starts_with("/*!") || rest.starts_with("/*M!")) return at;
    return after("*/", at + 2);
  }
  return at;
}

Error refused(std::string what, std::string hint) {
  Error error(ErrorKind::rejected, std::move(what), std::move(hint));
  error.type = "42000";
  return error;
}

}  // namespace

Result<MysqlText> translate_parameters(std::string_view sql) {
  MysqlText out;
  out.sql.reserve(sql.size());
  size_t at = 0;
  while (at < sql.size()) {
    if (const size_t end = skip(sql, at); end > at) {
      out.sql += sql.substr(at, end - at);
      at = end;
      continue;
    }
    const char c = sql[at];
    if (c == '?') return refused("the statement has a bare '?'", "write $1, $2, ...");
    const bool parameter = c == '$' && at + 1 < sql.size() && is_digit(sql[at + 1]) &&
                           (at == 0 || !is_name(sql[at - 1]));
    if (!parameter) {
      out.sql += c;
      ++at;
      continue;
    }
    size_t number = 0;
    const auto [end, failed] =
        std::from_chars(sql.data() + at + 1, sql.data() + sql.size(), number);
    if (failed != std::errc() || number == 0 || number > 65'535)
      return refused("the statement has a parameter with a number that cannot be",
                     "write $1, $2, ... up to $65535");
    out.sql += '?';
    out.parameters.push_back(number - 1);
    out.parameter_count = std::max(out.parameter_count, number);
    at = static_cast<size_t>(end - sql.data());
  }
  return out;
}

}  // namespace drom::sql
