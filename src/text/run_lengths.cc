#include "text/run_lengths.h"

#include <fmt/format.h>

#include <charconv>

#include "text/words.h"

namespace dove::text {
namespace {

constexpr std::int32_t kCountsMax = 100'000;

// Takes a number off the front.
bool take_count(std::string_view& text, std::int32_t& value) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  return true;
}

}  // namespace

std::string fold_counts(const std::vector<std::int32_t>& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t end = i;
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    if (!out.empty()) out += ',';
    out += std::to_string(counts[i]);
    if (end - i > 1) out += fmt::format("(x{})", end - i);
    i = end;
  }
  return out;
}

std::vector<std::int32_t> expand_counts(std::string_view text) {
  std::vector<std::int32_t> counts;
  for (std::string_view word : words_of(text, ",")) {
    std::int32_t value = 0;
    std::int32_t times = 1;
    if (!take_count(word, value)) return {};
    if (word.starts_with("(x")) {
      word.remove_prefix(2);
      if (!take_count(word, times) || word != ")") return {};
      word = {};
    }
    if (!word.empty() ||
        std::int64_t{times} + static_cast<std::int64_t>(counts.size()) > kCountsMax)
      return {};
    counts.insert(counts.end(), static_cast<std::size_t>(times), value);
  }
  return counts;
}

}  // namespace dove::text
