#include "expr/jsonpath_parser.hpp"

#include <charconv>

#include "expr/scan.hpp"
#include "expr/suggest.hpp"

namespace drom::expr {
namespace {

struct FunctionName {
  std::string_view name;
  JsonFunction function;
};
constexpr FunctionName kFunctions[] = {
    {"length", JsonFunction::length}, {"size", JsonFunction::length},
    {"keys", JsonFunction::keys},     {"min", JsonFunction::min},
    {"max", JsonFunction::max},       {"first", JsonFunction::first},
    {"last", JsonFunction::last}};

bool is_path_name(char c) { return is_name_char(c) || (c & 0x80) || c == '$' || c == '@'; }

}  // namespace

std::optional<JsonPath> JsonPath::parse(std::string_view text, JsonPathError& error) {
  JsonPath out;
  if (!JsonPathParser(text, error).parse_whole(out)) return std::nullopt;
  return out;
}

bool JsonPathParser::fail(std::string what, std::string hint) {
  if (error_.what.empty()) error_ = {at_, std::move(what), std::move(hint)};
  return false;
}

bool JsonPathParser::enter() {
  constexpr size_t kDepthMax = 24;
  return ++depth_ <= kDepthMax || fail("the path nests too deeply");
}

void JsonPathParser::skip_space() {
  while (!at_end() && is_space(text_[at_])) ++at_;
}

bool JsonPathParser::accept(std::string_view token) {
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

bool JsonPathParser::expect(char c) {
  if (accept(std::string_view(&c, 1))) return true;
  return fail("'" + std::string(1, c) + "' is missing here");
}

std::string_view JsonPathParser::take_name() {
  const size_t start = at_;
  while (!at_end() && is_path_name(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

bool JsonPathParser::parse_whole(JsonPath& out) {
  if (text_.size() > kJsonPathSizeMax) return fail("the path is too large");
  skip_space();
  // Jayway lets the root be left out: `store.book`.
  if (!accept("$")) {
    if (!is_path_name(peek())) return fail("a path begins with $", "write it like $.order.id");
    JsonSegment first;
    first.selectors.emplace_back().name = std::string(take_name());
    out.segments.push_back(std::move(first));
  }
  if (!parse_segments(out)) return false;
  skip_space();
  return at_end() || fail("'" + std::string(text_.substr(at_, 20)) + "' is not expected here");
}

bool JsonPathParser::parse_segments(JsonPath& out) {
  while (peek() == '.' || peek() == '[') {
    if (out.function != JsonFunction::none) return fail("nothing may follow a function");
    if (!parse_segment(out)) return false;
  }
  return true;
}

bool JsonPathParser::parse_segment(JsonPath& out) {
  JsonSegment segment;
  if (accept("..")) {
    segment.descendant = true;
  } else {
    accept(".");
  }
  if (peek() == '[') {
    if (!parse_brackets(segment)) return false;
  } else if (!parse_dotted(segment, out)) {
    return false;
  }
  if (!segment.selectors.empty()) out.segments.push_back(std::move(segment));
  return true;
}

bool JsonPathParser::parse_dotted(JsonSegment& segment, JsonPath& out) {
  if (accept("*")) {
    segment.selectors.emplace_back().kind = JsonSelector::Kind::wildcard;
    return true;
  }
  const std::string_view name = take_name();
  if (name.empty()) return fail("a name is missing here", "write .name, ['name'], [0] or .*");
  if (peek() == '(') return parse_function(name, out);
  segment.selectors.emplace_back().name = std::string(name);
  return true;
}

bool JsonPathParser::parse_function(std::string_view name, JsonPath& out) {
  std::vector<std::string_view> known;
  for (const FunctionName& function : kFunctions) {
    if (function.name == name) out.function = function.function;
    known.push_back(function.name);
  }
  if (out.function == JsonFunction::none) {
    at_ -= name.size();
    return fail("there is no function " + std::string(name) + "()", suggest(name, known));
  }
  return expect('(') && expect(')');
}

bool JsonPathParser::parse_brackets(JsonSegment& segment) {
  if (!expect('[')) return false;
  do {
    skip_space();
    if (!parse_selector(segment.selectors.emplace_back())) return false;
    skip_space();
  } while (accept(","));
  return expect(']');
}

bool JsonPathParser::parse_selector(JsonSelector& out) {
  if (accept("*")) {
    out.kind = JsonSelector::Kind::wildcard;
    return true;
  }
  if (peek() == '\'' || peek() == '"') return parse_quoted(out.name);
  if (accept("?")) {
    skip_space();
    out.kind = JsonSelector::Kind::filter;
    auto filter = std::make_shared<JsonFilter>();
    if (!parse_filter(*filter)) return false;
    out.filter = std::move(filter);
    return true;
  }
  return parse_index_or_slice(out);
}

bool JsonPathParser::parse_integer(int64_t& out) {
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
  if (error != std::errc()) return fail("a number, a quoted name, * or ?(...) is missing here");
  at_ = static_cast<size_t>(end - text_.data());
  return true;
}

// 2, -1, 1:3, :5, ::2
bool JsonPathParser::parse_index_or_slice(JsonSelector& out) {
  out.kind = JsonSelector::Kind::index;
  if (peek() != ':') {
    if (!parse_integer(out.index)) return false;
    skip_space();
    if (peek() != ':') return true;
    out.from = out.index;
  }
  out.kind = JsonSelector::Kind::slice;
  for (int part = 0; part < 2 && accept(":"); ++part) {
    skip_space();
    if (peek() == ':' || peek() == ',' || peek() == ']') continue;
    int64_t value = 0;
    if (!parse_integer(value)) return false;
    skip_space();
    if (part == 0) {
      out.to = value;
    } else {
      out.step = value;
    }
  }
  return true;
}

bool JsonPathParser::parse_quoted(std::string& out) {
  const char quote = text_[at_++];
  while (!at_end() && text_[at_] != quote) {
    if (text_[at_] != '\\') {
      out += text_[at_++];
    } else if (!parse_escape(out)) {
      return false;
    }
  }
  return expect(quote);
}

bool JsonPathParser::parse_escape(std::string& out) {
  ++at_;
  const char c = peek();
  switch (c) {
    case 'n': out += '\n'; break;
    case 't': out += '\t'; break;
    case 'r': out += '\r'; break;
    case 'b': out += '\b'; break;
    case 'f': out += '\f'; break;
    case '\'':
    case '"':
    case '\\':
    case '/': out += c; break;
    default: return fail("the escape is unknown", "use \\n \\t \\r \\' \\\" or \\\\");
  }
  ++at_;
  return true;
}

}  // namespace drom::expr
