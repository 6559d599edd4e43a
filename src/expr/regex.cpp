// A match may visit this many states, some ten milliseconds, before it is given up: a message must
// not hold up its shard. Only this file uses the library, so the limit is its own.
// lint: allow(macro) the library is set up this way
#define BOOST_REGEX_MAX_STATE_COUNT 3000000
#include <boost/regex.hpp>
#include <memory>

#include "expr/regex.hpp"

namespace drom::expr {

struct Regex::Impl {
  boost::regex regex;
};

namespace {

// A pointer that does not tell how far apart two of them are. For random access iterators the
// library ignores the limit above when the pattern is long.
class Cursor {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor() = default;
  explicit Cursor(const char* at) : at_(at) {}
  const char* get() const { return at_; }
  reference operator*() const { return *at_; }
  pointer operator->() const { return at_; }
  Cursor& operator++() {
    ++at_;
    return *this;
  }
  Cursor& operator--() {
    --at_;
    return *this;
  }
  Cursor operator++(int) { return Cursor(at_++); }
  Cursor operator--(int) { return Cursor(at_--); }
  friend bool operator==(const Cursor&, const Cursor&) = default;

 private:
  const char* at_ = nullptr;
};

Cursor begin_of(std::string_view text) { return Cursor(std::to_address(text.begin())); }
Cursor end_of(std::string_view text) { return Cursor(std::to_address(text.end())); }

Error too_large(std::string_view what, size_t limit) {
  return Error(ErrorKind::data, std::string(what) + " of a regular expression is larger than " +
                                    std::to_string(limit) + " bytes");
}

// Runs a match; the library reports explosions and exhausted memory by exceptions.
template <class T, class F>
Result<T> guarded(std::string_view text, F match) {
  if (text.size() > kRegexTextMax) return too_large("the text", kRegexTextMax);
  try {
    return match();
  } catch (const std::exception&) {
    return Error(ErrorKind::data, "the regular expression needs too many steps for this text",
                 "avoid nested repetition such as (a+)+");
  }
}

}  // namespace

Result<Regex> Regex::compile(std::string_view pattern, bool ignore_case) {
  if (pattern.size() > kRegexPatternMax) return too_large("the pattern", kRegexPatternMax);
  boost::regex::flag_type flags = boost::regex::perl;
  if (ignore_case) flags |= boost::regex::icase;
  try {
    return Regex(std::make_shared<const Impl>(
        Impl{boost::regex(pattern.data(), pattern.data() + pattern.size(), flags)}));
  } catch (const std::exception& e) {
    return Error(ErrorKind::data, "'" + std::string(pattern) + "' is no regular expression",
                 e.what());
  }
}

Result<bool> Regex::matches_all(std::string_view text) const {
  return guarded<bool>(text, [&]() -> bool {
    return boost::regex_match(begin_of(text), end_of(text), impl_->regex);
  });
}

Result<bool> Regex::found_in(std::string_view text) const {
  return guarded<bool>(text, [&]() -> bool {
    return boost::regex_search(begin_of(text), end_of(text), impl_->regex);
  });
}

Result<std::string> Regex::replace(std::string_view text, const std::string& with,
                                   bool only_first) const {
  return guarded<std::string>(text, [&]() -> Result<std::string> {
    std::string out;
    const char* rest = text.data();
    using Iterator = boost::regex_iterator<Cursor>;
    for (Iterator at(begin_of(text), end_of(text), impl_->regex), end; at != end; ++at) {
      out.append(rest, (*at)[0].first.get());
      out += at->format(with);
      rest = (*at)[0].second.get();
      if (out.size() > kRegexTextMax) return too_large("the result", kRegexTextMax);
      if (only_first) break;
    }
    out.append(rest, text.data() + text.size());
    return out;
  });
}

Result<std::vector<std::string>> Regex::split(std::string_view text) const {
  using Parts = std::vector<std::string>;
  return guarded<Parts>(text, [&]() -> Parts {
    Parts out;
    boost::regex_token_iterator<Cursor> at(begin_of(text), end_of(text), impl_->regex, -1);
    const decltype(at) end;
    for (; at != end; ++at) out.push_back(at->str());
    // As in Java, trailing empty parts are dropped.
    while (out.size() > 1 && out.back().empty()) out.pop_back();
    if (out.empty()) out.emplace_back(text);
    return out;
  });
}

}  // namespace drom::expr
