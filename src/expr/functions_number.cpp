#include <algorithm>
#include <cmath>

#include "expr/compare.hpp"
#include "expr/functions.hpp"
#include "expr/text_tools.hpp"

namespace drom::expr {
namespace {

Result<int64_t> whole_number(const Value& value) {
  if (const auto whole = value.to_int()) return *whole;
  return data_error("'" + value.to_text().substr(0, 40) + "' is no whole number");
}

// All arguments, or the body; lists count by their elements.
Result<std::vector<int64_t>> numbers(const Call& c) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < std::max<size_t>(c.size(), 1); ++i) {
    const Result<Operand> value = c.value_or_body(i);
    if (!value) return value.error();
    const List* list = value->get().as_list();
    const List single = list ? List() : List{value->get()};
    for (const Value& item : list ? *list : single) {
      const Result<int64_t> number = whole_number(item);
      if (!number) return number.error();
      out.push_back(*number);
    }
  }
  return out;
}

Result<int64_t> add_up(const std::vector<int64_t>& values) {
  int64_t total = 0;
  for (const int64_t value : values)
    if (__builtin_add_overflow(total, value, &total)) return data_error("the sum is too large");
  return total;
}

Result<Operand> sum(const Call& c) {
  const auto values = numbers(c);
  if (!values) return values.error();
  const Result<int64_t> total = add_up(*values);
  if (!total) return total.error();
  return Operand(Value(*total));
}

Result<Operand> average(const Call& c) {
  const auto values = numbers(c);
  if (!values) return values.error();
  const Result<int64_t> total = add_up(*values);
  if (!total) return total.error();
  return Operand(values->empty() ? Value() : Value(*total / static_cast<int64_t>(values->size())));
}

Result<Operand> smallest(const Call& c) {
  const auto values = numbers(c);
  if (!values) return values.error();
  return Operand(values->empty() ? Value()
                                 : Value(*std::min_element(values->begin(), values->end())));
}

Result<Operand> largest(const Call& c) {
  const auto values = numbers(c);
  if (!values) return values.error();
  return Operand(values->empty() ? Value()
                                 : Value(*std::max_element(values->begin(), values->end())));
}

Result<Operand> absolute(const Call& c) {
  const Result<Operand> value = c.value_or_body(0);
  if (!value) return value.error();
  const Result<int64_t> number = whole_number(value->get());
  if (!number) return number.error();
  if (*number == INT64_MIN) return data_error("the number is too small");
  return Operand(Value(std::abs(*number)));
}

Result<Operand> rounded(const Call& c, double (*round)(double)) {
  const Result<Operand> value = c.value_or_body(0);
  if (!value) return value.error();
  if (const auto whole = value->get().to_int()) return Operand(Value(*whole));
  const auto real = value->get().to_double();
  if (!real) return data_error("'" + value->get().to_text().substr(0, 40) + "' is no number");
  const auto whole = Value(round(*real)).to_int();
  if (!whole) return data_error("the number is too large");
  return Operand(Value(*whole));
}
Result<Operand> floor_function(const Call& c) { return rounded(c, std::floor); }
Result<Operand> ceil_function(const Call& c) { return rounded(c, std::ceil); }

struct Bounds {
  int64_t from = 0, to = 0;
};
Result<Bounds> bounds(const Call& c) {
  Bounds out;
  const Result<int64_t> last = c.integer(c.size() - 1);
  if (!last) return last.error();
  out.to = *last;
  if (c.size() < 2) return out;
  const Result<int64_t> first = c.integer(0);
  if (!first) return first.error();
  out.from = *first;
  return out;
}

// random(max) and random(min,max): min included, max not.
Result<Operand> random(const Call& c) {
  const Result<Bounds> range = bounds(c);
  if (!range) return range.error();
  if (range->to <= range->from)
    return data_error("random() needs a range with at least one number");
  const uint64_t count = static_cast<uint64_t>(range->to) - static_cast<uint64_t>(range->from);
  const uint64_t chosen = c.frame().scope.env.random() % count;
  return Operand(Value(static_cast<int64_t>(static_cast<uint64_t>(range->from) + chosen)));
}

Result<Operand> range(const Call& c) {
  const Result<Bounds> range = bounds(c);
  if (!range) return range.error();
  int64_t count = 0;
  if (__builtin_sub_overflow(range->to, range->from, &count) || count > kBuiltListMax)
    return data_error("range() gives at most " + std::to_string(kBuiltListMax) + " numbers");
  List out;
  for (int64_t i = range->from; i < range->to; ++i) out.emplace_back(i);
  return Operand(Value(std::move(out)));
}

constexpr Function kFunctions[] = {
    {"random", 1, 2, false, random},         {"range", 1, 2, false, range},
    {"sum", 0, kAnyNumber, false, sum},      {"average", 0, kAnyNumber, false, average},
    {"min", 0, kAnyNumber, false, smallest}, {"max", 0, kAnyNumber, false, largest},
    {"abs", 0, 1, false, absolute},          {"floor", 0, 1, false, floor_function},
    {"ceil", 0, 1, false, ceil_function},
};

}  // namespace

std::span<const Function> number_functions() { return kFunctions; }

}  // namespace drom::expr
