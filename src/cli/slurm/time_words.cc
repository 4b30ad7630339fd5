#include "cli/slurm/time_words.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <ctime>
#include <optional>
#include <string_view>

#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

namespace dove::cli {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::tm local_parts(std::int64_t at_us) {
  const std::time_t at_s = at_us / kSecond_us;
  std::tm parts{};
  localtime_r(&at_s, &parts);
  return parts;
}

std::int64_t instant_of(std::tm parts) {
  parts.tm_isdst = -1;
  return static_cast<std::int64_t>(std::mktime(&parts)) * kSecond_us;
}

// `count` digits, no more and no fewer, at the front of `text`, which loses them.
std::optional<int> take_number(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + count, value);
  if (error != std::errc() || at != text.data() + count || value < 0) return std::nullopt;
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

// "08:30", "08:30:15", with "am" or "pm" behind: all of `text`.
bool read_clock(std::string_view text, std::tm& parts) {
  const std::size_t digits = text.find(':');
  const std::optional<int> hour = digits > 2 ? std::nullopt : take_number(text, digits);
  if (!hour || !take(text, ":")) return false;
  const std::optional<int> minute = take_number(text, 2);
  std::optional<int> second = 0;
  if (take(text, ":")) second = take_number(text, 2);
  if (!minute || !second || *minute > 59 || *second > 59) return false;
  while (take(text, " ")) {
  }
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = *second;
  if (text == "pm" && *hour < 12) parts.tm_hour += 12;
  if (text == "am" && *hour == 12) parts.tm_hour = 0;
  return parts.tm_hour < 24 && (text.empty() || text == "am" || text == "pm");
}

void at_midnight(std::tm& parts) { parts.tm_hour = parts.tm_min = parts.tm_sec = 0; }

// "2026-11-22", and behind "t" or a space a clock.
bool read_iso(std::string_view text, std::tm& parts) {
  const std::optional<int> year = take_number(text, 4);
  if (!year || !take(text, "-")) return false;
  const std::optional<int> month = take_number(text, 2);
  if (!month || !take(text, "-")) return false;
  const std::optional<int> day = take_number(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return false;
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  at_midnight(parts);
  if (text.empty()) return true;
  if (!take(text, "t") && !take(text, " ")) return false;
  return read_clock(text, parts);
}

// "1122", "112226", "11/22", "11.22.26", and behind "-" or "t" a clock.
bool read_american(std::string_view text, std::tm& parts) {
  const std::optional<int> month = take_number(text, 2);
  if (!month) return false;
  const bool apart = take(text, "/") || take(text, ".");
  const std::optional<int> day = take_number(text, 2);
  if (!day || *month < 1 || *month > 12 || *day < 1 || *day > 31) return false;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  at_midnight(parts);
  const bool has_year =
      apart ? take(text, "/") || take(text, ".") : !text.empty() && std::isdigit(text[0]) != 0;
  if (has_year) {
    const std::optional<int> year = take_number(text, 2);
    if (!year) return false;
    parts.tm_year = 100 + *year;
  }
  if (text.empty()) return true;
  if (!take(text, "-") && !take(text, "t")) return false;
  return read_clock(text, parts);
}

// What is behind "now": "", "-2days", "+60".
std::optional<std::int64_t> read_shift_s(std::string_view text) {
  if (text.empty()) return 0;
  const bool back = text[0] == '-';
  if (!back && text[0] != '+') return std::nullopt;
  text.remove_prefix(1);
  std::int64_t count = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || count > 1'000'000'000) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  struct Unit {
    std::string_view name;
    std::int64_t s;
  };
  constexpr std::array<Unit, 5> kUnits = {
      {{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}, {"weeks", 604800}}};
  for (const Unit& unit : kUnits) {
    if (unit.name.starts_with(text)) return (back ? -count : count) * unit.s;
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_word(const std::string& word, std::int64_t now_us) {
  std::tm day = local_parts(now_us);
  at_midnight(day);
  if (word == "today" || word == "midnight") return instant_of(day);
  if (word == "yesterday") --day.tm_mday;
  if (word == "tomorrow") ++day.tm_mday;
  if (word == "noon") day.tm_hour = 12;
  if (word == "yesterday" || word == "tomorrow" || word == "noon") return instant_of(day);
  return std::nullopt;
}

}  // namespace

Result<std::int64_t> parse_slurm_time(const std::string& text, std::int64_t now_us) {
  const std::string word = lower(text);
  if (word.starts_with("now")) {
    if (const auto shift_s = read_shift_s(std::string_view(word).substr(3))) {
      return now_us + *shift_s * kSecond_us;
    }
  }
  if (word.starts_with("uts")) {
    std::int64_t at_s = 0;
    const char* end = word.data() + word.size();
    const auto [at, error] = std::from_chars(word.data() + 3, end, at_s);
    if (error == std::errc() && at == end && at_s >= 0 && at_s < 1'000'000'000'000) {
      return at_s * kSecond_us;
    }
  }
  if (const auto known = read_word(word, now_us)) return *known;
  std::tm parts = local_parts(now_us);
  if (read_clock(word, parts)) return instant_of(parts);
  parts = local_parts(now_us);
  if (read_iso(word, parts)) return instant_of(parts);
  parts = local_parts(now_us);
  if (read_american(word, parts)) return instant_of(parts);
  return usage_error(
      fmt::format("Invalid time specification \"{}\": write YYYY-MM-DD[THH:MM[:SS]], HH:MM, "
                  "MM/DD[/YY], now[-COUNTdays] or today",
                  printable(text)));
}

}  // namespace dove::cli
