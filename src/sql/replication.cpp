#include "sql/replication.hpp"

#include <charconv>
#include <cstdio>

namespace drom::sql {

std::string lsn_text(Lsn lsn) {
  char text[24];
  std::snprintf(text, sizeof text, "%X/%X", static_cast<unsigned int>(lsn >> 32),
                static_cast<unsigned int>(lsn));
  return text;
}

std::optional<Lsn> parse_lsn(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view halves[] = {text.substr(0, slash), text.substr(slash + 1)};
  Lsn out = 0;
  for (const std::string_view half : halves) {
    uint32_t number = 0;
    const auto read = std::from_chars(half.begin(), half.end(), number, 16);
    if (read.ec != std::errc() || read.ptr != half.end()) return std::nullopt;
    out = out << 32 | number;
  }
  return out;
}

}  // namespace drom::sql
