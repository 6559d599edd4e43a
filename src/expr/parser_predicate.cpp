#include "expr/basic_nodes.hpp"
#include "expr/operators.hpp"
#include "expr/parser.hpp"

namespace drom::expr {
namespace {

constexpr size_t kNone = std::string_view::npos;

const std::vector<std::string_view> kLogicWords = {"&&", "||", "and", "or"};

// An operator that is glued to its neighbours, for the hint: "${a}=='b'".
bool starts_with_operator(std::string_view text) {
  for (const std::string_view word : operator_words())
    if (!is_name_char(word.back()) && text.starts_with(word)) return true;
  return false;
}

}  // namespace

NodePtr Parser::parse_predicate(Piece piece) {
  if (piece.text.size() > kExpressionSizeMax)
    return fail(0,
                "the expression is larger than " + std::to_string(kExpressionSizeMax) + " bytes");
  const Depth depth(depth_);
  if (!enter(piece.offset)) return nullptr;
  const Piece inner = piece.trimmed();
  // Camel: a predicate without text is false.
  if (inner.empty()) return make_literal(Value(false));
  bool is_operators = false;
  NodePtr node = parse_value_operators(inner, Place::outside, is_operators);
  return is_operators ? std::move(node) : parse_logic(inner, Place::outside);
}

NodePtr Parser::parse_logic(Piece piece, Place place) {
  Nodes operands;
  std::vector<Logic> operators;
  size_t start = 0, word = 0;
  while (true) {
    const size_t found = find_word(piece.text.substr(start), kLogicWords, word);
    const Piece part = piece.sub(start, found).trimmed();
    if (part.empty()) {
      const size_t at = piece.offset + start + (found == kNone ? 0 : found);
      return fail(at, operators.empty() ? "the logical operator has no left side"
                                        : "the logical operator has no right side");
    }
    NodePtr operand = parse_comparison(part, place);
    if (!operand) return nullptr;
    operands.push_back(std::move(operand));
    if (found == kNone) break;
    operators.push_back(word % 2 == 0 ? Logic::both : Logic::either);
    start += found + kLogicWords[word].size();
  }
  if (operators.empty()) return std::move(operands[0]);
  return make_logic(std::move(operands), std::move(operators));
}

NodePtr Parser::parse_comparison(Piece piece, Place place) {
  size_t index = 0;
  const size_t at = find_word(piece.text, operator_words(), index);
  if (at == kNone) {
    NodePtr operand = parse_operand(piece, place);
    if (!operand && error_.offset >= piece.offset) {
      const size_t inside = error_.offset - piece.offset;
      if (inside < piece.text.size() && starts_with_operator(piece.text.substr(inside)))
        error_.hint = "operators have spaces on both sides";
    }
    return operand;
  }
  const OperatorName& name = operator_names()[index];
  const Piece left_text = piece.sub(0, at).trimmed();
  const Piece right_text = piece.sub(at + name.name.size()).trimmed();
  const std::string quoted = "the operator " + std::string(name.name);
  if (left_text.empty()) return fail(piece.offset + at, quoted + " has no left side");
  if (right_text.empty()) return fail(piece.offset + at, quoted + " has no right side");
  NodePtr left = parse_operand(left_text, place);
  if (!left) return nullptr;
  // `range 100..199` is the one right side that may stand without quotes.
  const bool range = name.op == Operator::range && right_text.text.find("..") != kNone &&
                     (right_text.text[0] == '-' || is_digit(right_text.text[0]));
  NodePtr right = range ? make_literal(Value(right_text.text)) : parse_operand(right_text, place);
  if (!right) return nullptr;
  std::string what, hint;
  NodePtr node = make_comparison(name, std::move(left), std::move(right), what, hint);
  if (!node) return fail(right_text.offset, std::move(what), std::move(hint));
  return node;
}

}  // namespace drom::expr
