#include "text/utf8.h"

namespace dove::text {

std::size_t utf8_bytes(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char lead = byte_at(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || i + size > text.size()) return i;
    for (std::size_t k = 1; k < size; ++k) {
      if ((byte_at(i + k) & 0xC0) != 0x80) return i;
    }
    const unsigned char second = byte_at(i + 1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool surrogate = lead == 0xED && second > 0x9F;
    if (overlong || surrogate || (lead == 0xF4 && second > 0x8F)) return i;
    i += size;
  }
  return text.size();
}

bool is_utf8(std::string_view text) { return utf8_bytes(text) == text.size(); }

}  // namespace dove::text
