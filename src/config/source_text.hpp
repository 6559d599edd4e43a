// The text of a route file, to show its lines and to follow a character of a YAML scalar back to
// its place. Holds views: the text must outlive it. Pure; load time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace drom {

// Both from 1; columns count characters, not bytes.
struct Place {
  uint32_t line = 0;
  uint32_t column = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

class SourceText {
 public:
  explicit SourceText(std::string_view text);

  // Without its line end; empty when there is no such line.
  std::string_view line(uint32_t number) const;
  Place place(size_t byte) const;
  // nullopt: no such place.
  std::optional<size_t> byte(Place place) const;
  // The place of `text[offset]`, when the scalar that starts at `scalar` holds `text`.
  std::optional<Place> inside_scalar(Place scalar, std::string_view text, size_t offset) const;

 private:
  std::string_view text_;
  std::vector<size_t> lines_;  // where each starts
};

}  // namespace drom
