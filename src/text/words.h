// The words of a line that spaces separate, as the kernel writes its tables. Pure.
#pragma once

#include <string_view>
#include <vector>

namespace dove::text {

// Valid as long as what `line` shows.
inline std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(words.back().size());
  }
}

}  // namespace dove::text
