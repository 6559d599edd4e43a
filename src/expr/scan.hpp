// Finds the ends of `${...}` and the top level of a piece of `simple` text: what stands outside of
// functions, quotes and parentheses. Linear in the size of the text, without recursion.
#pragma once

#include <string_view>
#include <vector>

namespace drom::expr {

inline constexpr size_t kExpressionSizeMax = 64 * 1024;
inline constexpr size_t kExpressionDepthMax = 32;

// A part of the expression text that knows where it stands in the whole, for error messages.
struct Piece {
  std::string_view text;
  size_t offset = 0;

  Piece sub(size_t from, size_t count = std::string_view::npos) const {
    return {text.substr(from, count), offset + from};
  }
  Piece trimmed() const;
  bool empty() const { return text.empty(); }
};

bool is_space(char c);
bool is_digit(char c);
bool is_name_char(char c);

// The size of a function's opening ("${", "$simple{") at `at`, or 0.
size_t function_start(std::string_view text, size_t at);
// The offset behind the `}` of the function that opens at `at`; npos when it has none.
size_t function_end(std::string_view text, size_t at);

// Walks over the top level of a text.
class TopLevel {
 public:
  explicit TopLevel(std::string_view text) : text_(text) {}
  // Moves to the next top-level character; false at the end.
  bool next();
  size_t at() const { return at_; }
  // At an operator: `word` with white space, or an end of the text, on both sides.
  bool at_word(std::string_view word) const;

 private:
  std::string_view text_;
  size_t at_ = static_cast<size_t>(-1);
  size_t depth_ = 0;
};

// The quoted text that fills the whole piece ('..' or ".."), without its quotes.
bool is_quoted(std::string_view text);
// Arguments between parentheses, split at top-level commas, trimmed. Empty text: no arguments.
std::vector<Piece> split_arguments(Piece arguments);
// The first top-level place of any of `words` as an operator; npos when there is none. The longest
// word wins at one place; `found` is its index.
size_t find_word(std::string_view text, const std::vector<std::string_view>& words, size_t& found);

}  // namespace drom::expr
