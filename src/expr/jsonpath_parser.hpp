// The recursive descent parser behind JsonPath::parse. Its depth is bounded.
#pragma once

#include "expr/jsonpath.hpp"

namespace drom::expr {

class JsonPathParser {
 public:
  JsonPathParser(std::string_view text, JsonPathError& error) : text_(text), error_(error) {}
  bool parse_whole(JsonPath& out);

 private:
  // jsonpath_parser.cpp
  bool parse_segments(JsonPath& out);
  bool parse_segment(JsonPath& out);
  bool parse_dotted(JsonSegment& segment, JsonPath& out);
  bool parse_function(std::string_view name, JsonPath& out);
  bool parse_brackets(JsonSegment& segment);
  bool parse_selector(JsonSelector& out);
  bool parse_index_or_slice(JsonSelector& out);
  bool parse_quoted(std::string& out);
  bool parse_escape(std::string& out);
  bool parse_integer(int64_t& out);

  // jsonpath_filter_parser.cpp
  bool parse_filter(JsonFilter& out);
  bool parse_all(JsonFilter& out);
  bool parse_unary(JsonFilter& out);
  bool parse_comparison(JsonFilter& out);
  bool parse_operand(JsonOperand& out);
  bool parse_call(JsonOperand& out);
  bool parse_regex(JsonOperand& out);
  bool parse_literal(Value& out);
  bool parse_list(Value& out);
  bool parse_word(JsonOperand& out);

  bool fail(std::string what, std::string hint = {});
  bool enter();
  void skip_space();
  bool accept(std::string_view token);
  bool expect(char c);
  std::string_view take_name();
  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  std::string_view text_;
  JsonPathError& error_;
  size_t at_ = 0;
  size_t depth_ = 0;
};

}  // namespace drom::expr
