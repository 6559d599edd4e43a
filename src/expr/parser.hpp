// Parses `simple` text into a tree. One parser per text; every piece knows its offset, so that an
// error points at its place. Functions return null after having filled the error.
#pragma once

#include <string>
#include <string_view>

#include "drom/expr/expression.hpp"
#include "expr/node.hpp"
#include "expr/path.hpp"
#include "expr/scan.hpp"

namespace drom::expr {

class Parser {
 public:
  explicit Parser(ExpressionError& error) : error_(error) {}

  // A value: a lone function keeps its kind, everything else is a template that gives text.
  NodePtr parse_value(Piece piece);
  // A predicate: operands, comparisons, && and ||.
  NodePtr parse_predicate(Piece piece);

 private:
  // Inside `${...}` the operands of operators are bare functions; outside they are wrapped.
  enum class Place : uint8_t { outside, inside };

  // parser.cpp: templates and the operators between values.
  NodePtr parse_template(Piece piece);
  NodePtr parse_value_operators(Piece piece, Place place, bool& is_operators);
  NodePtr parse_ternary(Piece piece, size_t question, Place place);
  NodePtr parse_chain(Piece piece, Place place);
  NodePtr parse_elvis(Piece piece, size_t at, Place place);
  // A function at the start of `piece`, with ++ or -- behind it; `size` is what it took.
  NodePtr parse_function_at(Piece piece, size_t& size);
  NodePtr parse_operand(Piece piece, Place place);
  // A quoted text, a number, true, false or null; null without an error when it is none of them.
  NodePtr parse_literal(Piece piece);
  NodePtr quoted_text(Piece piece, bool escapes);

  // parser_predicate.cpp
  NodePtr parse_logic(Piece piece, Place place);
  NodePtr parse_comparison(Piece piece, Place place);

  // parser_function.cpp: what stands between `${` and `}`.
  NodePtr parse_function(Piece content);
  NodePtr parse_named(Piece content);
  NodePtr parse_reference(std::string_view name, Piece rest);
  NodePtr parse_conversion(std::string_view name, Piece rest);
  NodePtr parse_call(std::string_view name, Piece rest);
  NodePtr parse_jsonpath(std::string_view function, Piece rest);
  NodePtr parse_prefixed(std::string_view name, Piece rest);
  NodePtr parse_date(std::string_view name, Piece rest);
  NodePtr unknown_function(std::string_view name, size_t offset);

  // parser_path.cpp
  bool parse_path(Piece rest, Path& out);
  bool parse_bracket(Piece key, Path& out);
  bool parse_member(Piece rest, size_t& size, Path& out);
  NodePtr parse_named_value(std::string_view kind, Piece rest);
  // "(a,b)" at the start of `rest`; what stands behind the parentheses goes to `tail`.
  bool parse_arguments(std::string_view function, Piece rest, Nodes& out, Piece& tail);
  bool take_parentheses(std::string_view function, Piece rest, Piece& inner, Piece& tail);
  NodePtr parse_argument(Piece piece);
  NodePtr with_path(NodePtr base, Piece rest);

  std::nullptr_t fail(size_t offset, std::string what, std::string hint = {});
  // False, with an error, when texts nest too deeply.
  bool enter(size_t offset);
  struct Depth {
    explicit Depth(size_t& d) : depth(d) {}
    ~Depth() { --depth; }
    size_t& depth;
  };

  ExpressionError& error_;
  size_t depth_ = 0;
};

}  // namespace drom::expr
