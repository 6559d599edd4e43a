// `date:now`, `date:header.due+1h30m:yyyy-MM-dd` and `date-with-timezone:...`. Without a time zone
// in the expression it is UTC, so that a route gives the same result on every machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "expr/date_pattern.hpp"
#include "expr/node.hpp"

namespace drom::expr {

// Where the moment comes from, with offsets taken off: "header.due" and 90 minutes.
struct DateCommand {
  enum class Source : uint8_t { now, millis, created, header, variable, property, file };
  Source source = Source::now;
  std::string name;
  milliseconds shift{0};

  // False with `what` and `hint` when the text is no command.
  static bool parse(std::string_view text, DateCommand& out, std::string& what, std::string& hint);
};

// Gives a time.
NodePtr make_date(DateCommand command);
// Gives text.
NodePtr make_formatted_date(DateCommand command, DatePattern pattern,
                            std::shared_ptr<const TimeZone> zone);

}  // namespace drom::expr
