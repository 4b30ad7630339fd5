// The words of a text that separators divide: of the kernel's tables, and of lists. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dove::text {

// What lies between any of the separators; nothing that is empty. Valid as long as what `line`
// shows.
inline std::vector<std::string_view> words_of(std::string_view line,
                                              std::string_view separators = " ") {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = line.find_first_not_of(separators);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find_first_of(separators)));
    line.remove_prefix(words.back().size());
  }
}

// Likewise, as copies: split("a,,b", ",") is a and b.
inline std::vector<std::string> split(std::string_view text, std::string_view separators) {
  const std::vector<std::string_view> words = words_of(text, separators);
  return {words.begin(), words.end()};
}

}  // namespace dove::text
