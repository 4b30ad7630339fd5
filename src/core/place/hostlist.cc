#include "core/place/hostlist.h"

#include <cstdint>
#include <optional>

namespace dove::core {
namespace {

constexpr std::size_t kDigits_max = 9;

std::optional<std::int64_t> number(std::string_view digits) {
  if (digits.empty() || digits.size() > kDigits_max) return std::nullopt;
  std::int64_t value = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return value;
}

bool range_holds(std::string_view range, std::string_view digits) {
  const auto value = number(digits);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return value.has_value() && range == digits;
  const std::string_view first = range.substr(0, dash);
  const auto low = number(first);
  const auto high = number(range.substr(dash + 1));
  if (!value || !low || !high || *value < *low || *value > *high) return false;
  const bool padded = digits.size() > 1 && digits.front() == '0';
  if (digits.size() < first.size()) return false;
  return digits.size() == first.size() || !padded;
}

bool one_holds(std::string_view pattern, std::string_view name) {
  if (pattern == "*") return true;
  const std::size_t open = pattern.find('[');
  if (open == std::string_view::npos) return pattern == name;
  const std::size_t close = pattern.find(']', open);
  if (close == std::string_view::npos || name.substr(0, open) != pattern.substr(0, open)) {
    return false;
  }
  const std::string_view rest = pattern.substr(close + 1);
  std::size_t end = open;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  const std::string_view digits = name.substr(open, end - open);
  std::string_view ranges = pattern.substr(open + 1, close - open - 1);
  while (!ranges.empty()) {
    const std::size_t comma = ranges.find(',');
    if (range_holds(ranges.substr(0, comma), digits)) return one_holds(rest, name.substr(end));
    if (comma == std::string_view::npos) break;
    ranges.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

bool hostlist_holds(std::string_view pattern, std::string_view name) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= pattern.size(); ++at) {
    if (at == pattern.size() || (pattern[at] == ',' && depth == 0)) {
      if (one_holds(pattern.substr(begin, at - begin), name)) return true;
      begin = at + 1;
    } else if (pattern[at] == '[') {
      ++depth;
    } else if (pattern[at] == ']') {
      --depth;
    }
  }
  return false;
}

bool any_hostlist_holds(const std::vector<std::string>& patterns, std::string_view name) {
  for (const std::string& pattern : patterns) {
    if (hostlist_holds(pattern, name)) return true;
  }
  return false;
}

}  // namespace dove::core
