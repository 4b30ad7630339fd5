#include "text/output_pattern.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace dove::text {

std::string fill_pattern(const std::string& pattern,
                         const std::function<std::string(char letter)>& meaning) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::size_t end = i + 1;
    std::size_t width = 0;
    while (end < pattern.size() && std::isdigit(static_cast<unsigned char>(pattern[end])) != 0) {
      width = std::min<std::size_t>(width * 10 + static_cast<std::size_t>(pattern[end] - '0'), 10);
      ++end;
    }
    const bool has_letter = end < pattern.size();
    const std::string text = !has_letter ? "" : pattern[end] == '%' ? "%" : meaning(pattern[end]);
    if (text.empty()) {
      out += '%';
      continue;
    }
    if (text.size() < width) out.append(width - text.size(), '0');
    out += text;
    i = end;
  }
  return out;
}

std::string as_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) pattern += c == '%' ? std::string("%%") : std::string(1, c);
  return pattern;
}

std::string as_file_name(std::string text) {
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

}  // namespace dove::text
