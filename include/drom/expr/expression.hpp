// An expression is parsed once, at load time, and evaluated many times without changing anything.
// Languages: constant, simple, jsonpath, header, exchangeProperty, variable; C++ callables count as
// expressions too. Compiled expressions are immutable: any thread, many shards.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drom/base/error.hpp"
#include "drom/base/value.hpp"
#include "drom/model/exchange.hpp"

namespace drom {

// Everything impure that an expression may ask for. The engine and the tests implement it.
class EvalEnv {
 public:
  virtual ~EvalEnv() = default;
  virtual WallTime now() const = 0;
  virtual uint64_t random() const = 0;
  virtual std::optional<std::string> environment(std::string_view name) const = 0;
  // A property of application.properties or -D; nullopt when undefined.
  virtual std::optional<std::string> property(std::string_view key) const = 0;
  virtual std::string_view instance() const = 0;  // prefix of exchange ids
};

struct EvalScope {
  const EvalEnv& env;
  std::string_view route;  // ${routeId}
  std::string_view step;   // ${stepId}
};

class Expression {
 public:
  virtual ~Expression() = default;
  // Errors are ErrorKind::data. May not wait.
  virtual Result<Value> evaluate(const Exchange& exchange, const EvalScope& scope) const = 0;
  // As a predicate, by Camel's truth rules; the default evaluates and calls is_truthy().
  virtual Result<bool> matches(const Exchange& exchange, const EvalScope& scope) const;
  // False when the value is known not to depend on the body: a stream need not be read for it.
  virtual bool reads_body() const { return true; }
};
using ExpressionPtr = std::shared_ptr<const Expression>;

// Camel: booleans as they are, null, empty lists, blank text and the text "false" (any case) are
// false, all else is true.
bool is_truthy(const Value& value);

enum class ExpressionUse : uint8_t { value, predicate };

// A syntax error with the byte offset in the expression text.
struct ExpressionError {
  std::string what;
  std::string hint;
  size_t offset = 0;
};

// Compiles `text` of `language`; on failure returns null and fills `error`.
ExpressionPtr compile_expression(std::string_view language, std::string_view text,
                                 ExpressionUse use, ExpressionError& error);
// The names compile_expression knows, for did-you-mean and the schema.
const std::vector<std::string>& expression_languages();

// C++ callables as expressions.
ExpressionPtr make_expression(std::function<Value(const Exchange&)> function);

}  // namespace drom
