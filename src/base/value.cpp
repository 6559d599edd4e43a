#include "drom/base/value.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

#include "drom/base/json.hpp"

namespace drom {
namespace {

bool iequals_ascii(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if ((a[i] >= 'A' && a[i] <= 'Z' ? a[i] + 32 : a[i]) != b[i]) return false;
  return true;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> int_from_text(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return out;
}

std::optional<double> double_from_text(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(out))
    return std::nullopt;
  return out;
}

// "1.00" is whole, "1.5" and "1e400" are not.
std::optional<int64_t> int_from_decimal(std::string_view digits) {
  if (const auto whole = int_from_text(digits)) return whole;
  const size_t dot = digits.find('.');
  if (dot != std::string_view::npos &&
      digits.find_first_not_of('0', dot + 1) == std::string_view::npos)
    return int_from_text(digits.substr(0, dot));
  return std::nullopt;
}

std::optional<int64_t> int_from_double(double v) {
  // 2^63 is not an int64; -2^63 is.
  if (std::trunc(v) != v || v < -0x1p63 || v >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(v);
}

// Sign, digits without leading and trailing zeros, exponent of the first digit: equal numbers have
// equal forms, without a big number library.
struct Canonical {
  bool negative = false;
  std::string digits;  // empty for zero
  int64_t exponent = 0;
  friend bool operator==(const Canonical&, const Canonical&) = default;
};

Canonical canonical(std::string_view text) {
  Canonical out;
  if (text.starts_with('-')) {
    out.negative = true;
    text.remove_prefix(1);
  } else if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  int64_t exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    text = text.substr(0, e);
  }
  int64_t point = 0;
  bool seen_point = false;
  for (const char c : text) {
    if (c == '.') {
      seen_point = true;
      continue;
    }
    if (out.digits.empty() && c == '0') {
      if (seen_point) --point;
      continue;
    }
    out.digits += c;
    if (!seen_point) ++point;
  }
  while (!out.digits.empty() && out.digits.back() == '0') out.digits.pop_back();
  if (out.digits.empty()) return {};
  out.exponent = exponent + point;
  return out;
}

bool equal_numbers(const Value& a, const Value& b) {
  if (const auto *x = a.as_int(), *y = b.as_int(); x && y) return *x == *y;
  if (a.as_decimal() || b.as_decimal()) return canonical(a.to_text()) == canonical(b.to_text());
  if (const auto *x = a.as_real(), *y = b.as_real(); x && y) return *x == *y;
  const double real = a.as_real() ? *a.as_real() : *b.as_real();
  const int64_t whole = a.as_int() ? *a.as_int() : *b.as_int();
  const auto exact = int_from_double(real);
  return exact && *exact == whole;
}

}  // namespace

List& Value::list() {
  auto* p = std::get_if<std::shared_ptr<List>>(&data_);
  DROM_ASSERT(p);
  if (p->use_count() > 1) *p = std::make_shared<List>(**p);
  return **p;
}

Object& Value::object() {
  auto* p = std::get_if<std::shared_ptr<Object>>(&data_);
  DROM_ASSERT(p);
  if (p->use_count() > 1) *p = std::make_shared<Object>(**p);
  return **p;
}

std::string& Value::text() {
  auto* p = std::get_if<std::string>(&data_);
  DROM_ASSERT(p);
  return *p;
}

std::string_view Value::raw() const {
  if (const auto* t = as_text()) return *t;
  if (const auto* b = as_bytes()) return b->view();
  return {};
}

std::string Value::to_text() const {
  switch (kind()) {
    case Kind::null: return {};
    case Kind::boolean: return *as_bool() ? "true" : "false";
    case Kind::integer: return std::to_string(*as_int());
    case Kind::real: {
      char buffer[32];
      const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, *as_real());
      std::string out(buffer, end);
      // A real stays recognisable as one: 2 is written 2.0.
      if (out.find_first_not_of("-0123456789") == std::string::npos) out += ".0";
      return out;
    }
    case Kind::decimal: return as_decimal()->digits;
    case Kind::text: return *as_text();
    case Kind::bytes: return std::string(as_bytes()->view());
    case Kind::time: return to_iso8601(*as_time());
    case Kind::list:
    case Kind::object: return to_json(*this);
  }
  return {};
}

std::optional<int64_t> Value::to_int() const {
  switch (kind()) {
    case Kind::integer: return *as_int();
    case Kind::real: return int_from_double(*as_real());
    case Kind::decimal: return int_from_decimal(as_decimal()->digits);
    case Kind::text:
    case Kind::bytes: return int_from_text(raw());
    default: return std::nullopt;
  }
}

std::optional<double> Value::to_double() const {
  switch (kind()) {
    case Kind::integer: return static_cast<double>(*as_int());
    case Kind::real: return *as_real();
    case Kind::decimal: return double_from_text(as_decimal()->digits);
    case Kind::text:
    case Kind::bytes: return double_from_text(raw());
    default: return std::nullopt;
  }
}

std::optional<bool> Value::to_bool() const {
  if (const bool* b = as_bool()) return *b;
  const std::string_view text = trim(raw());
  if (iequals_ascii(text, "true")) return true;
  if (iequals_ascii(text, "false")) return false;
  return std::nullopt;
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.kind() != b.kind()) return false;
  if (const List* x = a.as_list()) return x == b.as_list() || *x == *b.as_list();
  if (const Object* x = a.as_object()) return x == b.as_object() || *x == *b.as_object();
  return a.data_ == b.data_;
}

const Value* Object::find(std::string_view key) const {
  for (const Entry& entry : entries_)
    if (entry.first == key) return &entry.second;
  return nullptr;
}

Value* Object::find(std::string_view key) {
  return const_cast<Value*>(static_cast<const Object*>(this)->find(key));
}

void Object::set(std::string_view key, Value value) {
  if (Value* found = find(key)) {
    *found = std::move(value);
  } else {
    entries_.emplace_back(std::string(key), std::move(value));
  }
}

void Object::append(std::string key, Value value) {
  entries_.emplace_back(std::move(key), std::move(value));
}

bool Object::erase(std::string_view key) {
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.first == key; }) > 0;
}

bool operator==(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a) {
    const Value* other = b.find(key);
    if (!other || !(*other == value)) return false;
  }
  return true;
}

std::string_view to_string(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null: return "null";
    case Value::Kind::boolean: return "boolean";
    case Value::Kind::integer: return "integer";
    case Value::Kind::real: return "real";
    case Value::Kind::decimal: return "decimal";
    case Value::Kind::text: return "text";
    case Value::Kind::bytes: return "bytes";
    case Value::Kind::time: return "time";
    case Value::Kind::list: return "list";
    case Value::Kind::object: return "object";
  }
  return "null";
}

}  // namespace drom
