// A SQL text as a person writes it in a route, with Camel's parameters, parsed once: `:#name`,
// `:?name`, `:#${simple}`, `#` by position, `:#in:name` and `:#in:${simple}` for lists. Quoted
// texts, quoted names and comments are left alone. Values are only ever bound. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/expr/expression.hpp"
#include "drom/sql/database.hpp"

namespace drom::sqlc {

struct SqlParameter {
  enum class Kind : uint8_t { position, name, expression };
  Kind kind = Kind::position;
  bool list = false;     // expands to one bound value per element
  std::string name;      // name, or the text of the expression
  ExpressionPtr simple;  // kind expression
};

struct SqlText {
  std::vector<std::string> pieces;  // one more than parameters
  std::vector<SqlParameter> parameters;
  std::string fixed;  // the statement with $1 ..., when no parameter is a list
};

struct SqlTextOptions {
  bool named = true;  // allowNamedParameters
  char placeholder = '#';
  bool backslash_escapes = false;  // MySQL: in every quoted text
};

// Errors are ErrorKind::config and name the place in the text.
Result<SqlText> parse_sql(std::string_view text, const SqlTextOptions& options);

// Where the values come from.
struct SqlInput {
  const Value& body;         // positions; names when it is an object
  const Exchange& exchange;  // headers, variables, expressions
  const EvalScope& scope;
  char separator = ',';  // of a list written as one text
};

// The statement with its bound values. A name that nobody knows is an error of kind data.
Result<sql::Command> bind_sql(const SqlText& text, const SqlInput& input);

}  // namespace drom::sqlc
