#include "expr/parser.hpp"

#include "expr/basic_nodes.hpp"
#include "expr/compare.hpp"

namespace drom::expr {
namespace {

constexpr size_t kNone = std::string_view::npos;

// \n, \t, \r and \} are Camel's escapes; any other backslash stands for itself.
size_t unescape(std::string_view text, size_t at, std::string& out) {
  if (text[at] == '\\' && at + 1 < text.size()) {
    switch (text[at + 1]) {
      case 'n': out += '\n'; return 2;
      case 't': out += '\t'; return 2;
      case 'r': out += '\r'; return 2;
      case '}': out += '}'; return 2;
      default: break;
    }
  }
  out += text[at];
  return 1;
}

const std::vector<std::string_view> kChainWords = {"~>", "?~>"};
const std::vector<std::string_view> kTernaryWords = {"?", ":"};
const std::vector<std::string_view> kElvisWords = {"?:"};

}  // namespace

std::nullptr_t Parser::fail(size_t offset, std::string what, std::string hint) {
  error_.offset = offset;
  error_.what = std::move(what);
  error_.hint = std::move(hint);
  return nullptr;
}

bool Parser::enter(size_t offset) {
  if (++depth_ <= kExpressionDepthMax) return true;
  fail(offset,
       "the expression nests deeper than " + std::to_string(kExpressionDepthMax) + " levels");
  return false;
}

NodePtr Parser::parse_value(Piece piece) {
  if (piece.text.size() > kExpressionSizeMax)
    return fail(0,
                "the expression is larger than " + std::to_string(kExpressionSizeMax) + " bytes");
  const Depth depth(depth_);
  if (!enter(piece.offset)) return nullptr;
  const Piece inner = piece.trimmed();
  if (function_start(inner.text, 0)) {
    // Only a text that is operators all the way counts as such; otherwise it is a template.
    const ExpressionError before = error_;
    bool is_operators = false;
    if (NodePtr node = parse_value_operators(inner, Place::outside, is_operators)) return node;
    error_ = before;
  }
  return parse_template(piece);
}

NodePtr Parser::parse_template(Piece piece) {
  Nodes parts;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) parts.push_back(make_literal(Value(std::move(literal))));
    literal.clear();
  };
  for (size_t at = 0; at < piece.text.size();) {
    if (!function_start(piece.text, at)) {
      at += unescape(piece.text, at, literal);
      continue;
    }
    flush();
    size_t size = 0;
    NodePtr function = parse_function_at(piece.sub(at), size);
    if (!function) return nullptr;
    parts.push_back(std::move(function));
    at += size;
  }
  if (parts.empty()) return make_literal(Value(std::move(literal)));
  flush();
  if (parts.size() == 1) return std::move(parts[0]);
  return make_template(std::move(parts));
}

NodePtr Parser::parse_function_at(Piece piece, size_t& size) {
  const size_t start = function_start(piece.text, 0);
  const size_t end = function_end(piece.text, 0);
  if (end == kNone)
    return fail(piece.offset, "the function has no closing }",
                "close it, or write \\} inside of it for a brace");
  NodePtr node = parse_function(piece.sub(start, end - start - 1));
  if (!node) return nullptr;
  size = end;
  const std::string_view behind = piece.text.substr(end);
  const bool up = behind.starts_with("++"), down = behind.starts_with("--");
  if ((up || down) && (behind.size() == 2 || is_space(behind[2]))) {
    size += 2;
    return make_step(std::move(node), up ? 1 : -1);
  }
  return node;
}

NodePtr Parser::parse_value_operators(Piece piece, Place place, bool& is_operators) {
  size_t word = 0;
  is_operators = true;
  size_t at = find_word(piece.text, kTernaryWords, word);
  if (at != kNone && kTernaryWords[word] == "?") return parse_ternary(piece, at, place);
  if (find_word(piece.text, kChainWords, word) != kNone) return parse_chain(piece, place);
  at = find_word(piece.text, kElvisWords, word);
  if (at != kNone) return parse_elvis(piece, at, place);
  is_operators = false;
  return nullptr;
}

// `condition ? yes : no`; `no` may be a ternary again.
NodePtr Parser::parse_ternary(Piece piece, size_t question, Place place) {
  const Depth depth(depth_);
  if (!enter(piece.offset)) return nullptr;
  const Piece rest = piece.sub(question + 1);
  size_t word = 0, nested = 0, colon = kNone;
  // A `?` before the `:` opens a nested ternary that ends first.
  for (size_t from = 0; from < rest.text.size();) {
    const size_t found = find_word(rest.text.substr(from), kTernaryWords, word);
    if (found == kNone) break;
    if (kTernaryWords[word] == "?") {
      ++nested;
    } else if (nested-- == 0) {
      colon = from + found;
      break;
    }
    from += found + 1;
  }
  if (colon == kNone) return fail(piece.offset + question, "the operator ? has no :");
  NodePtr condition = parse_logic(piece.sub(0, question).trimmed(), place);
  if (!condition) return nullptr;
  NodePtr yes = parse_operand(rest.sub(0, colon).trimmed(), place);
  if (!yes) return nullptr;
  NodePtr no = parse_operand(rest.sub(colon + 1).trimmed(), place);
  if (!no) return nullptr;
  return make_ternary(std::move(condition), std::move(yes), std::move(no));
}

NodePtr Parser::parse_chain(Piece piece, Place place) {
  std::vector<ChainLink> links;
  bool null_safe = false;
  size_t start = 0, word = 0;
  while (true) {
    const size_t found = find_word(piece.text.substr(start), kChainWords, word);
    const Piece part = piece.sub(start, found).trimmed();
    NodePtr node = parse_operand(part, place);
    if (!node) return nullptr;
    links.push_back({std::move(node), null_safe});
    if (found == kNone) return make_chain(std::move(links));
    null_safe = kChainWords[word] == "?~>";
    start += found + kChainWords[word].size();
  }
}

NodePtr Parser::parse_elvis(Piece piece, size_t at, Place place) {
  NodePtr left = parse_operand(piece.sub(0, at).trimmed(), place);
  if (!left) return nullptr;
  const Piece rest = piece.sub(at + 2).trimmed();
  NodePtr right = parse_operand(rest, place);
  if (!right) return nullptr;
  return make_elvis(std::move(left), std::move(right));
}

NodePtr Parser::parse_literal(Piece piece) {
  if (is_quoted(piece.text)) return quoted_text(piece.sub(1, piece.text.size() - 2), true);
  if (piece.text == "null") return make_literal(Value());
  if (piece.text == "true") return make_literal(Value(true));
  if (piece.text == "false") return make_literal(Value(false));
  if (!is_numeric(piece.text) || piece.text.starts_with('+')) return nullptr;
  if (is_digits(piece.text)) {
    if (const auto whole = Value(piece.text).to_int()) return make_literal(Value(*whole));
  }
  return make_literal(Value(Decimal{std::string(piece.text)}));
}

// Quotes may hold functions. In arguments a backslash is a backslash.
NodePtr Parser::quoted_text(Piece piece, bool escapes) {
  const bool plain = piece.text.find('$') == kNone;
  if (plain && !escapes) return make_literal(Value(piece.text));
  const Depth depth(depth_);
  if (!enter(piece.offset)) return nullptr;
  return parse_template(piece);
}

NodePtr Parser::parse_operand(Piece piece, Place place) {
  const Depth depth(depth_);
  if (!enter(piece.offset)) return nullptr;
  if (piece.empty()) return fail(piece.offset, "a value is missing here");
  if (NodePtr literal = parse_literal(piece)) return literal;
  if (is_quoted(piece.text)) return nullptr;
  if (piece.text[0] == '!' && piece.text.size() > 1 && !is_space(piece.text[1])) {
    NodePtr operand = parse_operand(piece.sub(1), place);
    return operand ? make_not(std::move(operand)) : nullptr;
  }
  if (function_start(piece.text, 0)) {
    size_t size = 0;
    NodePtr function = parse_function_at(piece, size);
    if (!function || size == piece.text.size()) return function;
    const Piece rest = piece.sub(size).trimmed();
    return fail(rest.offset, "'" + std::string(rest.text.substr(0, 20)) + "' is not expected here",
                "operators have spaces on both sides; texts stand in quotes");
  }
  if (place == Place::inside) return parse_function(piece);
  if (piece.text[0] == '\'' || piece.text[0] == '"')
    return fail(piece.offset, "the quoted text has no end, or something follows it");
  return fail(piece.offset, "'" + std::string(piece.text.substr(0, 20)) + "' is no value",
              "write '...' for text and ${...} for a function");
}

}  // namespace drom::expr
