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
  uint32_t high = 0;
  uint32_t low = 0;
  const char* const middle = text.data() + slash;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), middle, high, 16);
  const auto second = std::from_chars(middle + 1, end, low, 16);
  if (first.ec != std::errc() || first.ptr != middle) return std::nullopt;
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return Lsn{high} << 32 | low;
}

}  // namespace drom::sql
