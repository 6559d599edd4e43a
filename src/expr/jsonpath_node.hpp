// JSONPath inside of `simple` and as a language of its own.
#pragma once

#include "expr/jsonpath.hpp"
#include "expr/node.hpp"

namespace drom::expr {

// `input` gives the document: a tree, or text or bytes that hold JSON.
NodePtr make_jsonpath(NodePtr input, JsonPath path);

}  // namespace drom::expr
