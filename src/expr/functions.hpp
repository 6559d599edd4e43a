// The functions of `simple` that look like calls: `trim()`, `substring(1,2)`, `join(';')`. Most
// work on the message body when they get no value. Pure: chance comes from the EvalEnv alone.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "expr/node.hpp"

namespace drom::expr {

// The arguments of one call, evaluated on demand.
class Call {
 public:
  Call(Frame& frame, std::span<const NodePtr> nodes) : frame_(frame), nodes_(nodes) {}
  Frame& frame() const { return frame_; }
  size_t size() const { return nodes_.size(); }
  const Node& node(size_t i) const { return *nodes_[i]; }
  Result<Operand> value(size_t i) const { return nodes_[i]->evaluate(frame_); }
  // Argument `i`, or the body when there are fewer.
  Result<Operand> value_or_body(size_t i) const;
  Result<std::string> text(size_t i) const;
  Result<std::string> text_or_body(size_t i) const;
  Result<int64_t> integer(size_t i) const;

 private:
  Frame& frame_;
  std::span<const NodePtr> nodes_;
};

inline constexpr uint8_t kAnyNumber = 255;

struct Function {
  std::string_view name;
  uint8_t arguments_min;
  uint8_t arguments_max;
  bool bare;  // may be written without parentheses
  Result<Operand> (*run)(const Call& call);
};

std::span<const Function> text_functions();
std::span<const Function> list_functions();
std::span<const Function> number_functions();
std::span<const Function> exchange_functions();

const Function* function_named(std::string_view name);
// Every name that may stand behind `${`, for did-you-mean.
std::vector<std::string_view> function_names();

NodePtr make_call(const Function& function, Nodes arguments);

}  // namespace drom::expr
