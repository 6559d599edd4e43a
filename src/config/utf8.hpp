// The little of UTF-8 that reading files needs. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace drom {

// The first byte that is no valid UTF-8 (overlong forms and surrogates count as invalid); npos:
// fine.
size_t find_invalid_utf8(std::string_view text);
void append_utf8(std::string& out, uint32_t code);
// True for the bytes that continue a character.
constexpr bool is_utf8_tail(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }
size_t count_characters(std::string_view text);

}  // namespace drom
