#include "expr/time_zone.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace drom::expr {
namespace {

constexpr size_t kFileMax = 64 * 1024;
constexpr std::string_view kFolder = "/usr/share/zoneinfo/";

// Big-endian numbers of a TZif block; `ok` turns false at the end of the content.
struct Reader {
  std::string_view rest;
  bool ok = true;

  std::string_view take(size_t n) {
    if (n > rest.size()) {
      ok = false;
      return {};
    }
    const std::string_view out = rest.substr(0, n);
    rest.remove_prefix(n);
    return out;
  }
  int64_t number(size_t bytes) {
    const std::string_view raw = take(bytes);
    if (!ok) return 0;
    // The first byte carries the sign.
    uint64_t out = (static_cast<unsigned char>(raw[0]) & 0x80) ? ~uint64_t{0} : 0;
    for (const char c : raw) out = out << 8 | static_cast<unsigned char>(c);
    return static_cast<int64_t>(out);
  }
};

struct Header {
  size_t ut = 0, standard = 0, leaps = 0, changes = 0, types = 0, characters = 0;
};

bool read_header(Reader& in, Header& out) {
  if (in.take(4) != "TZif") return false;
  in.take(16);  // version and reserved bytes
  for (size_t* field :
       {&out.ut, &out.standard, &out.leaps, &out.changes, &out.types, &out.characters}) {
    const int64_t value = in.number(4);
    if (value < 0 || value > int64_t{kFileMax}) return false;
    *field = static_cast<size_t>(value);
  }
  return in.ok;
}

size_t block_size(const Header& h, size_t time_size) {
  return h.changes * (time_size + 1) + h.types * 6 + h.characters + h.leaps * (time_size + 4) +
         h.standard + h.ut;
}

bool read_int(std::string_view& text, int& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// "[+-]hh[:mm[:ss]]" as seconds.
bool read_clock(std::string_view& text, int32_t& out) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int hours = 0, minutes = 0, seconds = 0;
  if (!read_int(text, hours) || hours < 0 || hours > 167) return false;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    if (!read_int(text, minutes)) return false;
  }
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    if (!read_int(text, seconds)) return false;
  }
  if (minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59) return false;
  out = hours * 3600 + minutes * 60 + seconds;
  if (negative) out = -out;
  return true;
}

// "CET" or "<+03>".
std::string read_name(std::string_view& text) {
  const bool quoted = text.starts_with('<');
  if (quoted) text.remove_prefix(1);
  size_t end = 0;
  while (end < text.size() &&
         (quoted ? text[end] != '>' : (text[end] | 32) >= 'a' && (text[end] | 32) <= 'z'))
    ++end;
  std::string out(text.substr(0, end));
  text.remove_prefix(std::min(text.size(), end + (quoted ? 1 : 0)));
  return out;
}

// "+08:00", "+8", "+0800".
std::optional<int32_t> fixed_offset(std::string_view text) {
  if (!text.starts_with('+') && !text.starts_with('-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  if (text.size() == 4 && text.find(':') == std::string_view::npos) {
    int value = 0;
    if (!read_int(text, value) || !text.empty() || value % 100 > 59) return std::nullopt;
    return sign * (value / 100 * 3600 + value % 100 * 60);
  }
  int32_t seconds = 0;
  if (!read_clock(text, seconds) || !text.empty() || seconds > 18 * 3600) return std::nullopt;
  return sign * seconds;
}

}  // namespace

std::shared_ptr<const TimeZone> TimeZone::utc() {
  auto zone = std::make_shared<TimeZone>();
  zone->types_.push_back({0, false, "UTC"});
  return zone;
}

Result<std::shared_ptr<const TimeZone>> TimeZone::named(std::string_view name) {
  if (name == "UTC" || name == "GMT" || name == "Z") return utc();
  const bool prefixed = name.starts_with("GMT") || name.starts_with("UTC");
  if (const auto offset = fixed_offset(prefixed ? name.substr(3) : name)) {
    auto zone = std::make_shared<TimeZone>();
    zone->types_.push_back({*offset, false, std::string(name)});
    return std::shared_ptr<const TimeZone>(zone);
  }
  const Error unknown(ErrorKind::data, "there is no time zone '" + std::string(name) + "'",
                      "write it like Europe/Paris, UTC or GMT+8");
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
  // No dots: a name cannot leave the folder.
  if (name.empty() || name.size() > 64 || name.front() == '/' ||
      name.find_first_not_of(kAllowed) != std::string_view::npos)
    return unknown;
  std::ifstream file(std::string(kFolder) + std::string(name), std::ios::binary);
  std::string content(kFileMax, '\0');
  if (!file.read(content.data(), kFileMax) && file.gcount() == 0) return unknown;
  content.resize(static_cast<size_t>(file.gcount()));
  Result<std::shared_ptr<const TimeZone>> zone = from_tzif(content);
  return zone ? zone : unknown;
}

Result<std::shared_ptr<const TimeZone>> TimeZone::from_tzif(std::string_view content) {
  const Error broken(ErrorKind::data, "this is no TZif time zone file");
  Reader in{content};
  Header header;
  if (!read_header(in, header)) return broken;
  // The first block has 32-bit times; every file since 2005 repeats it with 64 bits.
  in.take(block_size(header, 4));
  if (!in.ok || !read_header(in, header) || header.types == 0) return broken;
  auto zone = std::make_shared<TimeZone>();
  for (size_t i = 0; i < header.changes; ++i) zone->changes_.push_back(in.number(8));
  for (size_t i = 0; i < header.changes; ++i) {
    const int64_t kind = in.number(1) & 0xFF;
    if (kind >= static_cast<int64_t>(header.types)) return broken;
    zone->kinds_.push_back(static_cast<uint8_t>(kind));
  }
  std::vector<size_t> names;
  for (size_t i = 0; i < header.types; ++i) {
    Type type;
    type.seconds = static_cast<int32_t>(in.number(4));
    type.daylight = in.number(1) != 0;
    names.push_back(static_cast<size_t>(in.number(1) & 0xFF));
    zone->types_.push_back(std::move(type));
  }
  const std::string_view characters = in.take(header.characters);
  in.take(header.leaps * 12 + header.standard + header.ut);
  if (!in.ok) return broken;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] > characters.size()) return broken;
    const std::string_view name = characters.substr(names[i]);
    zone->types_[i].name = name.substr(0, name.find('\0'));
  }
  if (in.rest.starts_with('\n')) {
    in.rest.remove_prefix(1);
    zone->read_rule(in.rest.substr(0, in.rest.find('\n')));
  }
  return std::shared_ptr<const TimeZone>(zone);
}

// POSIX TZ text, for example "CET-1CEST,M3.5.0,M10.5.0/3". Zones without summer time need no rule:
// their last listed change holds for ever. Other rule forms are not in use by any zone today.
void TimeZone::read_rule(std::string_view rule) {
  standard_.name = read_name(rule);
  if (!read_clock(rule, standard_.seconds)) return;
  standard_.seconds = -standard_.seconds;
  if (rule.empty()) return;
  summer_.name = read_name(rule);
  summer_.daylight = true;
  summer_.seconds = standard_.seconds + 3600;
  if (!rule.starts_with(',')) {
    if (!read_clock(rule, summer_.seconds)) return;
    summer_.seconds = -summer_.seconds;
  }
  for (RuleDay* day : {&summer_begins_, &summer_ends_}) {
    if (!rule.starts_with(",M")) return;
    rule.remove_prefix(2);
    if (!read_int(rule, day->month) || !rule.starts_with('.')) return;
    rule.remove_prefix(1);
    if (!read_int(rule, day->week) || !rule.starts_with('.')) return;
    rule.remove_prefix(1);
    if (!read_int(rule, day->weekday)) return;
    day->seconds = 2 * 3600;
    if (rule.starts_with('/')) {
      rule.remove_prefix(1);
      if (!read_clock(rule, day->seconds)) return;
    }
    if (day->month < 1 || day->month > 12 || day->week < 1 || day->week > 5 || day->weekday < 0 ||
        day->weekday > 6)
      return;
  }
  has_rule_ = true;
}

// The rule day's time in seconds since 1970, on the local clock.
int64_t TimeZone::rule_time(const RuleDay& day, int year) {
  using namespace std::chrono;
  const auto month = std::chrono::year(year) / std::chrono::month(unsigned(day.month));
  const weekday wanted(unsigned(day.weekday));
  const sys_days date =
      day.week == 5 ? sys_days(month / wanted[last]) : sys_days(month / wanted[unsigned(day.week)]);
  return int64_t{date.time_since_epoch().count()} * 86400 + day.seconds;
}

TimeZone::Offset TimeZone::at(WallTime time) const {
  const int64_t now = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  const auto offset = [](const Type& type) {
    return Offset{type.seconds, type.name, type.daylight};
  };
  const auto next = std::upper_bound(changes_.begin(), changes_.end(), now);
  if (next == changes_.begin()) return offset(types_[changes_.empty() ? 0 : first_standard()]);
  if (next != changes_.end() || !has_rule_)
    return offset(types_[kinds_[static_cast<size_t>(next - changes_.begin()) - 1]]);
  const auto local = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_seconds(std::chrono::seconds(now + standard_.seconds)));
  const int year = static_cast<int>(std::chrono::year_month_day(local).year());
  const int64_t begin = rule_time(summer_begins_, year) - standard_.seconds;
  const int64_t end = rule_time(summer_ends_, year) - summer_.seconds;
  const bool summer = begin < end ? now >= begin && now < end : now >= begin || now < end;
  return offset(summer ? summer_ : standard_);
}

// Before the first change the first type that is not summer time holds.
size_t TimeZone::first_standard() const {
  for (size_t i = 0; i < types_.size(); ++i)
    if (!types_[i].daylight) return i;
  return 0;
}

}  // namespace drom::expr
