#include "jobfiles/words.h"

#include <algorithm>

namespace dove::jobfiles {

Error invalid(std::string message, std::string code) {
  return Error{ErrorKind::kInvalid, std::move(code), std::move(message), ""};
}

std::optional<std::int64_t> to_number(std::string_view digits, std::int64_t max) {
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (value > max) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  while (true) {
    std::size_t end = text.find(separator, start);
    if (end == std::string_view::npos) break;
    pieces.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  pieces.push_back(text.substr(start));
  return pieces;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool equal_without_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && lower(a) == lower(b);
}

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

namespace {

// Damerau's distance (neighbours swapped count once), which is how people mistype.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& known) {
  constexpr std::size_t kWordMax = 64;
  if (word.empty() || word.size() > kWordMax) return std::nullopt;
  std::size_t best = word.size() < 4 ? 2 : word.size() < 8 ? 3 : 4;  // one more than allowed
  std::optional<std::string_view> found;
  bool tie = false;
  for (std::string_view candidate : known) {
    std::size_t d = distance(lower(word), candidate);
    if (d < best) {
      best = d;
      found = candidate;
      tie = false;
    } else if (d == best && found) {
      tie = true;
    }
  }
  return tie ? std::nullopt : found;
}

std::optional<std::size_t> first_not_utf8(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    unsigned char lead = byte(i);
    std::size_t more = lead < 0x80 ? 0 : lead < 0xC2 ? 9 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (more == 9 || lead > 0xF4 || i + more >= text.size()) return i;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xC0) != 0x80) return i;
    }
    if (lead == 0xE0 && byte(i + 1) < 0xA0) return i;
    if (lead == 0xED && byte(i + 1) > 0x9F) return i;
    if (lead == 0xF0 && byte(i + 1) < 0x90) return i;
    if (lead == 0xF4 && byte(i + 1) > 0x8F) return i;
    i += more + 1;
  }
  return std::nullopt;
}

std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

}  // namespace dove::jobfiles
