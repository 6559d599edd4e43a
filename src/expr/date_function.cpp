#include "expr/date_function.hpp"

#include "expr/convert.hpp"
#include "expr/references.hpp"
#include "expr/scan.hpp"
#include "expr/suggest.hpp"

namespace drom::expr {
namespace {

using Source = DateCommand::Source;

struct SourceName {
  std::string_view text;
  Source source;
  bool named = false;
};
constexpr SourceName kSources[] = {
    {"now", Source::now},
    {"millis", Source::millis},
    {"exchangeCreated", Source::created},
    {"file", Source::file},
    {"in.header.", Source::header, true},
    {"header.", Source::header, true},
    {"variable.", Source::variable, true},
    {"exchangeProperty.", Source::property, true},
};

// Where the offsets begin: the last run of [+-]digits-and-units at the end of the text.
size_t offsets_begin(std::string_view text) {
  size_t begin = text.size(), at = text.size();
  while (at > 0) {
    const char c = text[at - 1];
    if (c == '+' || c == '-') {
      if (at == text.size() || !is_digit(text[at])) break;
      begin = at - 1;
    } else if (!is_digit(c) && std::string_view("dhms").find(c) == std::string_view::npos) {
      break;
    }
    --at;
  }
  return begin;
}

bool add_offsets(std::string_view text, milliseconds& total) {
  while (!text.empty()) {
    const bool minus = text[0] == '-';
    const size_t end = std::min(text.find_first_of("+-", 1), text.size());
    const Result<milliseconds> part = parse_duration(text.substr(1, end - 1));
    int64_t sum = 0;
    if (!part ||
        __builtin_add_overflow(total.count(), minus ? -part->count() : part->count(), &sum))
      return false;
    total = milliseconds(sum);
    text.remove_prefix(end);
  }
  return true;
}

Result<WallTime> time_in(const Value* value, const std::string& name) {
  if (!value || value->is_null()) return data_error("there is no date in '" + name + "'");
  const Result<Value> time = convert(*value, TypeName::time);
  if (!time)
    return data_error("'" + name + "' holds no date: " + time.error().what, time.error().hint);
  return *time->as_time();
}

Result<WallTime> source_time(const Frame& frame, const DateCommand& command) {
  const Exchange& exchange = frame.exchange;
  switch (command.source) {
    case Source::now:
    case Source::millis: return frame.scope.env.now();
    case Source::created: return exchange.created;
    case Source::header:
      return time_in(find_named(exchange, NamedPlace::header, command.name), command.name);
    case Source::variable:
      return time_in(find_named(exchange, NamedPlace::variable, command.name), command.name);
    case Source::property:
      return time_in(find_named(exchange, NamedPlace::property, command.name), command.name);
    case Source::file: break;
  }
  return time_in(exchange.message.headers.find("CamelFileLastModified"), "CamelFileLastModified");
}

Result<WallTime> moment(const Frame& frame, const DateCommand& command) {
  // Years 0 to 9999: calendars and texts agree on them, and no sum can overflow.
  constexpr WallTime kFirst{std::chrono::sys_days(std::chrono::year(0) / 1 / 2)};
  constexpr WallTime kLast{std::chrono::sys_days(std::chrono::year(9999) / 12 / 30)};
  Result<WallTime> time = source_time(frame, command);
  if (!time) return time;
  const Error outside = data_error("the date is outside of the years 0 to 9999");
  constexpr milliseconds kWidest = std::chrono::duration_cast<milliseconds>(kLast - kFirst);
  if (*time < kFirst || *time > kLast) return outside;
  if (command.shift > kWidest || command.shift < -kWidest) return outside;
  const WallTime out = *time + command.shift;
  if (out < kFirst || out > kLast) return outside;
  return out;
}

class Date final : public Node {
 public:
  explicit Date(DateCommand command) : command_(std::move(command)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    const Result<WallTime> time = moment(frame, command_);
    if (!time) return time.error();
    if (command_.source == Source::millis)
      return Operand(Value(int64_t{time->time_since_epoch().count() / 1000}));
    return Operand(Value(*time));
  }

 private:
  DateCommand command_;
};

class FormattedDate final : public Node {
 public:
  FormattedDate(DateCommand command, DatePattern pattern, std::shared_ptr<const TimeZone> zone)
      : command_(std::move(command)), pattern_(std::move(pattern)), zone_(std::move(zone)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    const Result<WallTime> time = moment(frame, command_);
    if (!time) return time.error();
    return Operand(Value(pattern_.format(*time, *zone_)));
  }

 private:
  DateCommand command_;
  DatePattern pattern_;
  std::shared_ptr<const TimeZone> zone_;
};

}  // namespace

bool DateCommand::parse(std::string_view text, DateCommand& out, std::string& what,
                        std::string& hint) {
  const size_t begin = offsets_begin(text);
  if (!add_offsets(text.substr(begin), out.shift)) {
    what = "'" + std::string(text.substr(begin)) + "' is no offset of a date";
    hint = "write it like +1h30m or -24h";
    return false;
  }
  const std::string_view command = text.substr(0, begin);
  std::vector<std::string_view> known;
  for (const SourceName& source : kSources) {
    known.push_back(source.text);
    const bool fits = source.named ? command.starts_with(source.text) && command != source.text
                                   : command == source.text;
    if (!fits) continue;
    out.source = source.source;
    if (source.named) out.name = command.substr(source.text.size());
    return true;
  }
  what = "'" + std::string(command) + "' is no source of a date";
  hint = suggest(command, known);
  if (hint.empty())
    hint = "use now, exchangeCreated, header.NAME, variable.NAME or exchangeProperty.NAME";
  return false;
}

NodePtr make_date(DateCommand command) { return std::make_unique<Date>(std::move(command)); }

NodePtr make_formatted_date(DateCommand command, DatePattern pattern,
                            std::shared_ptr<const TimeZone> zone) {
  return std::make_unique<FormattedDate>(std::move(command), std::move(pattern), std::move(zone));
}

}  // namespace drom::expr
