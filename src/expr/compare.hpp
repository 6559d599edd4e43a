// How `simple` compares values of different kinds. Numbers compare by value and exactly (no digit
// is lost in a double); text that holds a number compares as a number with a number, and two texts
// of digits compare as numbers, as in Camel ("0001" == "1").
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drom/base/value.hpp"

namespace drom::expr {

bool loosely_equal(const Value& a, const Value& b, bool ignore_case = false);

// Negative, zero, positive. Nulls are the caller's business. nullopt: the two have no order.
std::optional<int> compare_values(const Value& a, const Value& b);

// Exact comparison of the numbers that two texts write; both must be numeric.
int compare_numbers(std::string_view a, std::string_view b);

// Part of a text, element of a list, key of an object.
bool contains_value(const Value& whole, const Value& part, bool ignore_case = false);

// The text of a value; `buffer` holds it when it has to be built.
std::string_view text_of(const Value& value, std::string& buffer);

// Digits with an optional sign: Camel's idea of a whole number in text.
bool is_digits(std::string_view text);
// A number in any JSON-like form.
bool is_numeric(std::string_view text);

}  // namespace drom::expr
