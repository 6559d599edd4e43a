#include "expr/suggest.hpp"

#include <algorithm>
#include <numeric>

#include "expr/text_case.hpp"

namespace drom::expr {
namespace {

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggest(std::string_view wrong, const std::vector<std::string_view>& known) {
  constexpr size_t kLongestName = 64;
  if (wrong.empty() || wrong.size() > kLongestName) return {};
  const std::string folded = to_lower(wrong);
  std::string_view best;
  size_t best_distance = std::min(std::max<size_t>(2, wrong.size() / 3) + 1, wrong.size());
  for (const std::string_view name : known) {
    const size_t d = distance(folded, to_lower(name));
    if (d >= best_distance) continue;
    best_distance = d;
    best = name;
  }
  return best.empty() ? std::string() : "did you mean '" + std::string(best) + "'?";
}

}  // namespace drom::expr
