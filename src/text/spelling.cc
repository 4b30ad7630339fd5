#include "text/spelling.h"

#include <algorithm>
#include <vector>

namespace dove::text {
namespace {

constexpr std::size_t kWordBytesMax = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = d[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

template <typename Words>
std::string_view nearest_of(std::string_view word, const Words& known) {
  if (word.empty() || word.size() > kWordBytesMax) return "";
  std::size_t most = word.size() < 4 ? 1 : std::max<std::size_t>(2, word.size() / 3);
  std::string_view best;
  for (const std::string_view candidate : known) {
    if (candidate.size() > word.size() + most || word.size() > candidate.size() + most) continue;
    const std::size_t far = distance(word, candidate);
    if (far > most) continue;
    best = candidate;
    if (far == 0) break;
    most = far - 1;
  }
  return best;
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  return nearest_of(word, known);
}

std::string_view nearest(std::string_view word, std::span<const std::string> known) {
  return nearest_of(word, known);
}

}  // namespace dove::text
