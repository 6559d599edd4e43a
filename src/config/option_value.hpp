// The value types of options as people write them. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/config/option_spec.hpp"

namespace drom {

std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);
std::optional<bool> parse_boolean(std::string_view text);
// Bytes: "512", "64KB", "10 MB", "1g"; 1 KB is 1024 bytes.
std::optional<int64_t> parse_size(std::string_view text);
// Milliseconds. A negative number is read only where the minimum of the option allows it ("-1: for
// ever").
std::optional<int64_t> parse_milliseconds(std::string_view text, const OptionSpec& spec);
// The value of `values` that is meant: case, `-` and `_` do not count, as in Camel. Null: none.
const std::string* find_enum_value(const OptionSpec& spec, std::string_view text);
// Items between commas, without blanks around them; empty ones are dropped.
std::vector<std::string> split_list(std::string_view text);
std::string_view trimmed(std::string_view text);

// "a whole number", "a duration" ... and how to write it.
std::string_view type_phrase(OptionType type);
std::string_view type_hint(OptionType type);
// A number of the option's kind for a message: "1m30s", "64KB", "5".
std::string show_number(OptionType type, int64_t value);
// 'text', shortened.
std::string quoted(std::string_view text);

}  // namespace drom
