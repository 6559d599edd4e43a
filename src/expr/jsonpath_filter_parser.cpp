#include "expr/compare.hpp"
#include "expr/jsonpath_parser.hpp"
#include "expr/scan.hpp"

namespace drom::expr {
namespace {

using Compare = JsonFilter::Compare;

struct Symbol {
  std::string_view text;
  Compare compare;
  bool word = false;
};
// Longer symbols before their beginnings.
constexpr Symbol kSymbols[] = {
    {"==", Compare::equal},         {"!=", Compare::not_equal},
    {"<=", Compare::less_or_equal}, {">=", Compare::greater_or_equal},
    {"<", Compare::less},           {">", Compare::greater},
    {"=~", Compare::match},         {"contains", Compare::contains, true},
    {"nin", Compare::not_in, true}, {"in", Compare::in, true},
    {"size", Compare::size, true},  {"empty", Compare::empty, true}};

struct CallName {
  std::string_view name;
  JsonOperand::Call call;
  size_t arguments;
};
constexpr CallName kCalls[] = {{"length", JsonOperand::Call::length, 1},
                               {"count", JsonOperand::Call::count, 1},
                               {"value", JsonOperand::Call::value, 1},
                               {"match", JsonOperand::Call::match, 2},
                               {"search", JsonOperand::Call::search, 2}};

}  // namespace

bool JsonPathParser::parse_filter(JsonFilter& out) {
  if (!enter()) return false;
  out.kind = JsonFilter::Kind::any;
  do {
    if (!parse_all(out.parts.emplace_back())) return false;
    skip_space();
  } while (accept("||"));
  --depth_;
  return true;
}

bool JsonPathParser::parse_all(JsonFilter& out) {
  out.kind = JsonFilter::Kind::all;
  do {
    skip_space();
    if (!parse_unary(out.parts.emplace_back())) return false;
    skip_space();
  } while (accept("&&"));
  return true;
}

bool JsonPathParser::parse_unary(JsonFilter& out) {
  skip_space();
  if (peek() == '!') {
    ++at_;
    if (!enter()) return false;
    out.kind = JsonFilter::Kind::none;
    const bool ok = parse_unary(out.parts.emplace_back());
    --depth_;
    return ok;
  }
  if (accept("(")) {
    if (!parse_filter(out)) return false;
    skip_space();
    return expect(')');
  }
  return parse_comparison(out);
}

bool JsonPathParser::parse_comparison(JsonFilter& out) {
  if (!parse_operand(out.left)) return false;
  skip_space();
  out.kind = JsonFilter::Kind::test;
  for (const Symbol& symbol : kSymbols) {
    const size_t before = at_;
    if (!accept(symbol.text)) continue;
    if (symbol.word && is_name_char(peek())) {
      at_ = before;
      continue;
    }
    out.kind = JsonFilter::Kind::compare;
    out.compare = symbol.compare;
    skip_space();
    if (!parse_operand(out.right)) return false;
    if (out.compare == Compare::match && !out.right.regex)
      return fail("the right side of =~ is a pattern", "write it like /^A.*/i");
    return true;
  }
  if (out.left.kind == JsonOperand::Kind::literal) return fail("an operator is missing here");
  return true;
}

bool JsonPathParser::parse_operand(JsonOperand& out) {
  skip_space();
  const char c = peek();
  if (c == '@' || c == '$') {
    ++at_;
    out.kind = JsonOperand::Kind::path;
    out.from_root = c == '$';
    if (!enter()) return false;
    const bool ok = parse_segments(out.path);
    --depth_;
    return ok;
  }
  if (c == '/') return parse_regex(out);
  if (c == '\'' || c == '"' || c == '[' || c == '-' || is_digit(c))
    return parse_literal(out.literal);
  return parse_word(out);
}

bool JsonPathParser::parse_word(JsonOperand& out) {
  const size_t start = at_;
  const std::string_view name = take_name();
  if (peek() == '(') {
    for (const CallName& known : kCalls) {
      if (known.name != name) continue;
      out.kind = JsonOperand::Kind::call;
      out.call = known.call;
      out.arguments.resize(known.arguments);
      return parse_call(out);
    }
  }
  at_ = start;
  if (name == "true" || name == "false" || name == "null") return parse_literal(out.literal);
  return fail("a value is missing here", "write @.name, a number, 'text', true, false or null");
}

bool JsonPathParser::parse_call(JsonOperand& out) {
  if (!enter() || !expect('(')) return false;
  for (size_t i = 0; i < out.arguments.size(); ++i) {
    if (i > 0 && !expect(',')) return false;
    if (!parse_operand(out.arguments[i])) return false;
    skip_space();
  }
  --depth_;
  const bool pattern =
      out.call == JsonOperand::Call::match || out.call == JsonOperand::Call::search;
  if (pattern && out.arguments[1].kind == JsonOperand::Kind::literal) {
    Result<Regex> regex = Regex::compile(out.arguments[1].literal.to_text());
    if (!regex) return fail(regex.error().what, regex.error().hint);
    out.regex = std::move(*regex);
  }
  return expect(')');
}

// /pattern/ or /pattern/i; a slash inside is written \/.
bool JsonPathParser::parse_regex(JsonOperand& out) {
  const size_t start = at_++;
  std::string pattern;
  while (!at_end() && text_[at_] != '/') {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      if (text_[at_ + 1] != '/') pattern += '\\';
      ++at_;
    }
    pattern += text_[at_++];
  }
  if (!expect('/')) return false;
  const bool ignore_case = accept("i");
  Result<Regex> regex = Regex::compile(pattern, ignore_case);
  if (!regex) {
    at_ = start;
    return fail(regex.error().what, regex.error().hint);
  }
  out.regex = std::move(*regex);
  return true;
}

bool JsonPathParser::parse_literal(Value& out) {
  if (peek() == '[') return parse_list(out);
  if (peek() == '\'' || peek() == '"') {
    std::string text;
    if (!parse_quoted(text)) return false;
    out = Value(std::move(text));
    return true;
  }
  for (const bool truth : {true, false}) {
    if (!accept(truth ? "true" : "false")) continue;
    out = Value(truth);
    return true;
  }
  if (accept("null")) return true;
  const size_t start = at_;
  while (!at_end() && (is_name_char(peek()) || peek() == '.' || peek() == '+')) ++at_;
  const std::string_view digits = text_.substr(start, at_ - start);
  if (!is_numeric(digits)) {
    at_ = start;
    return fail("a value is missing here");
  }
  const auto whole = is_digits(digits) ? Value(digits).to_int() : std::nullopt;
  out = whole ? Value(*whole) : Value(Decimal{std::string(digits)});
  return true;
}

bool JsonPathParser::parse_list(Value& out) {
  if (!enter() || !expect('[')) return false;
  List items;
  skip_space();
  while (peek() != ']') {
    if (!items.empty() && !expect(',')) return false;
    skip_space();
    if (!parse_literal(items.emplace_back())) return false;
    skip_space();
  }
  --depth_;
  out = Value(std::move(items));
  return expect(']');
}

}  // namespace drom::expr
