#include "expr/convert.hpp"

#include "drom/base/json.hpp"

namespace drom::expr {
namespace {

struct Named {
  std::string_view name;
  TypeName type;
};

constexpr Named kNames[] = {
    {"String", TypeName::text},        {"Integer", TypeName::integer},
    {"int", TypeName::integer},        {"Long", TypeName::integer},
    {"long", TypeName::integer},       {"Short", TypeName::integer},
    {"short", TypeName::integer},      {"Byte", TypeName::integer},
    {"byte", TypeName::integer},       {"BigInteger", TypeName::number},
    {"Double", TypeName::real},        {"double", TypeName::real},
    {"Float", TypeName::real},         {"float", TypeName::real},
    {"BigDecimal", TypeName::decimal}, {"Number", TypeName::number},
    {"Boolean", TypeName::boolean},    {"boolean", TypeName::boolean},
    {"byte[]", TypeName::bytes},       {"Map", TypeName::map},
    {"List", TypeName::list},          {"Collection", TypeName::list},
    {"Iterable", TypeName::list},      {"Date", TypeName::time},
    {"Object", TypeName::any},
};

Error cannot(const Value& value, std::string_view type) {
  return Error(ErrorKind::data, "a " + std::string(to_string(value.kind())) +
                                    " cannot be converted to " + std::string(type));
}

// A number as it stands in the text, so that no digit is lost.
Result<Value> to_number(const Value& value) {
  if (value.is_number()) return value;
  if (const auto whole = value.to_int()) return Value(*whole);
  if (!value.raw().empty() && value.to_double()) return Value(Decimal{std::string(value.raw())});
  return cannot(value, "a number");
}

Result<Value> to_tree(const Value& value, Value::Kind kind, std::string_view name) {
  if (value.kind() == kind) return value;
  if (!value.is_text() && !value.is_bytes()) return cannot(value, name);
  Result<Value> parsed = parse_json(value.raw());
  if (!parsed) return parsed;
  if (parsed->kind() != kind) return cannot(*parsed, name);
  return parsed;
}

Result<Value> to_time(const Value& value) {
  if (value.as_time()) return value;
  if (const auto ms = value.to_int()) {
    if (*ms > INT64_MAX / 1000 || *ms < INT64_MIN / 1000) return cannot(value, "a time");
    return Value(WallTime(microseconds(*ms * 1000)));
  }
  Result<WallTime> parsed = parse_iso8601(value.raw());
  if (!parsed) return std::move(parsed.error());
  return Value(*parsed);
}

}  // namespace

std::optional<TypeName> type_named(std::string_view name) {
  for (const std::string_view package : {"java.lang.", "java.util.", "java.math."})
    if (name.starts_with(package)) name.remove_prefix(package.size());
  for (const Named& known : kNames)
    if (known.name == name) return known.type;
  return std::nullopt;
}

std::vector<std::string_view> type_names() {
  std::vector<std::string_view> out;
  for (const Named& known : kNames) out.push_back(known.name);
  return out;
}

bool is_instance(const Value& value, TypeName type) {
  switch (type) {
    case TypeName::text: return value.is_text();
    case TypeName::integer: return value.is_int();
    case TypeName::real: return value.as_real() != nullptr;
    case TypeName::decimal: return value.as_decimal() != nullptr;
    case TypeName::number: return value.is_number();
    case TypeName::boolean: return value.is_bool();
    case TypeName::bytes: return value.is_bytes();
    case TypeName::map: return value.is_object();
    case TypeName::list: return value.is_list();
    case TypeName::time: return value.as_time() != nullptr;
    case TypeName::any: return !value.is_null();
  }
  return false;
}

Result<Value> convert(const Value& value, TypeName type) {
  if (value.is_null()) return value;
  switch (type) {
    case TypeName::text: return value.is_text() ? value : Value(value.to_text());
    case TypeName::integer:
      if (const WallTime* time = value.as_time())
        return Value(int64_t{time->time_since_epoch().count() / 1000});
      if (const auto whole = value.to_int()) return Value(*whole);
      return cannot(value, "an integer");
    case TypeName::real:
      if (const auto real = value.to_double()) return Value(*real);
      return cannot(value, "a floating number");
    case TypeName::decimal:
    case TypeName::number: return to_number(value);
    case TypeName::boolean:
      if (const auto boolean = value.to_bool()) return Value(*boolean);
      return cannot(value, "a boolean");
    case TypeName::bytes: return value.is_bytes() ? value : Value(Bytes(value.to_text()));
    case TypeName::map: return to_tree(value, Value::Kind::object, "a map");
    case TypeName::list: return to_tree(value, Value::Kind::list, "a list");
    case TypeName::time: return to_time(value);
    case TypeName::any: return value;
  }
  return value;
}

}  // namespace drom::expr
