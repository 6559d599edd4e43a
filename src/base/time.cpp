#include "drom/base/time.hpp"

#include <charconv>
#include <cstdio>
#include <limits>

namespace drom {
namespace {

using std::chrono::days;

bool digits(std::string_view text, size_t& at, size_t count, int& out) {
  if (at + count > text.size()) return false;
  out = 0;
  for (size_t i = 0; i < count; ++i) {
    const char c = text[at + i];
    if (c < '0' || c > '9') return false;
    out = out * 10 + (c - '0');
  }
  at += count;
  return true;
}

bool literal(std::string_view text, size_t& at, char c) {
  if (at >= text.size() || text[at] != c) return false;
  ++at;
  return true;
}

Error bad_time(std::string_view text) {
  return Error(ErrorKind::data, "'" + std::string(text) + "' is no ISO 8601 time",
               "write it like 2026-11-30T12:00:00.123Z");
}

struct Unit {
  std::string_view name;
  int64_t ms;
};
// Longest names first, so that "ms" is not read as "m".
constexpr Unit kUnits[] = {
    {"ms", 1}, {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}};

}  // namespace

std::string to_iso8601(WallTime time) {
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto rest = (time - day).count();
  const auto seconds = rest / 1'000'000;
  const int micros = static_cast<int>(rest % 1'000'000);
  char buffer[64];
  int n = std::snprintf(buffer, sizeof buffer, "%04d-%02u-%02uT%02d:%02d:%02d.%03d",
                        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                        static_cast<unsigned>(date.day()), static_cast<int>(seconds / 3600),
                        static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60),
                        micros / 1000);
  std::string out(buffer, static_cast<size_t>(n));
  if (micros % 1000 != 0) {
    std::snprintf(buffer, sizeof buffer, "%03d", micros % 1000);
    out += buffer;
  }
  out += 'Z';
  return out;
}

Result<WallTime> parse_iso8601(std::string_view text) {
  size_t at = 0;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  bool ok = digits(text, at, 4, year) && literal(text, at, '-') && digits(text, at, 2, month) &&
            literal(text, at, '-') && digits(text, at, 2, day);
  if (!ok) return bad_time(text);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(unsigned(month)),
                                         std::chrono::day(unsigned(day))};
  if (!date.ok()) return bad_time(text);
  WallTime time{std::chrono::sys_days(date)};
  if (at == text.size()) return time;
  if (text[at] != 'T' && text[at] != ' ') return bad_time(text);
  ++at;
  ok = digits(text, at, 2, hour) && literal(text, at, ':') && digits(text, at, 2, minute);
  if (ok && literal(text, at, ':')) ok = digits(text, at, 2, second);
  if (!ok || hour > 23 || minute > 59 || second > 60) return bad_time(text);
  int64_t micros = 0;
  if (literal(text, at, '.')) {
    int64_t scale = 100'000;
    const size_t start = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      micros += (text[at++] - '0') * scale;
      scale /= 10;
    }
    if (at == start) return bad_time(text);
  }
  std::chrono::minutes offset{0};
  if (at < text.size() && text[at] == 'Z') {
    ++at;
  } else if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
    const int sign = text[at++] == '-' ? -1 : 1;
    int oh = 0, om = 0;
    if (!digits(text, at, 2, oh)) return bad_time(text);
    literal(text, at, ':');
    if (at < text.size() && !digits(text, at, 2, om)) return bad_time(text);
    if (oh > 18 || om > 59) return bad_time(text);
    offset = std::chrono::minutes(sign * (oh * 60 + om));
  }
  if (at != text.size()) return bad_time(text);
  return time + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + microseconds(micros) - offset;
}

Result<milliseconds> parse_duration(std::string_view text) {
  const Error bad(ErrorKind::data, "'" + std::string(text) + "' is no duration",
                  "write it like 500ms, 5s, 1m30s, 2h, or a number of milliseconds");
  std::string_view rest = text;
  int64_t total = 0;
  if (rest.empty()) return bad;
  const bool bare = rest.find_first_not_of("0123456789") == std::string_view::npos;
  while (!rest.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || number < 0) return bad;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    int64_t factor = 0;
    if (bare) {
      factor = 1;
    } else {
      for (const Unit& unit : kUnits) {
        if (!rest.starts_with(unit.name)) continue;
        factor = unit.ms;
        rest.remove_prefix(unit.name.size());
        break;
      }
    }
    if (factor == 0) return bad;
    int64_t part = 0;
    if (__builtin_mul_overflow(number, factor, &part) ||
        __builtin_add_overflow(total, part, &total))
      return bad;
  }
  return milliseconds(total);
}

std::string to_string(milliseconds duration) {
  int64_t rest = duration.count();
  if (rest < 0) return std::to_string(rest) + "ms";
  if (rest == 0) return "0ms";
  std::string out;
  constexpr Unit kLargestFirst[] = {
      {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
  for (const Unit& unit : kLargestFirst) {
    if (rest < unit.ms) continue;
    out += std::to_string(rest / unit.ms);
    out += unit.name;
    rest %= unit.ms;
  }
  return out;
}

}  // namespace drom
