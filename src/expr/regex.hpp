// Regular expressions with Java's common syntax (Perl style), compiled once and safe against
// hostile input: pattern and text sizes are bounded, and a match that explodes ends in a data error
// instead of a hanging shard. Immutable after compiling; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"

namespace drom::expr {

inline constexpr size_t kRegexPatternMax = 4 * 1024;
inline constexpr size_t kRegexTextMax = 1024 * 1024;

class Regex {
 public:
  // Errors are ErrorKind::data.
  static Result<Regex> compile(std::string_view pattern, bool ignore_case = false);

  Result<bool> matches_all(std::string_view text) const;  // Java's String.matches
  Result<bool> found_in(std::string_view text) const;
  // `with` may use $1 as in Java. Bounded by kRegexTextMax.
  Result<std::string> replace(std::string_view text, const std::string& with,
                              bool only_first) const;
  Result<std::vector<std::string>> split(std::string_view text) const;

 private:
  struct Impl;
  explicit Regex(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace drom::expr
