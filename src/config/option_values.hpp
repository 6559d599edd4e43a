// Reads one option's text by its type. Pure.
#pragma once

#include "drom/base/error.hpp"
#include "drom/config/option_spec.hpp"

namespace drom {

// Bytes: "512", "64KB", "10MB", "1GB" (powers of 1024).
Result<int64_t> parse_size(std::string_view text);
// What a text of this type looks like, for error messages: "a duration such as 500ms, 5s or 1m30s".
std::string expected_text(const OptionSpec& spec);
// The spelling of `values` that `text` means, ignoring case; nullptr when there is none.
const std::string* match_enumeration(const OptionSpec& spec, std::string_view text);

}  // namespace drom
