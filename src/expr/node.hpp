// The tree that a `simple` text is parsed into. Nodes are immutable after parsing and may be shared
// by threads; what changes during one evaluation lives in the Frame on the caller's stack. The
// parser bounds the depth of the tree, so that evaluation recurses safely.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "drom/base/value.hpp"
#include "drom/expr/expression.hpp"

namespace drom::expr {

// What a node yields: a value borrowed from the exchange or the tree, or one that it had to build.
// Borrowing keeps comparisons such as `${header.a} == 'x'` free of allocations.
class Operand {
 public:
  Operand(Value built) : built_(std::move(built)) {}  // NOLINT: implicit
  // `value` must stay unchanged while the operand is used; null yields the null value.
  static Operand borrow(const Value* value) {
    Operand out{Value()};
    out.borrowed_ = value;
    return out;
  }
  const Value& get() const { return borrowed_ ? *borrowed_ : built_; }
  const Value* operator->() const { return &get(); }
  bool borrowed() const { return borrowed_ != nullptr; }
  Value take() && {
    if (borrowed_) return *borrowed_;
    return std::move(built_);
  }

 private:
  const Value* borrowed_ = nullptr;
  Value built_;
};

// One evaluation: what it may look at. `~>` gives its right side a frame with another body.
struct Frame {
  Frame(const Exchange& e, const EvalScope& s, const Value& b) : exchange(e), scope(s), body(b) {}

  const Exchange& exchange;
  const EvalScope& scope;
  const Value& body;
  // A JSON text body, parsed when a field of it is first asked for.
  std::optional<Value> parsed_body;
};

class Node {
 public:
  virtual ~Node() = default;
  virtual Result<Operand> evaluate(Frame& frame) const = 0;
  // As a predicate; the default looks at the truth of the value.
  virtual Result<bool> test(Frame& frame) const;
  // The value of a literal, so that parents can prepare patterns and ranges; null otherwise.
  virtual const Value* constant() const { return nullptr; }
  // As Expression::reads_body().
  virtual bool reads_body() const { return true; }
};
using NodePtr = std::unique_ptr<const Node>;
using Nodes = std::vector<NodePtr>;

inline Error data_error(std::string what, std::string hint = {}) {
  return Error(ErrorKind::data, std::move(what), std::move(hint));
}

}  // namespace drom::expr
