// A time zone: UTC, a fixed offset, or the rules of the system's zone database (TZif files, read
// when the expression is compiled). Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/base/time.hpp"

namespace drom::expr {

class TimeZone {
 public:
  struct Offset {
    int32_t seconds = 0;  // east of Greenwich
    std::string_view name;
    bool daylight = false;
  };

  static std::shared_ptr<const TimeZone> utc();
  // "UTC", "GMT+8", "+02:00", "Europe/Paris". Reads a file for the last kind.
  static Result<std::shared_ptr<const TimeZone>> named(std::string_view name);
  // From the content of a TZif file; for tests and `named`.
  static Result<std::shared_ptr<const TimeZone>> from_tzif(std::string_view content);

  Offset at(WallTime time) const;

 private:
  struct Type {
    int32_t seconds = 0;
    bool daylight = false;
    std::string name;
  };
  // `Mm.w.d/time` of the rule that holds after the last listed change.
  struct RuleDay {
    int month = 0, week = 0, weekday = 0;
    int32_t seconds = 0;
  };

  void read_rule(std::string_view rule);
  static int64_t rule_time(const RuleDay& day, int year);
  size_t first_standard() const;

  std::vector<int64_t> changes_;  // seconds since 1970, rising
  std::vector<uint8_t> kinds_;    // the type from that change on
  std::vector<Type> types_;       // never empty
  bool has_rule_ = false;
  Type standard_, summer_;
  RuleDay summer_begins_, summer_ends_;
};

}  // namespace drom::expr
