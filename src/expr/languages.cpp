#include <algorithm>

#include "drom/expr/expression.hpp"
#include "expr/basic_nodes.hpp"
#include "expr/jsonpath_node.hpp"
#include "expr/parser.hpp"
#include "expr/references.hpp"
#include "expr/scan.hpp"
#include "expr/suggest.hpp"

namespace drom {

Result<bool> Expression::matches(const Exchange& exchange, const EvalScope& scope) const {
  const Result<Value> value = evaluate(exchange, scope);
  if (!value) return value.error();
  return is_truthy(*value);
}

bool is_truthy(const Value& value) {
  if (value.is_null()) return false;
  if (const bool* b = value.as_bool()) return *b;
  if (const List* list = value.as_list()) return !list->empty();
  if (!value.is_text() && !value.is_bytes()) return true;
  const std::string_view text = expr::Piece{value.raw()}.trimmed().text;
  return !text.empty() && !iequals(text, "false");
}

namespace {

using expr::Frame;
using expr::NodePtr;
using expr::Operand;

class TreeExpression final : public Expression {
 public:
  explicit TreeExpression(NodePtr root) : root_(std::move(root)) {}
  Result<Value> evaluate(const Exchange& exchange, const EvalScope& scope) const override {
    Frame frame(exchange, scope, exchange.message.body);
    Result<Operand> value = root_->evaluate(frame);
    if (!value) return std::move(value.error());
    return std::move(*value).take();
  }
  Result<bool> matches(const Exchange& exchange, const EvalScope& scope) const override {
    Frame frame(exchange, scope, exchange.message.body);
    return root_->test(frame);
  }
  bool reads_body() const override { return root_->reads_body(); }

 private:
  NodePtr root_;
};

// A comparison as a value is its truth.
class PredicateExpression final : public Expression {
 public:
  explicit PredicateExpression(NodePtr root) : inner_(std::move(root)) {}
  Result<Value> evaluate(const Exchange& exchange, const EvalScope& scope) const override {
    const Result<bool> answer = inner_.matches(exchange, scope);
    if (!answer) return answer.error();
    return Value(*answer);
  }
  Result<bool> matches(const Exchange& exchange, const EvalScope& scope) const override {
    return inner_.matches(exchange, scope);
  }
  bool reads_body() const override { return inner_.reads_body(); }

 private:
  TreeExpression inner_;
};

class FunctionExpression final : public Expression {
 public:
  explicit FunctionExpression(std::function<Value(const Exchange&)> function)
      : function_(std::move(function)) {}
  // User code may throw: that is the fault of this message, not the end of the engine.
  Result<Value> evaluate(const Exchange& exchange, const EvalScope&) const override {
    try {
      return function_(exchange);
    } catch (const std::exception& e) {
      return Error(ErrorKind::data, std::string("the expression failed: ") + e.what());
    } catch (...) {
      return Error(ErrorKind::data, "the expression failed with an unknown exception");
    }
  }

 private:
  std::function<Value(const Exchange&)> function_;
};

ExpressionPtr wrap(NodePtr node, ExpressionUse use) {
  if (!node) return nullptr;
  if (use == ExpressionUse::predicate)
    return std::make_shared<PredicateExpression>(std::move(node));
  return std::make_shared<TreeExpression>(std::move(node));
}

NodePtr compile_simple(std::string_view text, ExpressionUse use, ExpressionError& error) {
  expr::Parser parser(error);
  return use == ExpressionUse::predicate ? parser.parse_predicate({text, 0})
                                         : parser.parse_value({text, 0});
}

NodePtr compile_jsonpath(std::string_view text, ExpressionError& error) {
  expr::JsonPathError problem;
  std::optional<expr::JsonPath> path = expr::JsonPath::parse(text, problem);
  if (path) return expr::make_jsonpath(expr::make_body(), std::move(*path));
  error = {std::move(problem.what), std::move(problem.hint), problem.offset};
  return nullptr;
}

NodePtr compile_name(expr::NamedPlace place, std::string_view text, ExpressionError& error) {
  const std::string_view name = expr::Piece{text}.trimmed().text;
  if (!name.empty()) return expr::make_named(place, std::string(name));
  error = {"the name is missing", "write the name alone, without ${...}", 0};
  return nullptr;
}

}  // namespace

ExpressionPtr compile_expression(std::string_view language, std::string_view text,
                                 ExpressionUse use, ExpressionError& error) {
  if (language == "simple" || language == "csimple")
    return wrap(compile_simple(text, use, error), use);
  if (language == "constant") return wrap(expr::make_literal(Value(text)), use);
  if (language == "jsonpath") return wrap(compile_jsonpath(text, error), use);
  if (language == "header") return wrap(compile_name(expr::NamedPlace::header, text, error), use);
  if (language == "exchangeProperty" || language == "exchange-property")
    return wrap(compile_name(expr::NamedPlace::property, text, error), use);
  if (language == "variable")
    return wrap(compile_name(expr::NamedPlace::variable, text, error), use);
  const auto& known = expression_languages();
  error = {"there is no expression language '" + std::string(language) + "'",
           expr::suggest(language, {known.begin(), known.end()}), 0};
  return nullptr;
}

const std::vector<std::string>& expression_languages() {
  static const std::vector<std::string> languages = {"constant", "exchangeProperty", "header",
                                                     "jsonpath", "simple",           "variable"};
  return languages;
}

ExpressionPtr make_expression(std::function<Value(const Exchange&)> function) {
  return std::make_shared<FunctionExpression>(std::move(function));
}

}  // namespace drom
