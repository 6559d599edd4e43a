// Wire headers: an ordered list of named values. Names are case-insensitive, the first spelling is
// kept. Headers are data; nothing in the engine takes a target, operation or credential from them.
// Not synchronised.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drom/base/value.hpp"

namespace drom {

// ASCII case folding, the rule of all wire protocols.
bool iequals(std::string_view a, std::string_view b);

class Headers {
 public:
  using Entry = std::pair<std::string, Value>;

  const Value* find(std::string_view name) const;
  // Text of a header, or "" when it is absent or no text.
  std::string_view text(std::string_view name) const;
  void set(std::string_view name, Value value);
  // Appends without looking for the name: for codecs that have checked.
  void append(std::string name, Value value);
  bool erase(std::string_view name);
  void clear() { entries_.clear(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  void reserve(size_t n) { entries_.reserve(n); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  template <class Predicate>
  void erase_if(Predicate predicate) {
    std::erase_if(entries_, [&](const Entry& e) { return predicate(e); });
  }

 private:
  std::vector<Entry> entries_;
};

// True when a name or a text value holds CR, LF or NUL, which no protocol may carry.
bool has_header_injection(std::string_view text);

// True for engine metadata ("kafka.topic", "CamelFileName", ...) that no producer sends on.
bool is_engine_header(std::string_view name);

// True for what belongs to one hop or one caller (credentials, cookies, Host, Accept ...): it does
// not travel on to a broker or into a row unless somebody names it.
bool is_private_header(std::string_view name);

}  // namespace drom
