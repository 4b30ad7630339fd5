#include "passwords/kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dove::passwords {
namespace {

constexpr std::string_view kOnce = "once:";
constexpr std::ptrdiff_t kCharactersLeast = 12;

// In UTF-8: all bytes but those that continue a character.
std::ptrdiff_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

bool same_letters(std::string_view a, std::string_view b) {
  const auto small = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return small(x) == small(y); });
}

Error refused(std::string code, std::string message) {
  return {ErrorKind::kInvalid, std::move(code), std::move(message), "password"};
}

}  // namespace

std::string text_of(const Kept& kept) {
  if (kept.once_until.us == 0) return kept.hash;
  return fmt::format("{}{}:{}", kOnce, kept.once_until.us / 1'000'000, kept.hash);
}

Kept kept_of(const std::string& text) {
  if (!text.starts_with(kOnce)) return {text, {}};
  std::int64_t until_s = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + kOnce.size(), end, until_s);
  const bool is_plain = read.ec == std::errc() && read.ptr != end && *read.ptr == ':' &&
                        until_s > 0 && until_s < kNever.us / 1'000'000;
  if (!is_plain) return {text, {}};
  return {std::string(read.ptr + 1, end), Instant{} + seconds(until_s)};
}

Result<void> check_new(std::string_view user, std::string_view former, std::string_view password) {
  if (same_letters(password, user)) {
    return refused("password_is_name",
                   "the password is the user's name, which everybody knows: choose another one");
  }
  if (characters(password) < kCharactersLeast) {
    return refused("password_too_short",
                   fmt::format("the password has {} characters, and at least {} are needed: a few "
                               "words that do not belong together are long and easily kept in mind",
                               characters(password), kCharactersLeast));
  }
  if (password != former) return {};
  return refused("password_same", "this is the former password: choose another one");
}

}  // namespace dove::passwords
