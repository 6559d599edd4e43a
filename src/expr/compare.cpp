#include "expr/compare.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "expr/scan.hpp"
#include "expr/text_case.hpp"

namespace drom::expr {
namespace {

// A written number, split so that two of them can be compared digit by digit: the digits of
// `whole` and `fraction` in a row, of which the first is not zero, times ten to the power of
// `magnitude` minus their count.
struct Written {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int64_t magnitude = 0;

  bool zero() const { return whole.empty() && fraction.empty(); }
  size_t size() const { return whole.size() + fraction.size(); }
  char digit(size_t i) const {
    if (i < whole.size()) return whole[i];
    return i < size() ? fraction[i - whole.size()] : '0';
  }
};

int64_t read_exponent(std::string_view text) {
  constexpr int64_t kLimit = 1'000'000'000'000;
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc::result_out_of_range) return text.starts_with('-') ? -kLimit : kLimit;
  return std::clamp(out, -kLimit, kLimit);
}

Written split_number(std::string_view text) {
  Written out;
  out.negative = text.starts_with('-');
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  int64_t exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    exponent = read_exponent(text.substr(e + 1));
    text = text.substr(0, e);
  }
  const size_t dot = text.find('.');
  out.whole = text.substr(0, dot);
  if (dot != std::string_view::npos) out.fraction = text.substr(dot + 1);
  while (out.whole.starts_with('0')) out.whole.remove_prefix(1);
  out.magnitude = static_cast<int64_t>(out.whole.size());
  if (out.whole.empty()) {
    while (out.fraction.starts_with('0')) {
      out.fraction.remove_prefix(1);
      --out.magnitude;
    }
  }
  out.magnitude += exponent;
  return out;
}

int sign(int64_t difference) { return difference < 0 ? -1 : difference > 0 ? 1 : 0; }

// Wall times compare with texts (ISO 8601) and with milliseconds since 1970.
std::optional<int> compare_times(const Value& a, const Value& b) {
  const auto as_time = [](const Value& value) -> std::optional<WallTime> {
    if (const WallTime* time = value.as_time()) return *time;
    if (const int64_t* ms = value.as_int()) {
      if (*ms > INT64_MAX / 1000 || *ms < INT64_MIN / 1000) return std::nullopt;
      return WallTime(microseconds(*ms * 1000));
    }
    const Result<WallTime> parsed = parse_iso8601(value.raw());
    return parsed ? std::optional(*parsed) : std::nullopt;
  };
  const auto x = as_time(a);
  const auto y = as_time(b);
  if (!x || !y) return std::nullopt;
  return *x < *y ? -1 : *x == *y ? 0 : 1;
}

bool has_text(const Value& value) { return value.is_text() || value.is_bytes(); }

int compare_texts(std::string_view a, std::string_view b) { return sign(a.compare(b)); }

bool equal_texts(std::string_view a, std::string_view b, bool ignore_case) {
  if (is_digits(a) && is_digits(b)) return compare_numbers(a, b) == 0;
  return ignore_case ? to_lower(a) == to_lower(b) : a == b;
}

bool infinite(const Value& value) { return value.as_real() && !std::isfinite(*value.as_real()); }

}  // namespace

std::string_view text_of(const Value& value, std::string& buffer) {
  if (has_text(value)) return value.raw();
  buffer = value.to_text();
  return buffer;
}

bool is_digits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_numeric(std::string_view text) {
  size_t at = 0;
  const auto skip_digits = [&] {
    const size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > start;
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  if (!skip_digits()) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!skip_digits()) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (!skip_digits()) return false;
  }
  return at == text.size();
}

int compare_numbers(std::string_view a, std::string_view b) {
  const Written x = split_number(a);
  const Written y = split_number(b);
  if (x.zero() || y.zero() || x.negative != y.negative) {
    const int sx = x.zero() ? 0 : x.negative ? -1 : 1;
    const int sy = y.zero() ? 0 : y.negative ? -1 : 1;
    return sign(sx - sy);
  }
  const int direction = x.negative ? -1 : 1;
  if (x.magnitude != y.magnitude) return x.magnitude < y.magnitude ? -direction : direction;
  for (size_t i = 0; i < std::max(x.size(), y.size()); ++i)
    if (x.digit(i) != y.digit(i)) return x.digit(i) < y.digit(i) ? -direction : direction;
  return 0;
}

bool loosely_equal(const Value& a, const Value& b, bool ignore_case) {
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  if (a.is_number() && b.is_number()) return a == b;
  if (has_text(a) && has_text(b)) return equal_texts(a.raw(), b.raw(), ignore_case);
  if (has_text(a)) return loosely_equal(b, a, ignore_case);
  if (a.as_time() || b.as_time()) {
    const auto order = compare_times(a, b);
    return order && *order == 0;
  }
  if (!has_text(b)) return a == b;
  if (a.is_number()) return is_numeric(b.raw()) && compare_numbers(a.to_text(), b.raw()) == 0;
  if (a.is_bool()) return b.to_bool() == a.to_bool();
  return a.to_text() == b.raw();
}

std::optional<int> compare_values(const Value& a, const Value& b) {
  if (const auto *x = a.as_int(), *y = b.as_int(); x && y) return *x < *y ? -1 : *x > *y ? 1 : 0;
  if (a.as_time() || b.as_time()) return compare_times(a, b);
  if ((infinite(a) || infinite(b)) && a.to_double() && b.to_double()) {
    const double x = *a.to_double(), y = *b.to_double();
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const bool a_text = has_text(a), b_text = has_text(b);
  if (a.is_number() && b.is_number()) return compare_numbers(a.to_text(), b.to_text());
  if (a_text && b_text) {
    if (is_numeric(a.raw()) && is_numeric(b.raw())) return compare_numbers(a.raw(), b.raw());
    return compare_texts(a.raw(), b.raw());
  }
  if ((a.is_number() && b_text) || (a_text && b.is_number())) {
    const std::string x = a.to_text(), y = b.to_text();
    if (is_numeric(x) && is_numeric(y)) return compare_numbers(x, y);
    return compare_texts(x, y);
  }
  if (a.is_bool() || b.is_bool()) {
    const auto x = a.to_bool(), y = b.to_bool();
    if (x && y) return int(*x) - int(*y);
  }
  return std::nullopt;
}

bool contains_value(const Value& whole, const Value& part, bool ignore_case) {
  if (whole.is_null() || part.is_null()) return whole.is_null() && part.is_null();
  if (const List* list = whole.as_list())
    return std::any_of(list->begin(), list->end(),
                       [&](const Value& item) { return loosely_equal(item, part, ignore_case); });
  if (const Object* object = whole.as_object()) {
    const std::string key = part.to_text();
    return std::any_of(object->begin(), object->end(), [&](const Object::Entry& entry) {
      return equal_texts(entry.first, key, ignore_case);
    });
  }
  std::string whole_buffer, part_buffer;
  const std::string_view text = text_of(whole, whole_buffer), piece = text_of(part, part_buffer);
  if (!ignore_case) return text.find(piece) != std::string_view::npos;
  return to_lower(text).find(to_lower(piece)) != std::string::npos;
}

}  // namespace drom::expr
