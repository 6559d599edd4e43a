#include "expr/date_pattern.hpp"

#include <array>
#include <cstdlib>

namespace drom::expr {
namespace {

using namespace std::chrono;

constexpr std::string_view kLetters = "GyYMLwWDdFEuaHkKhmsSzZX";
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};

// A moment on the clock and the calendar of one zone.
struct Local {
  year_month_day date;
  sys_days day;
  int hour, minute, second, millisecond;
  TimeZone::Offset offset;
  int year() const { return static_cast<int>(date.year()); }
  unsigned month() const { return static_cast<unsigned>(date.month()); }
  unsigned weekday_from_sunday() const { return weekday(day).c_encoding(); }
};

Local to_local(WallTime time, const TimeZone& zone) {
  Local out{};
  out.offset = zone.at(time);
  const WallTime shifted = time + seconds(out.offset.seconds);
  out.day = floor<days>(shifted);
  out.date = year_month_day(out.day);
  const int64_t ms = duration_cast<milliseconds>(shifted - out.day).count();
  out.millisecond = static_cast<int>(ms % 1000);
  out.second = static_cast<int>(ms / 1000 % 60);
  out.minute = static_cast<int>(ms / 60000 % 60);
  out.hour = static_cast<int>(ms / 3600000);
  return out;
}

void append_number(std::string& out, int64_t value, size_t width) {
  if (value < 0) out += '-';
  const std::string digits = std::to_string(std::abs(value));
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

void append_name(std::string& out, std::string_view name, size_t count) {
  out += count >= 4 ? name : name.substr(0, 3);
}

void append_year(std::string& out, int year, size_t count) {
  if (count == 2) {
    append_number(out, (year % 100 + 100) % 100, 2);
  } else {
    append_number(out, year, count);
  }
}

// Weeks as in the US calendar, SimpleDateFormat's default: they begin on Sunday, and the week of
// January 1st is the first.
int week_of_year(const Local& t, int& week_year) {
  week_year = t.year();
  const auto first_week = [](int year) {
    const sys_days january1 = std::chrono::year(year) / January / 1;
    return january1 - days(weekday(january1).c_encoding());
  };
  if (t.day >= first_week(week_year + 1)) ++week_year;
  return static_cast<int>((t.day - first_week(week_year)).count()) / 7 + 1;
}

void append_offset(std::string& out, int32_t offset, std::string_view separator,
                   bool with_minutes) {
  out += offset < 0 ? '-' : '+';
  const int32_t size = std::abs(offset);
  append_number(out, size / 3600, 2);
  if (!with_minutes) return;
  out += separator;
  append_number(out, size / 60 % 60, 2);
}

void append_zone(std::string& out, char letter, size_t count, const TimeZone::Offset& offset) {
  if (letter == 'z') {
    out += offset.name;
  } else if (letter == 'Z') {
    append_offset(out, offset.seconds, "", true);
  } else if (offset.seconds == 0) {
    out += 'Z';
  } else {
    append_offset(out, offset.seconds, count >= 3 ? ":" : "", count >= 2);
  }
}

void append_day(std::string& out, char letter, size_t count, const Local& t) {
  const unsigned day = static_cast<unsigned>(t.date.day());
  const unsigned sunday_based = t.weekday_from_sunday();
  switch (letter) {
    case 'd': return append_number(out, day, count);
    case 'D':
      return append_number(out, (t.day - sys_days(t.date.year() / January / 1)).count() + 1, count);
    case 'F': return append_number(out, (day - 1) / 7 + 1, count);
    case 'E': return append_name(out, kWeekdays[sunday_based], count);
    case 'u': return append_number(out, sunday_based == 0 ? 7 : sunday_based, count);
    default: {  // W: the week of the month, beginning on Sundays
      const sys_days first = t.date.year() / t.date.month() / 1;
      const unsigned shift = weekday(first).c_encoding();
      return append_number(out, (day - 1 + shift) / 7 + 1, count);
    }
  }
}

void append_field(std::string& out, char letter, size_t count, const Local& t) {
  int week_year = 0;
  switch (letter) {
    case 'G': out += t.year() > 0 ? "AD" : "BC"; return;
    case 'y': return append_year(out, t.year(), count);
    case 'Y': week_of_year(t, week_year); return append_year(out, week_year, count);
    case 'w': return append_number(out, week_of_year(t, week_year), count);
    case 'M':
    case 'L':
      if (count >= 3) return append_name(out, kMonths[t.month() - 1], count);
      return append_number(out, t.month(), count);
    case 'a': out += t.hour < 12 ? "AM" : "PM"; return;
    case 'H': return append_number(out, t.hour, count);
    case 'k': return append_number(out, t.hour == 0 ? 24 : t.hour, count);
    case 'K': return append_number(out, t.hour % 12, count);
    case 'h': return append_number(out, t.hour % 12 == 0 ? 12 : t.hour % 12, count);
    case 'm': return append_number(out, t.minute, count);
    case 's': return append_number(out, t.second, count);
    case 'S': return append_number(out, t.millisecond, count);
    case 'z':
    case 'Z':
    case 'X': return append_zone(out, letter, count, t.offset);
    default: return append_day(out, letter, count, t);
  }
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Result<DatePattern> DatePattern::parse(std::string_view pattern, size_t& bad_offset) {
  DatePattern out;
  const auto literal = [&](char c) {
    if (out.parts_.empty() || out.parts_.back().letter != 0) out.parts_.emplace_back();
    out.parts_.back().literal += c;
  };
  bool quoted = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\'') {
      if (i + 1 < pattern.size() && pattern[i + 1] == '\'') {
        literal('\'');
        ++i;
      } else {
        quoted = !quoted;
        bad_offset = i;
      }
    } else if (quoted || !is_letter(c)) {
      literal(c);
    } else if (kLetters.find(c) == std::string_view::npos) {
      bad_offset = i;
      return Error(ErrorKind::data, "'" + std::string(1, c) + "' is no letter of a date pattern",
                   "use yyyy MM dd HH mm ss SSS XXX; other text stands in single quotes");
    } else if (out.parts_.empty() || out.parts_.back().letter != c) {
      out.parts_.push_back({c, 1, {}});
    } else if (++out.parts_.back().count > 64) {
      bad_offset = i;
      return Error(ErrorKind::data, "the date pattern repeats a letter too often");
    }
  }
  if (quoted) return Error(ErrorKind::data, "the date pattern has no closing quote");
  return out;
}

std::string DatePattern::format(WallTime time, const TimeZone& zone) const {
  const Local local = to_local(time, zone);
  std::string out;
  for (const Part& part : parts_) {
    if (part.letter == 0) {
      out += part.literal;
    } else {
      append_field(out, part.letter, part.count, local);
    }
  }
  return out;
}

}  // namespace drom::expr
