#include "text/shown.h"

namespace dove::text {

std::string shown(std::string_view text) {
  constexpr std::size_t kShownMax = 80;
  std::string result(text.substr(0, kShownMax));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() > kShownMax) {
    // Never cut inside a character of several bytes.
    while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0xC0) == 0x80) {
      result.pop_back();
    }
    if (!result.empty() && static_cast<unsigned char>(result.back()) >= 0xC0) result.pop_back();
    result += "...";
  }
  return result;
}

}  // namespace dove::text
