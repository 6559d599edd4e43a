#include <algorithm>

#include "drom/base/json.hpp"
#include "expr/compare.hpp"
#include "expr/functions.hpp"
#include "expr/text_case.hpp"
#include "expr/text_tools.hpp"

namespace drom::expr {
namespace {

// A function from text to text, applied to an argument or the body; null stays null.
template <class F>
Result<Operand> map_text(const Call& call, size_t argument, F map) {
  Result<Operand> value = call.value_or_body(argument);
  if (!value || value->get().is_null()) return value;
  std::string buffer;
  return Operand(Value(map(text_of(value->get(), buffer))));
}

Result<Operand> trim(const Call& c) {
  return map_text(c, 0, [](std::string_view t) { return std::string(trimmed(t)); });
}
Result<Operand> uppercase(const Call& c) { return map_text(c, 0, to_upper); }
Result<Operand> lowercase(const Call& c) { return map_text(c, 0, to_lower); }

std::string capitalized(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_offset(text.substr(at), 1);
    const std::string_view c = text.substr(at, size);
    const bool space = trimmed(c).empty();
    if (inside || space) {
      out += c;
    } else {
      out += to_upper(c);
    }
    inside = !space;
    at += size;
  }
  return out;
}
Result<Operand> capitalize(const Call& c) { return map_text(c, 0, capitalized); }

std::string with_single_spaces(std::string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    const bool space = trimmed(std::string_view(&c, 1)).empty();
    if (!space) {
      out += c;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}
Result<Operand> normalize_whitespace(const Call& c) { return map_text(c, 0, with_single_spaces); }

std::string on_one_line(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return c == '\n' || c == '\r'; });
  return out;
}
Result<Operand> one_line(const Call& c) { return map_text(c, 0, on_one_line); }

bool has_quotes(std::string_view text) {
  return text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
         text.back() == text.front();
}
Result<Operand> quote(const Call& c) {
  return map_text(c, 0, [](std::string_view t) { return '"' + std::string(t) + '"'; });
}
Result<Operand> unquote(const Call& c) {
  return map_text(c, 0, [](std::string_view t) {
    return std::string(has_quotes(t) ? t.substr(1, t.size() - 2) : t);
  });
}

// JSON is written over several lines; other text stays as it is.
std::string pretty_text(std::string_view text) {
  const Result<Value> parsed = parse_json(text);
  return parsed && (parsed->is_list() || parsed->is_object()) ? to_json_pretty(*parsed)
                                                              : std::string(text);
}
Result<Operand> pretty(const Call& c) { return map_text(c, 0, pretty_text); }

// &quot; &apos; &empty; stand for what is hard to write in an argument.
std::string plain_argument(std::string text) {
  for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{"&quot;", "\""},
                                    {"&apos;", "'"},
                                    {"&empty;", ""}}) {
    const size_t at = text.find(name);
    if (at != std::string::npos) text.replace(at, name.size(), value);
  }
  return text;
}

// replace(from, to[, value])
Result<Operand> replace(const Call& c) {
  const Result<std::string> from = c.text(0);
  if (!from) return from.error();
  const Result<std::string> to = c.text(1);
  if (!to) return to.error();
  Result<Operand> value = c.value_or_body(2);
  if (!value || value->get().is_null()) return value;
  std::string buffer;
  Result<Value> out =
      replace_all(text_of(value->get(), buffer), plain_argument(*from), plain_argument(*to));
  if (!out) return std::move(out.error());
  return Operand(std::move(*out));
}

// substring(head[, tail[, value]]): how many characters to cut at the ends; one negative number
// cuts at the end.
Result<Operand> substring(const Call& c) {
  const Result<int64_t> first = c.integer(0);
  if (!first) return first.error();
  Result<int64_t> second = c.size() > 1 ? c.integer(1) : Result<int64_t>(int64_t{0});
  if (!second) return second.error();
  int64_t head = *first, tail = *second;
  if (head == INT64_MIN || tail == INT64_MIN) return data_error("the number is too small");
  if (c.size() == 1 && head < 0) std::swap(head, tail);
  head = std::abs(head);
  tail = std::abs(tail);
  return map_text(c, 2, [&](std::string_view text) {
    const auto size = static_cast<int64_t>(count_characters(text));
    if (head >= size || tail >= size - head) return std::string();
    const size_t begin = character_offset(text, static_cast<size_t>(head));
    const size_t end = character_offset(text, static_cast<size_t>(size - tail));
    return std::string(text.substr(begin, end - begin));
  });
}

// The value is the first argument when all are given, else the body.
Result<std::string> source_text(const Call& c, size_t markers) {
  return c.size() > markers ? c.text(0) : c.text_or_body(c.size());
}

Operand or_null(std::string_view text) { return Operand(text.empty() ? Value() : Value(text)); }

Result<Operand> substring_before(const Call& c) {
  const Result<std::string> text = source_text(c, 1);
  if (!text) return text.error();
  const Result<std::string> marker = c.text(c.size() - 1);
  if (!marker) return marker.error();
  const size_t at = text->find(*marker);
  return at == std::string::npos ? Operand(Value())
                                 : or_null(std::string_view(*text).substr(0, at));
}

Result<Operand> substring_after(const Call& c) {
  const Result<std::string> text = source_text(c, 1);
  if (!text) return text.error();
  const Result<std::string> marker = c.text(c.size() - 1);
  if (!marker) return marker.error();
  const size_t at = text->find(*marker);
  if (at == std::string::npos) return Operand(Value());
  return or_null(std::string_view(*text).substr(at + marker->size()));
}

Result<Operand> substring_between(const Call& c) {
  const Result<std::string> text = source_text(c, 2);
  if (!text) return text.error();
  const Result<std::string> after = c.text(c.size() - 2);
  if (!after) return after.error();
  const Result<std::string> before = c.text(c.size() - 1);
  if (!before) return before.error();
  const size_t at = text->find(*after);
  if (at == std::string::npos) return Operand(Value());
  const size_t begin = at + after->size();
  const size_t end = text->find(*before, begin);
  if (end == std::string::npos) return Operand(Value());
  return or_null(std::string_view(*text).substr(begin, end - begin));
}

// concat(a[, b[, separator]]): with one argument the body comes first.
Result<Operand> concat(const Call& c) {
  const Result<std::string> left = c.size() > 1 ? c.text(0) : c.text_or_body(1);
  if (!left) return left.error();
  const Result<std::string> right = c.text(c.size() > 1 ? 1 : 0);
  if (!right) return right.error();
  const Result<std::string> separator =
      c.size() > 2 ? c.text(2) : Result<std::string>(std::string());
  if (!separator) return separator.error();
  return Operand(Value(*left + *separator + *right));
}

// pad(value, width[, filler]): a negative width pads on the left.
Result<Operand> pad(const Call& c) {
  const Result<std::string> text = c.text(0);
  if (!text) return text.error();
  const Result<int64_t> width = c.integer(1);
  if (!width) return width.error();
  const Result<std::string> filler =
      c.size() > 2 ? c.text(2) : Result<std::string>(std::string(" "));
  if (!filler) return filler.error();
  constexpr int64_t kWidthMax = 10'000;
  if (*width > kWidthMax || *width < -kWidthMax || filler->size() > 16 || filler->empty())
    return data_error("pad() takes a width of at most 10000 and a short filler");
  const auto size = static_cast<int64_t>(count_characters(*text));
  std::string fill;
  for (int64_t i = size; i < std::abs(*width); ++i) fill += *filler;
  return Operand(Value(*width < 0 ? fill + *text : *text + fill));
}

Result<Operand> contains(const Call& c) {
  const Result<Operand> whole = c.size() > 1 ? c.value(0) : c.value_or_body(1);
  if (!whole) return whole.error();
  const Result<Operand> part = c.value(c.size() - 1);
  if (!part) return part.error();
  return Operand(Value(contains_value(whole->get(), part->get(), true)));
}

// Bytes, not characters: the size of the payload.
Result<Operand> length(const Call& c) {
  const Result<Operand> value = c.value_or_body(0);
  if (!value) return value.error();
  std::string buffer;
  return Operand(Value(static_cast<int64_t>(text_of(value->get(), buffer).size())));
}

enum class Letters : uint8_t { alpha, digits, both };
Result<Operand> consists_of(const Call& c, Letters allowed) {
  const Result<std::string> text = c.text_or_body(0);
  if (!text) return text.error();
  const bool all = std::all_of(text->begin(), text->end(), [&](char ch) {
    const bool digit = ch >= '0' && ch <= '9';
    const bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch & 0x80);
    return (digit && allowed != Letters::alpha) || (letter && allowed != Letters::digits);
  });
  return Operand(Value(all && !text->empty()));
}
Result<Operand> is_alpha(const Call& c) { return consists_of(c, Letters::alpha); }
Result<Operand> is_numeric_function(const Call& c) { return consists_of(c, Letters::digits); }
Result<Operand> is_alpha_numeric(const Call& c) { return consists_of(c, Letters::both); }

constexpr Function kFunctions[] = {
    {"trim", 0, 1, false, trim},
    {"uppercase", 0, 1, false, uppercase},
    {"lowercase", 0, 1, false, lowercase},
    {"capitalize", 0, 1, false, capitalize},
    {"normalizeWhitespace", 0, 1, false, normalize_whitespace},
    {"bodyOneLine", 0, 0, true, one_line},
    {"quote", 0, 1, false, quote},
    {"unquote", 0, 1, false, unquote},
    {"prettyBody", 0, 0, true, pretty},
    {"pretty", 1, 1, false, pretty},
    {"replace", 2, 3, false, replace},
    {"substring", 1, 3, false, substring},
    {"substringBefore", 1, 2, false, substring_before},
    {"substringAfter", 1, 2, false, substring_after},
    {"substringBetween", 2, 3, false, substring_between},
    {"concat", 1, 3, false, concat},
    {"pad", 2, 3, false, pad},
    {"contains", 1, 2, false, contains},
    {"length", 0, 1, false, length},
    {"isAlpha", 0, 1, true, is_alpha},
    {"isNumeric", 0, 1, true, is_numeric_function},
    {"isAlphaNumeric", 0, 1, true, is_alpha_numeric},
};

}  // namespace

std::span<const Function> text_functions() { return kFunctions; }

}  // namespace drom::expr
