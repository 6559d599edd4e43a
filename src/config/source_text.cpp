#include "config/source_text.hpp"

#include <algorithm>

#include "config/scalar_text.hpp"
#include "config/utf8.hpp"

namespace drom {

SourceText::SourceText(std::string_view text) : text_(text) {
  lines_.push_back(0);
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    lines_.push_back(at + 1);
}

std::string_view SourceText::line(uint32_t number) const {
  if (number == 0 || number > lines_.size()) return {};
  const size_t begin = lines_[number - 1];
  std::string_view out = text_.substr(begin, text_.find('\n', begin) - begin);
  if (out.ends_with('\r')) out.remove_suffix(1);
  return out;
}

Place SourceText::place(size_t byte) const {
  byte = std::min(byte, text_.size());
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), byte);
  const size_t index = static_cast<size_t>(after - lines_.begin()) - 1;
  const size_t characters = count_characters(text_.substr(lines_[index], byte - lines_[index]));
  return {static_cast<uint32_t>(index + 1), static_cast<uint32_t>(characters + 1)};
}

std::optional<size_t> SourceText::byte(Place place) const {
  if (place.line == 0 || place.line > lines_.size() || place.column == 0) return std::nullopt;
  size_t at = lines_[place.line - 1];
  const size_t end = at + line(place.line).size();
  for (uint32_t i = 1; i < place.column; ++i) {
    if (at >= end) return std::nullopt;
    ++at;
    while (at < end && is_utf8_tail(text_[at])) ++at;
  }
  return at;
}

std::optional<Place> SourceText::inside_scalar(Place scalar, std::string_view text,
                                               size_t offset) const {
  const std::optional<size_t> start = byte(scalar);
  if (!start || text.empty()) return std::nullopt;
  const ScalarText read = read_scalar_text(text_, *start);
  const size_t found = read.value.find(text);
  if (found == std::string::npos) return std::nullopt;
  const size_t index = found + std::min(offset, text.size());
  // Behind the last letter is where something is missing.
  if (offset >= text.size()) return place(read.bytes[index - 1] + 1);
  return place(read.bytes[index]);
}

}  // namespace drom
