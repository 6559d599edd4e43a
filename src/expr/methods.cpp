#include "expr/methods.hpp"

#include <algorithm>
#include <optional>

#include "expr/compare.hpp"
#include "expr/convert.hpp"
#include "expr/regex.hpp"
#include "expr/text_case.hpp"
#include "expr/text_tools.hpp"

namespace drom::expr {
namespace {

using Arguments = std::span<const Value>;

Error no_method(const Value& self, std::string_view name) {
  return data_error("a " + std::string(to_string(self.kind())) + " has no method " +
                    std::string(name) + "()");
}

Result<Value> length(const Value& self, Arguments) {
  if (const List* list = self.as_list()) return Value(static_cast<int64_t>(list->size()));
  if (const Object* object = self.as_object()) return Value(static_cast<int64_t>(object->size()));
  if (self.is_bytes()) return Value(static_cast<int64_t>(self.raw().size()));
  return Value(static_cast<int64_t>(count_characters(self.to_text())));
}

Result<Value> upper(const Value& self, Arguments) { return Value(to_upper(self.to_text())); }
Result<Value> lower(const Value& self, Arguments) { return Value(to_lower(self.to_text())); }
Result<Value> trim(const Value& self, Arguments) {
  return Value(std::string(trimmed(self.to_text())));
}
Result<Value> to_string_method(const Value& self, Arguments) { return Value(self.to_text()); }
Result<Value> to_bytes(const Value& self, Arguments) { return convert(self, TypeName::bytes); }
Result<Value> to_integer(const Value& self, Arguments) { return convert(self, TypeName::integer); }
Result<Value> to_real(const Value& self, Arguments) { return convert(self, TypeName::real); }

// The length alone is asked for twice below; a substring must lie inside the text, as in Java.
Result<Value> substring(const Value& self, Arguments arguments) {
  const std::string text = self.to_text();
  const auto size = static_cast<int64_t>(count_characters(text));
  const auto from = arguments[0].to_int();
  const auto to = arguments.size() > 1 ? arguments[1].to_int() : std::optional(size);
  if (!from || !to || *from < 0 || *to > size || *from > *to)
    return data_error("substring is outside of a text of " + std::to_string(size) + " characters");
  const size_t begin = character_offset(text, static_cast<size_t>(*from));
  const size_t end = character_offset(text, static_cast<size_t>(*to));
  return Value(text.substr(begin, end - begin));
}

Result<Value> replace(const Value& self, Arguments arguments) {
  return replace_all(self.to_text(), arguments[0].to_text(), arguments[1].to_text());
}

Result<Value> replace_regex(const Value& self, Arguments arguments, bool only_first) {
  const Result<Regex> regex = Regex::compile(arguments[0].to_text());
  if (!regex) return regex.error();
  Result<std::string> out = regex->replace(self.to_text(), arguments[1].to_text(), only_first);
  if (!out) return std::move(out.error());
  return Value(std::move(*out));
}
Result<Value> replace_all_regex(const Value& self, Arguments arguments) {
  return replace_regex(self, arguments, false);
}
Result<Value> replace_first_regex(const Value& self, Arguments arguments) {
  return replace_regex(self, arguments, true);
}

Result<Value> matches(const Value& self, Arguments arguments) {
  const Result<Regex> regex = Regex::compile(arguments[0].to_text());
  if (!regex) return regex.error();
  const Result<bool> answer = regex->matches_all(self.to_text());
  if (!answer) return answer.error();
  return Value(*answer);
}

Result<Value> split(const Value& self, Arguments arguments) {
  const Result<Regex> regex = Regex::compile(arguments[0].to_text());
  if (!regex) return regex.error();
  Result<std::vector<std::string>> parts = regex->split(self.to_text());
  if (!parts) return std::move(parts.error());
  return Value(List(parts->begin(), parts->end()));
}

Result<Value> contains(const Value& self, Arguments arguments) {
  return Value(contains_value(self, arguments[0]));
}
Result<Value> starts_with(const Value& self, Arguments arguments) {
  return Value(self.to_text().starts_with(arguments[0].to_text()));
}
Result<Value> ends_with(const Value& self, Arguments arguments) {
  return Value(self.to_text().ends_with(arguments[0].to_text()));
}

Result<Value> position(const Value& self, const Value& part, bool from_end) {
  if (const List* list = self.as_list()) {
    int64_t found = -1;
    for (size_t i = 0; i < list->size(); ++i) {
      if (!loosely_equal((*list)[i], part)) continue;
      found = static_cast<int64_t>(i);
      if (!from_end) break;
    }
    return Value(found);
  }
  const std::string text = self.to_text(), piece = part.to_text();
  const size_t at = from_end ? text.rfind(piece) : text.find(piece);
  if (at == std::string::npos) return Value(int64_t{-1});
  return Value(static_cast<int64_t>(count_characters(std::string_view(text).substr(0, at))));
}
Result<Value> index_of(const Value& self, Arguments a) { return position(self, a[0], false); }
Result<Value> last_index_of(const Value& self, Arguments a) { return position(self, a[0], true); }

Result<Value> char_at(const Value& self, Arguments arguments) {
  const std::string text = self.to_text();
  const auto index = arguments[0].to_int();
  const size_t begin =
      index && *index >= 0 ? character_offset(text, static_cast<size_t>(*index)) : text.size();
  if (begin == text.size()) return data_error("charAt is outside of the text");
  return Value(text.substr(begin, character_offset(std::string_view(text).substr(begin), 1)));
}

Result<Value> is_empty(const Value& self, Arguments) {
  if (const List* list = self.as_list()) return Value(list->empty());
  if (const Object* object = self.as_object()) return Value(object->empty());
  return Value(self.to_text().empty());
}
Result<Value> is_blank(const Value& self, Arguments) {
  return Value(trimmed(self.to_text()).empty());
}

Result<Value> equals(const Value& self, Arguments arguments) {
  if (self.is_text() || self.is_bytes()) return Value(self.raw() == arguments[0].to_text());
  return Value(self == arguments[0]);
}
Result<Value> equals_ignore_case(const Value& self, Arguments arguments) {
  return Value(to_lower(self.to_text()) == to_lower(arguments[0].to_text()));
}
// The sign is Java's; the size of the difference is always 1.
Result<Value> compare_to(const Value& self, Arguments arguments) {
  if (self.is_number()) {
    if (const auto order = compare_values(self, arguments[0])) return Value(int64_t{*order});
    return data_error("compareTo() needs two values that have an order");
  }
  const int order = self.to_text().compare(arguments[0].to_text());
  return Value(int64_t{order < 0 ? -1 : order > 0 ? 1 : 0});
}
Result<Value> concat(const Value& self, Arguments arguments) {
  return Value(self.to_text() + arguments[0].to_text());
}
Result<Value> repeat(const Value& self, Arguments arguments) {
  return repeated(self.to_text(), arguments[0].to_int().value_or(-1));
}

Result<Value> get(const Value& self, Arguments arguments) {
  if (const Object* object = self.as_object()) {
    const Value* found = object->find(arguments[0].to_text());
    if (found) return *found;
    return arguments.size() > 1 ? arguments[1] : Value();
  }
  const List* list = self.as_list();
  if (!list) return no_method(self, "get");
  const auto index = arguments[0].to_int();
  if (!index || *index < 0 || *index >= static_cast<int64_t>(list->size())) return Value();
  return (*list)[static_cast<size_t>(*index)];
}

Result<Value> first(const Value& self, Arguments) {
  const List* list = self.as_list();
  if (!list) return no_method(self, "getFirst");
  return list->empty() ? Value() : list->front();
}
Result<Value> last(const Value& self, Arguments) {
  const List* list = self.as_list();
  if (!list) return no_method(self, "getLast");
  return list->empty() ? Value() : list->back();
}

Result<Value> contains_key(const Value& self, Arguments arguments) {
  const Object* object = self.as_object();
  if (!object) return no_method(self, "containsKey");
  return Value(object->find(arguments[0].to_text()) != nullptr);
}
Result<Value> keys(const Value& self, Arguments) {
  const Object* object = self.as_object();
  if (!object) return no_method(self, "keySet");
  List out;
  for (const Object::Entry& entry : *object) out.emplace_back(entry.first);
  return Value(std::move(out));
}
Result<Value> values(const Value& self, Arguments) {
  const Object* object = self.as_object();
  if (!object) return no_method(self, "values");
  List out;
  for (const Object::Entry& entry : *object) out.push_back(entry.second);
  return Value(std::move(out));
}

constexpr Method kMethods[] = {
    {"length", 0, 0, length},
    {"size", 0, 0, length},
    {"toUpperCase", 0, 0, upper},
    {"toLowerCase", 0, 0, lower},
    {"trim", 0, 0, trim},
    {"strip", 0, 0, trim},
    {"toString", 0, 0, to_string_method},
    {"getBytes", 0, 1, to_bytes},
    {"toBytes", 0, 0, to_bytes},
    {"intValue", 0, 0, to_integer},
    {"longValue", 0, 0, to_integer},
    {"doubleValue", 0, 0, to_real},
    {"substring", 1, 2, substring},
    {"replace", 2, 2, replace},
    {"replaceAll", 2, 2, replace_all_regex},
    {"replaceFirst", 2, 2, replace_first_regex},
    {"matches", 1, 1, matches},
    {"split", 1, 1, split},
    {"contains", 1, 1, contains},
    {"startsWith", 1, 1, starts_with},
    {"endsWith", 1, 1, ends_with},
    {"indexOf", 1, 1, index_of},
    {"lastIndexOf", 1, 1, last_index_of},
    {"charAt", 1, 1, char_at},
    {"isEmpty", 0, 0, is_empty},
    {"isBlank", 0, 0, is_blank},
    {"equals", 1, 1, equals},
    {"equalsIgnoreCase", 1, 1, equals_ignore_case},
    {"compareTo", 1, 1, compare_to},
    {"concat", 1, 1, concat},
    {"repeat", 1, 1, repeat},
    {"get", 1, 1, get},
    {"getOrDefault", 2, 2, get},
    {"getFirst", 0, 0, first},
    {"getLast", 0, 0, last},
    {"containsKey", 1, 1, contains_key},
    {"keySet", 0, 0, keys},
    {"values", 0, 0, values},
};

}  // namespace

const Method* method_named(std::string_view name) {
  for (const Method& method : kMethods)
    if (method.name == name) return &method;
  return nullptr;
}

std::vector<std::string_view> method_names() {
  std::vector<std::string_view> out;
  for (const Method& method : kMethods) out.push_back(method.name);
  return out;
}

}  // namespace drom::expr
