// Date patterns with the letters of java.text.SimpleDateFormat ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX"),
// parsed once. Texts are English. Immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"
#include "expr/time_zone.hpp"

namespace drom::expr {

class DatePattern {
 public:
  // On failure `bad_offset` is the place in the pattern.
  static Result<DatePattern> parse(std::string_view pattern, size_t& bad_offset);
  std::string format(WallTime time, const TimeZone& zone) const;

 private:
  struct Part {
    char letter = 0;  // 0: literal text
    size_t count = 0;
    std::string literal;
  };
  std::vector<Part> parts_;
};

}  // namespace drom::expr
