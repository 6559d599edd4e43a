// Upper and lower case of UTF-8 text for the Latin, Greek and Cyrillic letters that have a simple
// counterpart; other characters stay. No locale, hence the same result on every machine.
#pragma once

#include <string>
#include <string_view>

namespace drom::expr {

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
// Number of characters (code points); a stray byte counts as one.
size_t count_characters(std::string_view text);
// Byte offset of the n-th character, or the size of the text.
size_t character_offset(std::string_view text, size_t n);

}  // namespace drom::expr
