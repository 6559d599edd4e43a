#include "expr/operators.hpp"

#include <algorithm>
#include <optional>

#include "expr/compare.hpp"
#include "expr/convert.hpp"
#include "expr/regex.hpp"
#include "expr/suggest.hpp"

namespace drom::expr {
namespace {

struct Range {
  std::string from, to;
};

std::optional<Range> parse_range(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  Range out{std::string(text.substr(0, dots)), std::string(text.substr(dots + 2))};
  if (!is_numeric(out.from) || !is_numeric(out.to)) return std::nullopt;
  return out;
}

bool in_range(const Value& value, const Range& range) {
  const std::string text = value.to_text();
  return is_numeric(text) && compare_numbers(text, range.from) >= 0 &&
         compare_numbers(text, range.to) <= 0;
}

// 'gold,silver'. An empty member must be written with two commas (",,gold").
bool in_set(const Value& value, std::string_view set) {
  size_t start = 0;
  while (true) {
    const size_t comma = std::min(set.find(',', start), set.size());
    const std::string_view member = set.substr(start, comma - start);
    const bool edge = (start == 0) != (comma == set.size());
    if (!(member.empty() && edge) && loosely_equal(value, Value(member))) return true;
    if (comma == set.size()) return false;
    start = comma + 1;
  }
}

bool in_values(const Value& value, const Value& set) {
  if (const List* list = set.as_list())
    return std::any_of(list->begin(), list->end(),
                       [&](const Value& member) { return loosely_equal(value, member); });
  if (set.is_text() || set.is_bytes()) return in_set(value, set.raw());
  return loosely_equal(value, set);
}

// What a constant right side was turned into.
struct Prepared {
  std::optional<Regex> regex;
  std::optional<Range> range;
  std::optional<TypeName> type;
};

Result<Prepared> prepare(Operator op, const Value& right) {
  Prepared out;
  const std::string text = right.to_text();
  if (op == Operator::regex) {
    Result<Regex> regex = Regex::compile(text);
    if (!regex) return std::move(regex.error());
    out.regex = std::move(*regex);
  } else if (op == Operator::range) {
    out.range = parse_range(text);
    if (!out.range)
      return data_error("'" + text + "' is no range", "write it like 100..199, with two numbers");
  } else if (op == Operator::is) {
    out.type = type_named(text);
    if (!out.type)
      return data_error("there is no type '" + text + "'", suggest(text, type_names()));
  }
  return out;
}

class Comparison final : public Node {
 public:
  Comparison(const OperatorName& name, NodePtr left, NodePtr right, Prepared prepared)
      : name_(name),
        left_(std::move(left)),
        right_(std::move(right)),
        prepared_(std::move(prepared)) {}

  Result<Operand> evaluate(Frame& frame) const override {
    Result<bool> answer = test(frame);
    if (!answer) return std::move(answer.error());
    return Operand(Value(*answer));
  }

  Result<bool> test(Frame& frame) const override {
    const Result<Operand> left = left_->evaluate(frame);
    if (!left) return left.error();
    const Result<Operand> right = right_->evaluate(frame);
    if (!right) return right.error();
    Result<bool> answer = decide(left->get(), right->get());
    if (!answer) return answer;
    return *answer != name_.negated;
  }
  bool reads_body() const override { return left_->reads_body() || right_->reads_body(); }

 private:
  Result<bool> decide(const Value& left, const Value& right) const {
    const bool both_null = left.is_null() && right.is_null();
    const bool one_null = left.is_null() != right.is_null();
    switch (name_.op) {
      case Operator::equal: return loosely_equal(left, right);
      case Operator::equal_ignoring_case: return loosely_equal(left, right, true);
      case Operator::greater:
      case Operator::greater_or_equal:
      case Operator::less:
      case Operator::less_or_equal:
        if (one_null) return false;
        return both_null ? ordered(0) : order(left, right);
      case Operator::contains: return contains_value(left, right);
      case Operator::contains_ignoring_case: return contains_value(left, right, true);
      case Operator::starts_with:
      case Operator::ends_with:
      case Operator::same_text: return both_null || (!one_null && compare_as_text(left, right));
      case Operator::in: return in_values(left, right);
      default: return left.is_null() || right.is_null() ? false : decide_prepared(left, right);
    }
  }

  bool compare_as_text(const Value& left, const Value& right) const {
    std::string left_buffer, right_buffer;
    const std::string_view a = text_of(left, left_buffer), b = text_of(right, right_buffer);
    if (name_.op == Operator::starts_with) return a.starts_with(b);
    return name_.op == Operator::ends_with ? a.ends_with(b) : a == b;
  }

  bool ordered(int order) const {
    switch (name_.op) {
      case Operator::greater: return order > 0;
      case Operator::greater_or_equal: return order >= 0;
      case Operator::less: return order < 0;
      default: return order <= 0;
    }
  }

  Result<bool> order(const Value& left, const Value& right) const {
    const auto answer = compare_values(left, right);
    if (!answer)
      return data_error("a " + std::string(to_string(left.kind())) + " and a " +
                        std::string(to_string(right.kind())) + " have no order");
    return ordered(*answer);
  }

  Result<bool> decide_prepared(const Value& left, const Value& right) const {
    if (right_->constant()) return apply(prepared_, left);
    const Result<Prepared> now = prepare(name_.op, right);
    if (!now) return now.error();
    return apply(*now, left);
  }

  Result<bool> apply(const Prepared& prepared, const Value& left) const {
    std::string buffer;
    if (prepared.regex) return prepared.regex->matches_all(text_of(left, buffer));
    if (prepared.range) return in_range(left, *prepared.range);
    return is_instance(left, *prepared.type);
  }

  OperatorName name_;
  NodePtr left_, right_;
  Prepared prepared_;
};

}  // namespace

const std::vector<OperatorName>& operator_names() {
  static const std::vector<OperatorName> names = {
      {"==", Operator::equal},
      {"!=", Operator::equal, true},
      {"=~", Operator::equal_ignoring_case},
      {"!=~", Operator::equal_ignoring_case, true},
      {">", Operator::greater},
      {">=", Operator::greater_or_equal},
      {"<", Operator::less},
      {"<=", Operator::less_or_equal},
      {"contains", Operator::contains},
      {"!contains", Operator::contains, true},
      {"not contains", Operator::contains, true},
      {"~~", Operator::contains_ignoring_case},
      {"!~~", Operator::contains_ignoring_case, true},
      {"regex", Operator::regex},
      {"!regex", Operator::regex, true},
      {"not regex", Operator::regex, true},
      {"in", Operator::in},
      {"!in", Operator::in, true},
      {"not in", Operator::in, true},
      {"range", Operator::range},
      {"!range", Operator::range, true},
      {"not range", Operator::range, true},
      {"is", Operator::is},
      {"!is", Operator::is, true},
      {"not is", Operator::is, true},
      {"startsWith", Operator::starts_with},
      {"starts with", Operator::starts_with},
      {"!startsWith", Operator::starts_with, true},
      {"endsWith", Operator::ends_with},
      {"ends with", Operator::ends_with},
      {"!endsWith", Operator::ends_with, true},
      {"equals", Operator::same_text},
      {"!equals", Operator::same_text, true},
  };
  return names;
}

const std::vector<std::string_view>& operator_words() {
  static const std::vector<std::string_view> words = [] {
    std::vector<std::string_view> out;
    for (const OperatorName& name : operator_names()) out.push_back(name.name);
    return out;
  }();
  return words;
}

NodePtr make_comparison(const OperatorName& name, NodePtr left, NodePtr right, std::string& what,
                        std::string& hint) {
  Prepared prepared;
  if (const Value* constant = right->constant(); constant && !constant->is_null()) {
    Result<Prepared> done = prepare(name.op, *constant);
    if (!done) {
      what = done.error().what;
      hint = done.error().hint;
      return nullptr;
    }
    prepared = std::move(*done);
  }
  return std::make_unique<Comparison>(name, std::move(left), std::move(right), std::move(prepared));
}

}  // namespace drom::expr
