#include "expr/text_case.hpp"

#include <cstdint>

namespace drom::expr {
namespace {

// Reads one character; a malformed byte is returned as itself with size 1 and no case.
struct Character {
  uint32_t code = 0;
  size_t size = 1;
};

Character read_character(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  if ((lead & 0xE0) == 0xC0 && follows(at + 1))
    return {uint32_t(lead & 0x1F) << 6 | uint32_t(byte(at + 1) & 0x3F), 2};
  if ((lead & 0xF0) == 0xE0 && follows(at + 1) && follows(at + 2)) return {0, 3};
  if ((lead & 0xF8) == 0xF0 && follows(at + 1) && follows(at + 2) && follows(at + 3)) return {0, 4};
  return {0, 1};
}

bool between(uint32_t code, uint32_t first, uint32_t last) { return code >= first && code <= last; }

uint32_t lower_of(uint32_t c) {
  if (between(c, 'A', 'Z')) return c + 32;
  if (between(c, 0xC0, 0xDE) && c != 0xD7) return c + 32;
  if (between(c, 0x100, 0x137) && c != 0x130) return c | 1;
  if (between(c, 0x14A, 0x177)) return c | 1;
  if (c == 0x178) return 0xFF;
  if (between(c, 0x139, 0x147) || between(c, 0x179, 0x17D)) return c % 2 == 1 ? c + 1 : c;
  if (between(c, 0x391, 0x3A9) && c != 0x3A2) return c + 32;
  if (between(c, 0x410, 0x42F)) return c + 32;
  if (between(c, 0x400, 0x40F)) return c + 80;
  return c;
}

uint32_t upper_of(uint32_t c) {
  if (between(c, 'a', 'z')) return c - 32;
  if (between(c, 0xE0, 0xFE) && c != 0xF7) return c - 32;
  if (c == 0xFF) return 0x178;
  if (between(c, 0x100, 0x137) && c != 0x131) return c & ~1u;
  if (between(c, 0x14A, 0x177)) return c & ~1u;
  if (between(c, 0x13A, 0x148) || between(c, 0x17A, 0x17E)) return c % 2 == 0 ? c - 1 : c;
  if (between(c, 0x3B1, 0x3C9) && c != 0x3C2) return c - 32;
  if (between(c, 0x430, 0x44F)) return c - 32;
  if (between(c, 0x450, 0x45F)) return c - 80;
  return c;
}

std::string map_characters(std::string_view text, uint32_t (*map)(uint32_t)) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character c = read_character(text, at);
    if (c.code == 0) {
      out.append(text.substr(at, c.size));
    } else if (const uint32_t mapped = map(c.code); mapped < 0x80) {
      out += static_cast<char>(mapped);
    } else {
      out += static_cast<char>(0xC0 | mapped >> 6);
      out += static_cast<char>(0x80 | (mapped & 0x3F));
    }
    at += c.size;
  }
  return out;
}

}  // namespace

std::string to_lower(std::string_view text) { return map_characters(text, lower_of); }
std::string to_upper(std::string_view text) { return map_characters(text, upper_of); }

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += read_character(text, at).size;
  return count;
}

size_t character_offset(std::string_view text, size_t n) {
  size_t at = 0;
  for (; n > 0 && at < text.size(); --n) at += read_character(text, at).size;
  return at;
}

}  // namespace drom::expr
