#include "expr/scan.hpp"

#include <algorithm>

namespace drom::expr {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool is_quote(char c) { return c == '\'' || c == '"'; }

// Walks from an opening (a function or a quote) at `at` to the place behind its end. Quotes hold
// functions, functions hold quotes; `stack` remembers what is open.
size_t balanced_end(std::string_view text, size_t at, bool quotes) {
  std::vector<char> stack;
  while (at < text.size()) {
    const char c = text[at];
    const bool in_quote = !stack.empty() && is_quote(stack.back());
    if (c == '\\' && at + 1 < text.size() && text[at + 1] == '}') {
      at += 2;
      continue;
    }
    if (const size_t start = function_start(text, at)) {
      stack.push_back('}');
      if (stack.size() > 2 * kExpressionDepthMax) return kNone;
      at += start;
      continue;
    }
    if (quotes && is_quote(c) && !in_quote) {
      stack.push_back(c);
      if (stack.size() > 2 * kExpressionDepthMax) return kNone;
    } else if (!stack.empty() && c == stack.back()) {
      stack.pop_back();
      if (stack.empty()) return at + 1;
    }
    ++at;
  }
  return kNone;
}

}  // namespace

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

Piece Piece::trimmed() const {
  Piece out = *this;
  while (!out.text.empty() && is_space(out.text.front())) out = out.sub(1);
  while (!out.text.empty() && is_space(out.text.back())) out.text.remove_suffix(1);
  return out;
}

size_t function_start(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] != '$') return 0;
  for (const std::string_view start : {"${", "$simple{"})
    if (text.substr(at).starts_with(start)) return start.size();
  return 0;
}

size_t function_end(std::string_view text, size_t at) {
  // An apostrophe that is no quote ("it's") would hide the end: try once more without quotes.
  const size_t end = balanced_end(text, at, true);
  return end != kNone ? end : balanced_end(text, at, false);
}

bool TopLevel::next() {
  if (at_ == static_cast<size_t>(-1)) {
    at_ = 0;
    if (text_.empty()) return false;
  } else {
    ++at_;
  }
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (function_start(text_, at_)) {
      at_ = function_end(text_, at_);
      // Everything behind a function without an end belongs to it.
      if (at_ == kNone) at_ = text_.size();
      continue;
    }
    if (const size_t end = is_quote(c) ? balanced_end(text_, at_, true) : kNone; end != kNone) {
      at_ = end;
      continue;
    }
    if ((c == '(' || c == '[')) {
      ++depth_;
    } else if ((c == ')' || c == ']') && depth_ > 0) {
      --depth_;
      ++at_;
      continue;
    }
    if (depth_ == 0) return true;
    ++at_;
  }
  return false;
}

bool TopLevel::at_word(std::string_view word) const {
  if (!text_.substr(at_).starts_with(word)) return false;
  if (at_ > 0 && !is_space(text_[at_ - 1])) return false;
  const size_t end = at_ + word.size();
  return end == text_.size() || is_space(text_[end]);
}

bool is_quoted(std::string_view text) {
  if (text.size() < 2 || !is_quote(text.front())) return false;
  return balanced_end(text, 0, true) == text.size();
}

std::vector<Piece> split_arguments(Piece arguments) {
  std::vector<Piece> out;
  if (arguments.trimmed().empty()) return out;
  size_t start = 0;
  TopLevel walk(arguments.text);
  while (walk.next()) {
    if (arguments.text[walk.at()] != ',') continue;
    out.push_back(arguments.sub(start, walk.at() - start).trimmed());
    start = walk.at() + 1;
  }
  out.push_back(arguments.sub(start).trimmed());
  return out;
}

size_t find_word(std::string_view text, const std::vector<std::string_view>& words, size_t& found) {
  TopLevel walk(text);
  while (walk.next()) {
    size_t longest = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i].size() <= longest || !walk.at_word(words[i])) continue;
      longest = words[i].size();
      found = i;
    }
    if (longest > 0) return walk.at();
  }
  return kNone;
}

}  // namespace drom::expr
