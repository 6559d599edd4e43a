// The nodes that read the exchange: body, headers, properties, variables, the error, ids.
#pragma once

#include <string>

#include "expr/node.hpp"
#include "expr/path.hpp"

namespace drom::expr {

enum class NamedPlace : uint8_t { header, property, variable };

NodePtr make_body();
// One header, property or variable.
NodePtr make_named(NamedPlace place, std::string name);
NodePtr make_computed_name(NamedPlace place, NodePtr name);
// `a.b.c`: the longest name of "a.b.c", "a.b", "a" that exists, the rest is a path.
NodePtr make_dotted_name(NamedPlace place, Path path);
// All of them as an object.
NodePtr make_all_named(NamedPlace place);
// `exception` and its parts; null when the part is unknown.
NodePtr make_exception(std::string_view part);

const Value* find_named(const Exchange& exchange, NamedPlace place, std::string_view name);

}  // namespace drom::expr
