#include <algorithm>

#include "drom/config/location.hpp"

namespace drom {
namespace {

constexpr size_t kListMax = 8;

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '_') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

// Edits between two words: insert, delete, replace, swap of neighbours (optimal string alignment).
size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates) {
  constexpr size_t kWordMax = 64;
  const std::string word = folded(wrong.substr(0, kWordMax));
  // Short words are near to everything.
  const size_t limit = word.size() <= 3 ? 1 : 2;
  const std::string* best = nullptr;
  size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    const size_t d = distance(word, folded(candidate));
    if (d >= best_distance) continue;
    best = &candidate;
    best_distance = d;
  }
  if (best) return "did you mean '" + *best + "'?";
  if (candidates.empty() || candidates.size() > kListMax) return {};
  std::string out = "known: ";
  for (const std::string& candidate : candidates) {
    if (&candidate != &candidates.front()) out += ", ";
    out += candidate;
  }
  return out;
}

}  // namespace drom
