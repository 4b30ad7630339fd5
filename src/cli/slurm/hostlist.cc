// Lists of node names as Slurm writes them: "gpu-[001-004,007]".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "cli/client/views.h"

namespace dove::cli {
namespace {

constexpr std::size_t kNamesMax = 100'000;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

struct Numbered {
  std::string prefix;
  std::string digits;  // "" : the name ends without a number
};

Numbered split(const std::string& name) {
  std::size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1]) && name.size() - at < 9) --at;
  return {name.substr(0, at), name.substr(at)};
}

void expand_range(const std::string& prefix, const std::string& range, const std::string& suffix,
                  std::vector<std::string>& names) {
  const std::size_t dash = range.find('-');
  const std::string first = range.substr(0, dash);
  const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
  std::int64_t from = 0;
  std::int64_t to = 0;
  const auto read = [](const std::string& text, std::int64_t& value) {
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && at == text.data() + text.size();
  };
  if (!read(first, from) || !read(last, to)) {
    names.push_back(prefix + "[" + range + "]" + suffix);
    return;
  }
  for (std::int64_t i = from; i <= to && names.size() < kNamesMax; ++i) {
    names.push_back(fmt::format("{}{:0{}}{}", prefix, i, static_cast<int>(first.size()), suffix));
  }
}

void expand_one(const std::string& word, std::vector<std::string>& names) {
  const std::size_t open = word.find('[');
  const std::size_t close = word.find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) {
    if (!word.empty() && names.size() < kNamesMax) names.push_back(word);
    return;
  }
  const std::string inside = word.substr(open + 1, close - open - 1);
  for (std::size_t at = 0; at <= inside.size();) {
    const std::size_t comma = std::min(inside.find(',', at), inside.size());
    expand_range(word.substr(0, open), inside.substr(at, comma - at), word.substr(close + 1),
                 names);
    at = comma + 1;
  }
}

}  // namespace

std::string hostlist(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    const Numbered first = split(names[i]);
    std::string ranges;
    std::size_t end = i;
    while (end < names.size() && !first.digits.empty()) {
      const Numbered from = split(names[end]);
      if (from.prefix != first.prefix || from.digits.size() != first.digits.size()) break;
      std::size_t last = end;
      int number = std::stoi(from.digits);
      while (last + 1 < names.size()) {
        const Numbered next = split(names[last + 1]);
        if (next.prefix != first.prefix || next.digits.size() != first.digits.size() ||
            std::stoi(next.digits) != number + 1) {
          break;
        }
        ++number;
        ++last;
      }
      if (!ranges.empty()) ranges += ',';
      ranges += from.digits + (last == end ? "" : "-" + split(names[last]).digits);
      end = last + 1;
    }
    if (!out.empty()) out += ',';
    const bool many = end > i + 1;
    out += many ? first.prefix + "[" + ranges + "]" : names[i];
    i = std::max(end, i + 1);
  }
  return out;
}

std::string sorted_hostlist(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    const Numbered left = split(a);
    const Numbered right = split(b);
    if (left.prefix != right.prefix || left.digits.size() == right.digits.size()) return a < b;
    return left.digits.size() < right.digits.size();
  });
  return hostlist(names);
}

std::vector<std::string> expand_hostlist(const std::string& text) {
  std::vector<std::string> names;
  std::string word;
  int depth = 0;
  for (const char c : text + ",") {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth <= 0) {
      expand_one(word, names);
      word.clear();
    } else {
      word += c;
    }
  }
  return names;
}

}  // namespace dove::cli
