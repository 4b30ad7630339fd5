// Reading the few texts that dove-shim meets: decimal numbers, and marks within a line.
#pragma once

#include <cstdint>
#include <cstring>

namespace dove::shim {

// The number at `at`, after spaces; moves `at` behind it. 0 where there is none.
inline std::int64_t take_number(const char*& at) {
  while (*at == ' ') ++at;
  const bool negative = *at == '-';
  if (negative) ++at;
  std::uint64_t value = 0;
  for (; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<unsigned>(*at - '0');
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

inline std::int64_t number_of(const char* text) { return take_number(text); }

// The end of `text` up to `mark`: where `mark` is, or where the text ends.
inline const char* end_at(const char* text, char mark) {
  while (*text != '\0' && *text != mark) ++text;
  return text;
}

// The last `mark` among `count` bytes; nullptr if there is none.
inline const char* last_in(const char* bytes, std::size_t count, char mark) {
  while (count > 0) {
    if (bytes[--count] == mark) return bytes + count;
  }
  return nullptr;
}

// Behind the first `word` in `text`; nullptr if it is not there.
inline const char* behind(const char* text, const char* word) {
  const std::size_t length = std::strlen(word);
  for (; *text != '\0'; ++text) {
    if (std::strncmp(text, word, length) == 0) return text + length;
  }
  return nullptr;
}

}  // namespace dove::shim
