// The binary operators of `simple` predicates. What can be prepared is prepared when the expression
// is compiled: patterns, ranges, sets and type names that are constants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expr/node.hpp"

namespace drom::expr {

enum class Operator : uint8_t {
  equal,
  equal_ignoring_case,
  greater,
  greater_or_equal,
  less,
  less_or_equal,
  contains,
  contains_ignoring_case,
  regex,
  in,
  range,
  is,
  starts_with,
  ends_with,
  same_text
};

struct OperatorName {
  std::string_view name;
  Operator op;
  bool negated = false;
};

const std::vector<OperatorName>& operator_names();
// The same names alone, in the same order.
const std::vector<std::string_view>& operator_words();

// Null when a constant right side does not fit (no pattern, range or type): `what` and `hint` say
// why.
NodePtr make_comparison(const OperatorName& name, NodePtr left, NodePtr right, std::string& what,
                        std::string& hint);

}  // namespace drom::expr
