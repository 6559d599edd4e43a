#include <algorithm>
#include <cmath>

#include "expr/compare.hpp"
#include "expr/functions.hpp"
#include "expr/text_tools.hpp"

namespace drom::expr {
namespace {

// Camel iterates everything: lists by element, text by comma, nothing for null.
List items_of(const Value& value) {
  if (const List* list = value.as_list()) return *list;
  if (value.is_null()) return {};
  if (!value.is_text()) return {value};
  List out;
  const std::string_view text = value.raw();
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    if (comma > start) out.emplace_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return out;
}

Result<List> source_items(const Call& c, size_t argument) {
  const Result<Operand> value = c.value_or_body(argument);
  if (!value) return value.error();
  return items_of(value->get());
}

// All arguments, or the body, as one list of items.
Result<List> all_items(const Call& c) {
  if (c.size() == 0) return source_items(c, 0);
  List out;
  for (size_t i = 0; i < c.size(); ++i) {
    Result<List> part = source_items(c, i);
    if (!part) return part;
    std::move(part->begin(), part->end(), std::back_inserter(out));
  }
  return out;
}

Result<Operand> collate(const Call& c) {
  const Result<int64_t> size = c.integer(0);
  if (!size) return size.error();
  if (*size < 1) return data_error("collate() needs a group size of at least 1");
  Result<List> items = source_items(c, 1);
  if (!items) return std::move(items.error());
  List groups, group;
  for (Value& item : *items) {
    group.push_back(std::move(item));
    if (static_cast<int64_t>(group.size()) < *size) continue;
    groups.emplace_back(std::move(group));
    group = {};
  }
  if (!group.empty()) groups.emplace_back(std::move(group));
  return Operand(Value(std::move(groups)));
}

Result<Operand> skip(const Call& c) {
  const Result<int64_t> count = c.integer(0);
  if (!count) return count.error();
  Result<List> items = source_items(c, 1);
  if (!items) return std::move(items.error());
  const auto n = std::clamp<int64_t>(*count, 0, static_cast<int64_t>(items->size()));
  items->erase(items->begin(), items->begin() + n);
  return Operand(Value(std::move(*items)));
}

// join([separator[, prefix[, value]]])
Result<Operand> join(const Call& c) {
  const Result<std::string> separator =
      c.size() > 0 ? c.text(0) : Result<std::string>(std::string(","));
  if (!separator) return separator.error();
  const Result<std::string> prefix = c.size() > 1 ? c.text(1) : Result<std::string>(std::string());
  if (!prefix) return prefix.error();
  const Result<List> items = source_items(c, 2);
  if (!items) return items.error();
  std::string out;
  for (const Value& item : *items) {
    if (&item != &items->front()) out += *separator;
    out += *prefix + item.to_text();
    if (out.size() > kBuiltTextMax) return data_error("the joined text is too large");
  }
  return Operand(Value(std::move(out)));
}

// split([separator]) or split(value, separator)
Result<Operand> split(const Call& c) {
  const Result<std::string> text = c.size() > 1 ? c.text(0) : c.text_or_body(1);
  if (!text) return text.error();
  const Result<std::string> separator =
      c.size() > 0 ? c.text(c.size() - 1) : Result<std::string>(std::string(","));
  if (!separator) return separator.error();
  if (separator->empty()) return data_error("split() needs a separator");
  List out;
  for (size_t start = 0;;) {
    const size_t end = text->find(*separator, start);
    out.emplace_back(std::string_view(*text).substr(start, end - start));
    if (end == std::string::npos) break;
    start = end + separator->size();
  }
  return Operand(Value(std::move(out)));
}

Result<Operand> size(const Call& c) {
  const Result<Operand> value = c.value_or_body(0);
  if (!value) return value.error();
  const Value& v = value->get();
  if (const List* list = v.as_list()) return Operand(Value(static_cast<int64_t>(list->size())));
  if (const Object* object = v.as_object())
    return Operand(Value(static_cast<int64_t>(object->size())));
  return Operand(Value(int64_t{v.is_null() ? 0 : 1}));
}

Result<Operand> list(const Call& c) {
  List out;
  for (size_t i = 0; i < c.size(); ++i) {
    Result<Operand> value = c.value(i);
    if (!value) return value;
    out.push_back(std::move(*value).take());
  }
  return Operand(Value(std::move(out)));
}

Result<Operand> map(const Call& c) {
  if (c.size() % 2 != 0) return data_error("map() takes pairs of keys and values");
  Object out;
  for (size_t i = 0; i < c.size(); i += 2) {
    const Result<std::string> key = c.text(i);
    if (!key) return key.error();
    Result<Operand> value = c.value(i + 1);
    if (!value) return value;
    out.set(*key, std::move(*value).take());
  }
  return Operand(Value(std::move(out)));
}

Result<Operand> distinct(const Call& c) {
  const Result<List> items = all_items(c);
  if (!items) return items.error();
  if (items->size() > 10'000) return data_error("distinct() takes at most 10000 values");
  List out;
  for (const Value& item : *items)
    if (std::find(out.begin(), out.end(), item) == out.end()) out.push_back(item);
  return Operand(Value(std::move(out)));
}

Result<Operand> reverse(const Call& c) {
  Result<List> items = all_items(c);
  if (!items) return std::move(items.error());
  std::reverse(items->begin(), items->end());
  return Operand(Value(std::move(*items)));
}

// sort([value][, descending]): one argument `true` is the direction, as in Camel.
Result<Operand> sort(const Call& c) {
  const Value* only = c.size() == 1 ? c.node(0).constant() : nullptr;
  const bool direction_only = only && only->is_bool();
  bool descending = direction_only && *only->as_bool();
  if (c.size() > 1) {
    const Result<Operand> direction = c.value(1);
    if (!direction) return direction.error();
    descending = is_truthy(direction->get());
  }
  Result<List> items = source_items(c, direction_only ? 1 : 0);
  if (!items) return std::move(items.error());
  // Kinds without a common order compare by their texts, and numbers come first: a total order.
  const auto is_orderly = [](const Value& v) {
    return v.is_number() && (!v.as_real() || std::isfinite(*v.as_real()));
  };
  std::sort(items->begin(), items->end(), [&](const Value& a, const Value& b) {
    const Value& x = descending ? b : a;
    const Value& y = descending ? a : b;
    if (is_orderly(x) != is_orderly(y)) return is_orderly(x);
    if (is_orderly(x)) return compare_values(x, y).value_or(0) < 0;
    return x.to_text() < y.to_text();
  });
  return Operand(Value(std::move(*items)));
}

// filter(value, predicate) and forEach(value, expression): each item is the body of the second.
Result<Operand> filter(const Call& c) {
  const Result<List> items = source_items(c, 0);
  if (!items) return items.error();
  List out;
  for (const Value& item : *items) {
    Frame inner(c.frame().exchange, c.frame().scope, item);
    const Result<bool> keep = c.node(1).test(inner);
    if (!keep) return keep.error();
    if (*keep) out.push_back(item);
  }
  return Operand(Value(std::move(out)));
}

Result<Operand> for_each(const Call& c) {
  const Result<List> items = source_items(c, 0);
  if (!items) return items.error();
  List out;
  for (const Value& item : *items) {
    Frame inner(c.frame().exchange, c.frame().scope, item);
    Result<Operand> value = c.node(1).evaluate(inner);
    if (!value) return value;
    if (!value->get().is_null()) out.push_back(std::move(*value).take());
  }
  return Operand(Value(std::move(out)));
}

Result<Operand> is_empty(const Call& c) {
  const Result<Operand> value = c.value_or_body(0);
  if (!value) return value.error();
  const Value& v = value->get();
  if (const List* items = v.as_list()) return Operand(Value(items->empty()));
  if (const Object* object = v.as_object()) return Operand(Value(object->empty()));
  return Operand(Value(v.is_null() || ((v.is_text() || v.is_bytes()) && v.raw().empty())));
}

Result<Operand> kind_of_type(const Call& c) {
  const Result<Operand> value = c.value_or_body(0);
  if (!value) return value.error();
  const Value& v = value->get();
  if (v.is_null()) return Operand(Value("null"));
  if (v.is_number()) return Operand(Value("number"));
  if (v.is_bool()) return Operand(Value("boolean"));
  if (v.is_list()) return Operand(Value("array"));
  return Operand(Value(v.is_object() ? "object" : "string"));
}

constexpr Function kFunctions[] = {
    {"collate", 1, 2, false, collate},
    {"skip", 1, 2, false, skip},
    {"join", 0, 3, false, join},
    {"split", 0, 2, false, split},
    {"size", 0, 1, false, size},
    {"list", 0, kAnyNumber, false, list},
    {"map", 0, kAnyNumber, false, map},
    {"distinct", 0, kAnyNumber, false, distinct},
    {"reverse", 0, kAnyNumber, false, reverse},
    {"sort", 0, 2, false, sort},
    {"filter", 2, 2, false, filter},
    {"forEach", 2, 2, false, for_each},
    {"isEmpty", 0, 1, true, is_empty},
    {"kindOfType", 0, 1, false, kind_of_type},
};

}  // namespace

std::span<const Function> list_functions() { return kFunctions; }

}  // namespace drom::expr
