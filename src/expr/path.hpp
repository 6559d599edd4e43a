// `.field`, `[index]`, `['key']`, `[last-1]` and `.method(args)` behind a function of `simple`, as
// in Camel's OGNL notation. What is absent is null, and null stays null along the way. Text and
// bytes that hold JSON are parsed when a field or index of them is asked for.
#pragma once

#include <string>
#include <vector>

#include "expr/node.hpp"

namespace drom::expr {

struct Method;

struct PathStep {
  enum class Kind : uint8_t { field, index, last, key, method };
  Kind kind = Kind::field;
  std::string name;                // field, and index as written for objects
  size_t index = 0;                // index; for `last`, the distance from the end
  NodePtr key;                     // a computed key: [${header.k}]
  const Method* method = nullptr;  // method; for a field, the method of that name if there is one
  Nodes arguments;
};
using Path = std::vector<PathStep>;

// Follows `steps` from `from` on. The result borrows from `value` where it can.
Result<Operand> follow(Frame& frame, Operand value, const Path& path, size_t from = 0);

// Whether a computed key or argument of it looks at the body.
bool reads_body(const Path& path);

// The JSON document that a value is or, as text or bytes, holds. A body is parsed once per frame.
Result<Operand> document_of(Frame& frame, Operand value);

NodePtr make_path(NodePtr base, Path path);

}  // namespace drom::expr
