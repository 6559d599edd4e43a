// JSONPath: RFC 9535 with the additions of Jayway that Camel routes use (`=~`, `in`, `nin`,
// `contains`, `size`, `empty`, `.length()`). A definite path (names and indexes alone) gives its
// value, or null when it is absent; any other path gives a list, perhaps empty. Numbers keep their
// digits; filters compare numbers with numbers and texts with texts, never across. Immutable.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/value.hpp"
#include "expr/regex.hpp"

namespace drom::expr {

// How many values one evaluation may look at.
inline constexpr size_t kJsonPathVisitsMax = 1'000'000;
inline constexpr size_t kJsonPathSizeMax = 8 * 1024;

struct JsonFilter;

struct JsonSelector {
  enum class Kind : uint8_t { name, index, slice, wildcard, filter };
  Kind kind = Kind::name;
  std::string name;
  int64_t index = 0;
  std::optional<int64_t> from, to;  // slice
  int64_t step = 1;
  std::shared_ptr<const JsonFilter> filter;
};

struct JsonSegment {
  bool descendant = false;
  std::vector<JsonSelector> selectors;
};

enum class JsonFunction : uint8_t { none, length, keys, min, max, first, last };

struct JsonPathError {
  size_t offset = 0;
  std::string what;
  std::string hint;
};

class JsonPath {
 public:
  static std::optional<JsonPath> parse(std::string_view text, JsonPathError& error);

  bool definite() const;
  // Errors are ErrorKind::data: a regular expression or the whole path costs too much.
  Result<Value> evaluate(const Value& root) const;

  std::vector<JsonSegment> segments;
  JsonFunction function = JsonFunction::none;
};

// One side of a comparison in a filter.
struct JsonOperand {
  enum class Kind : uint8_t { literal, path, call };
  enum class Call : uint8_t { length, count, match, search, value };
  Kind kind = Kind::literal;
  Value literal;
  JsonPath path;
  bool from_root = false;  // `$` instead of `@`
  Call call = Call::length;
  std::vector<JsonOperand> arguments;
  std::optional<Regex> regex;  // a literal /pattern/, or the literal pattern of match and search
};

struct JsonFilter {
  enum class Kind : uint8_t { any, all, none, test, compare };
  enum class Compare : uint8_t {
    equal,
    not_equal,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
    match,
    in,
    not_in,
    contains,
    size,
    empty
  };
  Kind kind = Kind::test;
  std::vector<JsonFilter> parts;  // any, all; none has one
  JsonOperand left, right;
  Compare compare = Compare::equal;
};

}  // namespace drom::expr
