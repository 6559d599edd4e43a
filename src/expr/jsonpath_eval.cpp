#include <algorithm>

#include "expr/compare.hpp"
#include "expr/jsonpath.hpp"
#include "expr/text_case.hpp"

namespace drom::expr {
namespace {

using Compare = JsonFilter::Compare;
using Found = std::vector<const Value*>;

// Numbers have an order among themselves, and texts; there is none across kinds.
std::optional<int> order_of(const Value& a, const Value& b) {
  if ((a.is_number() && b.is_number()) || (a.is_text() && b.is_text())) {
    if (a.is_text()) return a.as_text()->compare(*b.as_text());
    return compare_values(a, b);
  }
  return std::nullopt;
}

bool is_member(const Value& value, const Value& list) {
  const List* items = list.as_list();
  return items && std::find(items->begin(), items->end(), value) != items->end();
}

bool holds(const Value& whole, const Value& part) {
  if (whole.is_list()) return is_member(part, whole);
  return whole.is_text() && part.is_text() &&
         whole.as_text()->find(*part.as_text()) != std::string::npos;
}

std::optional<int64_t> length_of(const Value& value) {
  if (const List* list = value.as_list()) return static_cast<int64_t>(list->size());
  if (const Object* object = value.as_object()) return static_cast<int64_t>(object->size());
  if (value.is_text()) return static_cast<int64_t>(count_characters(*value.as_text()));
  return std::nullopt;
}

class Evaluator {
 public:
  explicit Evaluator(const Value& root) : root_(root) {}

  Result<Found> select(const Value& from, const JsonPath& path) {
    Found nodes{&from};
    for (const JsonSegment& segment : path.segments) {
      Found next;
      for (const Value* node : nodes) apply(*node, segment, next);
      if (failure_) return *failure_;
      nodes = std::move(next);
    }
    return nodes;
  }

 private:
  bool visit() {
    if (failure_) return false;
    if (++visits_ <= kJsonPathVisitsMax) return true;
    failure_ = Error(ErrorKind::data, "the JSONPath looks at more than " +
                                          std::to_string(kJsonPathVisitsMax) + " values");
    return false;
  }

  void apply(const Value& node, const JsonSegment& segment, Found& out) {
    if (!segment.descendant) {
      for (const JsonSelector& selector : segment.selectors) apply(node, selector, out);
      return;
    }
    // Every value below, in the order of the document, without recursion.
    Found open{&node};
    while (!open.empty() && visit()) {
      const Value& current = *open.back();
      open.pop_back();
      for (const JsonSelector& selector : segment.selectors) apply(current, selector, out);
      const size_t start = open.size();
      if (const List* list = current.as_list())
        for (const Value& item : *list) open.push_back(&item);
      if (const Object* object = current.as_object())
        for (const Object::Entry& entry : *object) open.push_back(&entry.second);
      std::reverse(open.begin() + static_cast<std::ptrdiff_t>(start), open.end());
    }
  }

  void apply(const Value& node, const JsonSelector& selector, Found& out) {
    if (!visit()) return;
    const List* list = node.as_list();
    const Object* object = node.as_object();
    switch (selector.kind) {
      case JsonSelector::Kind::name:
        if (const Value* found = object ? object->find(selector.name) : nullptr)
          out.push_back(found);
        return;
      case JsonSelector::Kind::index: {
        if (!list) return;
        const auto size = static_cast<int64_t>(list->size());
        const int64_t index = selector.index < 0 ? selector.index + size : selector.index;
        if (index >= 0 && index < size) out.push_back(&(*list)[static_cast<size_t>(index)]);
        return;
      }
      case JsonSelector::Kind::slice:
        if (list) slice(*list, selector, out);
        return;
      case JsonSelector::Kind::wildcard:
      case JsonSelector::Kind::filter: break;
    }
    const auto consider = [&](const Value& child) {
      if (!visit()) return;
      if (selector.kind == JsonSelector::Kind::wildcard || passes(*selector.filter, child))
        out.push_back(&child);
    };
    if (list) std::for_each(list->begin(), list->end(), consider);
    if (object)
      for (const Object::Entry& entry : *object) consider(entry.second);
  }

  // RFC 9535, 2.3.4.2.2.
  void slice(const List& list, const JsonSelector& selector, Found& out) {
    const auto size = static_cast<int64_t>(list.size());
    const int64_t step = selector.step;
    if (step == 0) return;
    const auto normal = [&](int64_t i) { return i >= 0 ? i : i + size; };
    const int64_t from = normal(selector.from.value_or(step > 0 ? 0 : size - 1));
    const int64_t to = selector.to ? normal(*selector.to) : (step > 0 ? size : -1);
    if (step > 0) {
      for (int64_t i = std::max<int64_t>(from, 0); i < std::min(to, size) && visit();) {
        out.push_back(&list[static_cast<size_t>(i)]);
        if (__builtin_add_overflow(i, step, &i)) break;
      }
    } else {
      for (int64_t i = std::min(from, size - 1); i > std::max<int64_t>(to, -1) && visit();) {
        out.push_back(&list[static_cast<size_t>(i)]);
        if (__builtin_add_overflow(i, step, &i)) break;
      }
    }
  }

  bool passes(const JsonFilter& filter, const Value& current) {
    const auto part = [&](const JsonFilter& f) { return passes(f, current); };
    switch (filter.kind) {
      case JsonFilter::Kind::any:
        return std::any_of(filter.parts.begin(), filter.parts.end(), part);
      case JsonFilter::Kind::all:
        return std::all_of(filter.parts.begin(), filter.parts.end(), part);
      case JsonFilter::Kind::none: return !part(filter.parts[0]);
      case JsonFilter::Kind::test: return exists(filter.left, current);
      case JsonFilter::Kind::compare: break;
    }
    const std::optional<Value> left = value_of(filter.left, current);
    if (filter.compare == Compare::match)
      return left && left->is_text() && matches(filter.right, *left);
    const std::optional<Value> right = value_of(filter.right, current);
    return compare(filter.compare, left, right);
  }

  bool compare(Compare op, const std::optional<Value>& left, const std::optional<Value>& right) {
    // Nothing equals nothing alone.
    const bool both = left && right;
    const bool equal = both ? *left == *right : !left && !right;
    const auto order = both ? order_of(*left, *right) : std::nullopt;
    switch (op) {
      case Compare::equal: return equal;
      case Compare::not_equal: return !equal;
      case Compare::less: return order && *order < 0;
      case Compare::less_or_equal: return equal || (order && *order <= 0);
      case Compare::greater: return order && *order > 0;
      case Compare::greater_or_equal: return equal || (order && *order >= 0);
      case Compare::in: return both && is_member(*left, *right);
      case Compare::not_in: return left && right && !is_member(*left, *right);
      case Compare::contains: return both && holds(*left, *right);
      case Compare::size: return both && length_of(*left) && length_of(*left) == right->to_int();
      case Compare::empty:
        return both && length_of(*left) && (*length_of(*left) == 0) == (right->to_bool() == true);
      case Compare::match: break;
    }
    return false;
  }

  bool matches(const JsonOperand& pattern, const Value& text) {
    return keep(pattern.regex->matches_all(text.raw()));
  }

  bool keep(Result<bool> answer) {
    if (answer) return *answer;
    if (!failure_) failure_ = std::move(answer.error());
    return false;
  }

  bool exists(const JsonOperand& operand, const Value& current) {
    if (operand.kind != JsonOperand::Kind::path) {
      const std::optional<Value> value = value_of(operand, current);
      return value && value->to_bool() != false && !value->is_null();
    }
    const Result<Found> found = select(operand.from_root ? root_ : current, operand.path);
    return found && !found->empty();
  }

  // nullopt is RFC 9535's "Nothing".
  std::optional<Value> value_of(const JsonOperand& operand, const Value& current) {
    if (operand.kind == JsonOperand::Kind::literal) return operand.literal;
    if (operand.kind == JsonOperand::Kind::call) return call(operand, current);
    const Result<Found> found = select(operand.from_root ? root_ : current, operand.path);
    if (!found) return std::nullopt;
    if (operand.path.function != JsonFunction::none) return apply_function(operand.path, *found);
    if (operand.path.definite())
      return found->empty() ? std::nullopt : std::optional<Value>(*found->front());
    List out;
    for (const Value* value : *found) out.push_back(*value);
    return Value(std::move(out));
  }

  std::optional<Value> call(const JsonOperand& operand, const Value& current) {
    const JsonOperand& first = operand.arguments[0];
    if (operand.call == JsonOperand::Call::count) {
      if (first.kind != JsonOperand::Kind::path) return std::nullopt;
      const Result<Found> found = select(first.from_root ? root_ : current, first.path);
      return found ? std::optional<Value>(static_cast<int64_t>(found->size())) : std::nullopt;
    }
    const std::optional<Value> value = value_of(first, current);
    if (!value || operand.call == JsonOperand::Call::value) return value;
    if (operand.call == JsonOperand::Call::length) {
      const auto length = length_of(*value);
      return length ? std::optional<Value>(*length) : std::nullopt;
    }
    std::optional<Regex> regex = operand.regex;
    if (!regex) {
      const std::optional<Value> pattern = value_of(operand.arguments[1], current);
      Result<Regex> compiled = Regex::compile(pattern ? pattern->to_text() : std::string());
      if (!compiled) return Value(false);
      regex = std::move(*compiled);
    }
    if (!value->is_text()) return Value(false);
    const bool all = operand.call == JsonOperand::Call::match;
    return Value(keep(all ? regex->matches_all(value->raw()) : regex->found_in(value->raw())));
  }

 public:
  static Value apply_function(const JsonPath& path, const Found& found) {
    // A definite path hands over its value, any other path the list of what it found.
    static const Value kNull;
    List list;
    if (path.definite()) {
      const Value& value = found.empty() ? kNull : *found.front();
      if (path.function == JsonFunction::length) {
        const auto length = length_of(value);
        return length ? Value(*length) : Value();
      }
      if (path.function == JsonFunction::keys) return keys(value);
      if (const List* items = value.as_list()) list = *items;
    } else {
      for (const Value* value : found) list.push_back(*value);
    }
    if (path.function == JsonFunction::length) return Value(static_cast<int64_t>(list.size()));
    if (list.empty() || path.function == JsonFunction::keys) return Value();
    const auto less = [](const Value& a, const Value& b) { return order_of(a, b).value_or(0) < 0; };
    switch (path.function) {
      case JsonFunction::min: return *std::min_element(list.begin(), list.end(), less);
      case JsonFunction::max: return *std::max_element(list.begin(), list.end(), less);
      case JsonFunction::first: return list.front();
      default: return list.back();
    }
  }

 private:
  static Value keys(const Value& value) {
    const Object* object = value.as_object();
    if (!object) return Value();
    List out;
    for (const Object::Entry& entry : *object) out.emplace_back(entry.first);
    return Value(std::move(out));
  }

  const Value& root_;
  size_t visits_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

bool JsonPath::definite() const {
  return std::all_of(segments.begin(), segments.end(), [](const JsonSegment& segment) {
    return !segment.descendant && segment.selectors.size() == 1 &&
           (segment.selectors[0].kind == JsonSelector::Kind::name ||
            segment.selectors[0].kind == JsonSelector::Kind::index);
  });
}

Result<Value> JsonPath::evaluate(const Value& root) const {
  Evaluator evaluator(root);
  const Result<Found> found = evaluator.select(root, *this);
  if (!found) return found.error();
  if (function != JsonFunction::none) return Evaluator::apply_function(*this, *found);
  if (definite()) return found->empty() ? Value() : *found->front();
  List out;
  out.reserve(found->size());
  for (const Value* value : *found) out.push_back(*value);
  return Value(std::move(out));
}

}  // namespace drom::expr
