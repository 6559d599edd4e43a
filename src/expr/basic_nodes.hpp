// The nodes that every part of the parser makes: literals, templates, logic, choice and chains.
#pragma once

#include <string>

#include "expr/convert.hpp"
#include "expr/node.hpp"

namespace drom::expr {

NodePtr make_literal(Value value);
// Text from parts; null parts give nothing.
NodePtr make_template(Nodes parts);
// `a && b || c`: Camel evaluates strictly from left to right, without precedence.
enum class Logic : uint8_t { both, either };
NodePtr make_logic(Nodes operands, std::vector<Logic> operators);
NodePtr make_not(NodePtr operand);
// `++` and `--`.
NodePtr make_step(NodePtr operand, int64_t by);
NodePtr make_ternary(NodePtr condition, NodePtr yes, NodePtr no);
// `?:`: the left side unless it is null, false, zero or blank.
NodePtr make_elvis(NodePtr left, NodePtr right);
// `~>`: each result is the body of the next part; `?~>` ends the chain at null.
struct ChainLink {
  NodePtr node;
  bool null_safe = false;
};
NodePtr make_chain(std::vector<ChainLink> links);
NodePtr make_conversion(NodePtr operand, TypeName type, bool mandatory, std::string what);

}  // namespace drom::expr
