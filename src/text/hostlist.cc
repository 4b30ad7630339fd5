#include "text/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace dove::text {
namespace {

constexpr std::size_t kDigits_max = 9;
constexpr std::size_t kNameBytesMax = 253;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::int64_t> number(std::string_view digits) {
  if (digits.empty() || digits.size() > kDigits_max) return std::nullopt;
  std::int64_t value = 0;
  for (char digit : digits) {
    if (!is_digit(digit)) return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return value;
}

bool range_holds(std::string_view range, std::string_view digits) {
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return range == digits && number(digits).has_value();
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = range.substr(dash + 1);
  // Numbers of one width compare as text does, which tells most names that are not in a range apart
  // without reading a number: a cluster's nodes are compared with its reservations all the time.
  const bool one_width = first.size() == digits.size() && last.size() == digits.size();
  if (one_width && (digits < first || digits > last)) return false;
  const auto value = number(digits);
  const auto low = number(first);
  const auto high = number(last);
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
  while (end < name.size() && is_digit(name[end])) ++end;
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

// "01-03,7" -> "01" "02" "03" "7".
std::optional<std::vector<std::string>> expand_ranges(std::string_view ranges, std::size_t most) {
  std::vector<std::string> numbers;
  for (std::size_t at = 0; at <= ranges.size();) {
    const std::size_t comma = std::min(ranges.find(',', at), ranges.size());
    const std::string_view range = ranges.substr(at, comma - at);
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const auto first = number(low);
    const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (std::int64_t i = *first; i <= *last; ++i) {
      if (numbers.size() >= most) return std::nullopt;
      numbers.push_back(fmt::format("{:0{}}", i, low.size()));
    }
    at = comma + 1;
  }
  return numbers;
}

// The number that a name ends with, as it is written; "" : none.
std::string_view digits_of(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1]) && name.size() - at < kDigits_max) --at;
  return name.substr(at);
}

std::string_view prefix_of(std::string_view name) {
  return name.substr(0, name.size() - digits_of(name).size());
}

// Whether both can stand in one pair of brackets.
bool are_alike(std::string_view a, std::string_view b) {
  return prefix_of(a) == prefix_of(b) && digits_of(a).size() == digits_of(b).size();
}

}  // namespace

bool hostlist_holds(std::string_view pattern, std::string_view name) {
  // Most patterns are one name, and are compared with all nodes of a cluster.
  if (pattern.find('[') == std::string_view::npos && pattern.find(',') == std::string_view::npos) {
    return pattern == name || pattern == "*";
  }
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
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& one) { return hostlist_holds(one, name); });
}

std::optional<std::vector<std::string_view>> split_hostlist(std::string_view list) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] == '[' || list[at] == ']') {
      if (inside == (list[at] == '[')) return std::nullopt;
      inside = !inside;
    } else if (!inside && list[at] == ',') {
      words.push_back(list.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  if (inside) return std::nullopt;
  words.push_back(list.substr(begin));
  return words;
}

std::optional<std::vector<std::string>> expand_host(std::string_view word, std::size_t most) {
  std::vector<std::string> names{""};
  while (!word.empty()) {
    const std::size_t open = word.find('[');
    for (std::string& name : names) name += word.substr(0, open);
    if (names[0].size() > kNameBytesMax) return std::nullopt;
    if (open == std::string_view::npos) break;
    const std::size_t close = word.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    const auto numbers = expand_ranges(word.substr(open + 1, close - open - 1), most);
    if (!numbers || names.size() * numbers->size() > most) return std::nullopt;
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& number : *numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
    word = word.substr(close + 1);
  }
  return names;
}

std::vector<std::string> expand_hostlist(std::string_view list) {
  const auto words = split_hostlist(list);
  if (!words) return {std::string(list)};
  std::vector<std::string> all;
  for (const std::string_view word : *words) {
    if (word.empty()) continue;
    const auto names = expand_host(word, kHostlistNamesMax - all.size());
    if (names) {
      all.insert(all.end(), names->begin(), names->end());
    } else if (all.size() < kHostlistNamesMax) {
      all.emplace_back(word);
    }
  }
  return all;
}

std::string fold_hostlist(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    std::string ranges;
    std::size_t end = i;
    while (end < names.size() && !digits_of(names[i]).empty() && are_alike(names[i], names[end])) {
      std::size_t last = end;
      while (last + 1 < names.size() && are_alike(names[end], names[last + 1]) &&
             *number(digits_of(names[last + 1])) == *number(digits_of(names[last])) + 1) {
        ++last;
      }
      if (!ranges.empty()) ranges += ',';
      ranges += digits_of(names[end]);
      if (last != end) ranges += fmt::format("-{}", digits_of(names[last]));
      end = last + 1;
    }
    if (!out.empty()) out += ',';
    out += end > i + 1 ? fmt::format("{}[{}]", prefix_of(names[i]), ranges) : names[i];
    i = std::max(end, i + 1);
  }
  return out;
}

std::string fold_sorted_hostlist(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    if (prefix_of(a) != prefix_of(b) || digits_of(a).size() == digits_of(b).size()) return a < b;
    return digits_of(a).size() < digits_of(b).size();
  });
  return fold_hostlist(names);
}

}  // namespace dove::text
