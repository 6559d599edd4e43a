#include <charconv>

#include "expr/basic_nodes.hpp"
#include "expr/methods.hpp"
#include "expr/parser.hpp"
#include "expr/references.hpp"
#include "expr/suggest.hpp"

namespace drom::expr {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool to_index(std::string_view text, size_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The place behind the bracket that matches text[0]; npos when it is missing.
size_t bracket_end(std::string_view text) {
  const char close = text[0] == '(' ? ')' : ']';
  TopLevel walk(text.substr(1));
  while (walk.next())
    if (text[walk.at() + 1] == close) return walk.at() + 2;
  return kNone;
}

}  // namespace

bool Parser::take_parentheses(std::string_view function, Piece rest, Piece& inner, Piece& tail) {
  if (!rest.text.starts_with('(')) {
    fail(rest.offset, "the function " + std::string(function) + " needs parentheses",
         "write ${" + std::string(function) + "(...)}");
    return false;
  }
  const size_t end = bracket_end(rest.text);
  if (end == kNone) {
    fail(rest.offset, "the parenthesis is not closed");
    return false;
  }
  inner = rest.sub(1, end - 2);
  tail = rest.sub(end);
  return true;
}

bool Parser::parse_arguments(std::string_view function, Piece rest, Nodes& out, Piece& tail) {
  Piece inner;
  if (!take_parentheses(function, rest, inner, tail)) return false;
  for (const Piece argument : split_arguments(inner)) {
    NodePtr node = parse_argument(argument);
    if (!node) return false;
    out.push_back(std::move(node));
  }
  return true;
}

// 'text', a number, true, false, null, a function, or bare text with functions in it.
NodePtr Parser::parse_argument(Piece piece) {
  if (is_quoted(piece.text)) return quoted_text(piece.sub(1, piece.text.size() - 2), false);
  if (piece.text.find('$') == kNone) {
    if (NodePtr literal = parse_literal(piece)) return literal;
    return parse_template(piece);
  }
  // A predicate such as `iif(${header.a} > 0,...)`.
  size_t word = 0;
  static const std::vector<std::string_view> kComparisons = {
      "==", "!=", ">", ">=", "<", "<=", "=~", "&&", "||", "contains", "regex"};
  if (function_start(piece.text, 0) && find_word(piece.text, kComparisons, word) != kNone)
    return parse_predicate(piece);
  return parse_value(piece);
}

bool Parser::parse_bracket(Piece key, Path& out) {
  PathStep step;
  step.kind = PathStep::Kind::index;
  if (is_quoted(key.text)) key = key.sub(1, key.text.size() - 2);
  step.name = std::string(key.text);
  if (key.empty()) {
    fail(key.offset, "the brackets are empty", "write [0], [last] or ['key']");
    return false;
  }
  if (function_start(key.text, 0)) {
    step.kind = PathStep::Kind::key;
    step.key = parse_value(key);
    if (!step.key) return false;
  } else if (key.text.starts_with("last") && (key.text.size() == 4 || key.text[4] == '-')) {
    step.kind = PathStep::Kind::last;
    if (key.text.size() > 4 && !to_index(key.text.substr(5), step.index)) {
      fail(key.offset, "'" + step.name + "' is no index", "write [last] or [last-1]");
      return false;
    }
  } else if (!to_index(key.text, step.index)) {
    step.kind = PathStep::Kind::field;
  }
  out.push_back(std::move(step));
  return true;
}

// A name behind a dot, perhaps with arguments.
bool Parser::parse_member(Piece rest, size_t& size, Path& out) {
  size_t end = 0;
  while (end < rest.text.size() && std::string_view(".[(?").find(rest.text[end]) == kNone &&
         !is_space(rest.text[end]))
    ++end;
  PathStep step;
  step.name = std::string(rest.text.substr(0, end));
  if (end == 0) {
    fail(rest.offset, "a name is missing here");
    return false;
  }
  step.method = method_named(step.name);
  size = end;
  if (end < rest.text.size() && rest.text[end] == '(') {
    Piece tail;
    if (!parse_arguments(step.name, rest.sub(end), step.arguments, tail)) return false;
    size = rest.text.size() - tail.text.size();
    step.kind = PathStep::Kind::method;
    if (!step.method) {
      fail(rest.offset, "there is no method " + step.name + "()",
           suggest(step.name, method_names()));
      return false;
    }
    if (step.arguments.size() < step.method->arguments_min ||
        step.arguments.size() > step.method->arguments_max) {
      fail(rest.offset, "the method " + step.name + "() takes " +
                            std::to_string(step.method->arguments_min) + " argument(s)");
      return false;
    }
  } else if (step.method && step.method->arguments_min > 0) {
    step.method = nullptr;
  }
  out.push_back(std::move(step));
  return true;
}

bool Parser::parse_path(Piece rest, Path& out) {
  while (!rest.empty()) {
    if (rest.text.starts_with("?.") || rest.text.starts_with("?[")) rest = rest.sub(1);
    size_t size = 0;
    if (rest.text[0] == '[') {
      size = bracket_end(rest.text);
      if (size == kNone) {
        fail(rest.offset, "the bracket is not closed");
        return false;
      }
      if (!parse_bracket(rest.sub(1, size - 2).trimmed(), out)) return false;
    } else if (rest.text[0] == '.') {
      rest = rest.sub(1);
      if (!parse_member(rest, size, out)) return false;
    } else {
      fail(rest.offset, "'" + std::string(rest.text.substr(0, 20)) + "' is not expected here",
           "write .field, [index] or .method()");
      return false;
    }
    rest = rest.sub(size);
  }
  return true;
}

NodePtr Parser::with_path(NodePtr base, Piece rest) {
  Path path;
  if (!base || !parse_path(rest.trimmed(), path)) return nullptr;
  return make_path(std::move(base), std::move(path));
}

// header.x, header[x], header:x. The name after a dot may itself hold dots (`header.kafka.topic`):
// the longest name that the message has wins, as in Camel.
NodePtr Parser::parse_named_value(std::string_view kind, Piece rest) {
  const NamedPlace place = kind.starts_with("header")     ? NamedPlace::header
                           : kind.starts_with("variable") ? NamedPlace::variable
                                                          : NamedPlace::property;
  const bool plural = kind.ends_with('s');
  if (rest.empty() && plural) return make_all_named(place);
  if (plural && (rest.text == ".size" || rest.text == ".size()" || rest.text == ".length"))
    return with_path(make_all_named(place), {".size()", rest.offset});
  if (rest.text.starts_with("?.")) rest = rest.sub(1);
  if (rest.text.starts_with('[')) {
    const size_t end = bracket_end(rest.text);
    if (end == kNone) return fail(rest.offset, "the bracket is not closed");
    Piece key = rest.sub(1, end - 2).trimmed();
    if (is_quoted(key.text)) key = key.sub(1, key.text.size() - 2);
    if (key.empty()) return fail(key.offset, "the name is missing");
    Path path;
    if (!parse_path(rest.sub(end), path)) return nullptr;
    if (function_start(key.text, 0)) {
      NodePtr name = parse_value(key);
      if (!name) return nullptr;
      return make_path(make_computed_name(place, std::move(name)), std::move(path));
    }
    return make_path(make_named(place, std::string(key.text)), std::move(path));
  }
  if (!rest.text.starts_with('.') && !rest.text.starts_with(':'))
    return fail(rest.offset, "the name is missing",
                "write ${" + std::string(kind) + ".name} or ${" + std::string(kind) + "[name]}");
  // The name is read like a path, whose first member may start with any character.
  Path path;
  size_t size = 0;
  const Piece named = rest.sub(1);
  if (!parse_member(named, size, path) || !parse_path(named.sub(size), path)) return nullptr;
  if (path[0].kind == PathStep::Kind::method)
    return fail(named.offset, "a name is expected here, not a method");
  return make_dotted_name(place, std::move(path));
}

}  // namespace drom::expr
