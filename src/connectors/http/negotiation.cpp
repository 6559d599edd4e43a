#include "connectors/http/negotiation.hpp"

#include <algorithm>

#include "drom/model/headers.hpp"

namespace drom::http {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view cut(std::string_view& list, char mark) {
  const size_t at = list.find(mark);
  const std::string_view part = list.substr(0, at);
  list = at == std::string_view::npos ? std::string_view() : list.substr(at + 1);
  return trim(part);
}

// In thousandths. What is no quality does not spoil the range.
int quality(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = cut(parameters, ';');
    const std::string_view name = cut(value, '=');
    value = trim(value);
    if (!iequals(name, "q") || value.empty()) continue;
    if (value.front() != '0') return 1000;
    int out = 0;
    int weight = 100;
    for (size_t i = 2; i < value.size() && value[1] == '.' && weight > 0; ++i, weight /= 10) {
      if (value[i] < '0' || value[i] > '9') break;
      out += (value[i] - '0') * weight;
    }
    return out;
  }
  return 1000;
}

// How closely a range names a type: 3 exactly, 2 "text/*", 1 everything, 0 not at all.
int closeness(std::string_view range, std::string_view type) {
  if (range == "*/*" || range == "*") return 1;
  if (iequals(range, type)) return 3;
  if (!range.ends_with("/*")) return 0;
  const std::string_view family = range.substr(0, range.size() - 1);
  return iequals(type.substr(0, family.size()), family) ? 2 : 0;
}

int quality_of(std::string_view accept, std::string_view type) {
  int best = 0;
  int out = 0;
  while (!accept.empty()) {
    std::string_view parameters = cut(accept, ',');
    const std::string_view range = cut(parameters, ';');
    // A route may produce a family ("text/*"), which each of its members names.
    const int close = std::max(closeness(range, type), closeness(type, range));
    if (close <= best) continue;
    best = close;
    out = quality(parameters);
  }
  return out;
}

}  // namespace

std::optional<std::string_view> negotiate(std::string_view accept, std::string_view types) {
  if (trim(types).empty()) return std::string_view();
  if (trim(accept).empty()) return cut(types, ',');
  std::optional<std::string_view> out;
  int best = 0;
  while (!types.empty()) {
    const std::string_view type = cut(types, ',');
    std::string_view name = type;
    const int found = quality_of(accept, cut(name, ';'));
    if (found <= best) continue;
    best = found;
    out = type;
  }
  return out;
}

}  // namespace drom::http
