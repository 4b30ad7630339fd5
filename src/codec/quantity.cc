#include "codec/quantity.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "model/huge_pages.h"
#include "model/resource_names.h"

namespace dove::codec {
namespace {

constexpr std::int64_t kSpanMax_us = std::int64_t{100} * 366 * 86400 * 1'000'000;

Error bad(std::string_view text, std::string_view forms) {
  std::string shown(text.substr(0, 40));
  if (text.size() > 40) shown += "...";
  return Error{ErrorKind::kInvalid, "bad_value",
               fmt::format("\"{}\" is not understood; write {}", shown, forms), ""};
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes leading digits off `text`; none when there are none or they exceed 18.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::size_t size = 0;
  std::int64_t value = 0;
  while (size < text.size() && is_digit(text[size])) {
    if (size == 18) return std::nullopt;
    value = value * 10 + (text[size++] - '0');
  }
  if (size == 0) return std::nullopt;
  text.remove_prefix(size);
  return value;
}

// A decimal number without sign: digits / scale.
struct Decimal {
  std::int64_t digits = 0;
  std::int64_t scale = 1;
};

std::optional<Decimal> take_decimal(std::string_view& text) {
  const auto whole = take_number(text);
  if (!whole) return std::nullopt;
  Decimal decimal{*whole, 1};
  if (text.empty() || text[0] != '.') return decimal;
  text.remove_prefix(1);
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  while (!text.empty() && is_digit(text[0])) {
    if (decimal.scale >= 1'000'000'000 || decimal.digits > 100'000'000) return std::nullopt;
    decimal.digits = decimal.digits * 10 + (text[0] - '0');
    decimal.scale *= 10;
    text.remove_prefix(1);
  }
  return decimal;
}

// ceil(decimal * factor), none on overflow.
std::optional<std::int64_t> times(const Decimal& decimal, std::int64_t factor) {
  const __int128 product = static_cast<__int128>(decimal.digits) * factor;
  const __int128 result = (product + decimal.scale - 1) / decimal.scale;
  if (result > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

std::optional<std::int64_t> byte_factor(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  if (unit.size() > 1 && unit.back() == 'B') unit.remove_suffix(1);
  static constexpr std::array<char, 6> kLetters{'k', 'M', 'G', 'T', 'P', 'E'};
  const bool binary = unit.size() == 2 && unit[1] == 'i';
  if (unit.size() != 1 && !binary) return std::nullopt;
  std::int64_t factor = 1;
  for (char letter : kLetters) {
    factor *= binary ? 1024 : 1000;
    if (unit[0] == letter || (letter == 'k' && unit[0] == 'K')) return factor;
  }
  return std::nullopt;
}

std::optional<std::int64_t> unit_us(std::string_view& text) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> kUnits{
      {{"ms", 1'000},
       {"us", 1},
       {"s", 1'000'000},
       {"m", 60'000'000},
       {"h", 3'600'000'000},
       {"d", 86'400'000'000},
       {"w", 604'800'000'000}}};
  for (const auto& [unit, us] : kUnits) {
    if (text.substr(0, unit.size()) != unit) continue;
    text.remove_prefix(unit.size());
    return us;
  }
  return std::nullopt;
}

// "1h30m": each part with a unit.
std::optional<std::int64_t> parse_units(std::string_view text) {
  std::int64_t total = 0;
  while (!text.empty()) {
    const auto value = take_decimal(text);
    const auto us = value ? unit_us(text) : std::nullopt;
    const auto part = us ? times(*value, *us) : std::nullopt;
    if (!part || *part > kSpanMax_us) return std::nullopt;
    total += *part;
    if (total > kSpanMax_us) return std::nullopt;
  }
  return total;
}

// "[D-]HH:MM:SS", "MM:SS".
std::optional<std::int64_t> parse_clock(std::string_view text) {
  std::int64_t days = 0;
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto found = take_number(text);
    if (!found || text.empty() || text[0] != '-' || *found > 40'000) return std::nullopt;
    days = *found;
    text.remove_prefix(1);
  }
  std::int64_t total_s = 0;
  int parts = 0;
  for (;;) {
    const auto part = take_number(text);
    if (!part || *part > 100'000'000 || ++parts > 3) return std::nullopt;
    total_s = total_s * 60 + *part;
    if (text.empty()) break;
    if (text[0] != ':') return std::nullopt;
    text.remove_prefix(1);
  }
  if (days > 0 && parts != 3) return std::nullopt;
  total_s += days * 86400;
  if (total_s > kSpanMax_us / 1'000'000) return std::nullopt;
  return total_s * 1'000'000;
}

// Exactly `count` digits.
bool take_digits(std::string_view& text, int count, int& value) {
  value = 0;
  for (int i = 0; i < count; ++i) {
    if (text.empty() || !is_digit(text[0])) return false;
    value = value * 10 + (text[0] - '0');
    text.remove_prefix(1);
  }
  return true;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

// "Z" or "+02:00", which must end the text.
std::optional<std::int64_t> take_offset_s(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  const bool plus = !text.empty() && text[0] == '+';
  if (!plus && (text.empty() || text[0] != '-')) return std::nullopt;
  text.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (!take_digits(text, 2, hours) || !take(text, ':') || !take_digits(text, 2, minutes) ||
      !text.empty() || hours > 23 || minutes > 59) {
    return std::nullopt;
  }
  const std::int64_t offset = hours * 3600 + minutes * 60;
  return plus ? offset : -offset;
}

}  // namespace

Result<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kForms = R"(bytes as a whole number, or with a unit as in "64Gi")";
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  if (!number) return bad(text, kForms);
  const auto factor = byte_factor(rest);
  const auto bytes = factor ? times(*number, *factor) : std::nullopt;
  if (!bytes) return bad(text, kForms);
  return *bytes;
}

Result<std::int64_t> parse_milli(std::string_view text) {
  constexpr std::string_view kForms = R"(a number as in "2", "0.5" or "500m")";
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  if (!number || !(rest.empty() || rest == "m")) return bad(text, kForms);
  const auto milli = times(*number, rest == "m" ? 1 : 1000);
  if (!milli) return bad(text, kForms);
  return *milli;
}

Result<Span> parse_span(std::string_view text) {
  constexpr std::string_view kForms =
      R"(seconds, "2h", "1h30m", "HH:MM:SS" or "D-HH:MM:SS", at most 100 years)";
  if (text.empty()) return bad(text, kForms);
  const bool clock = text.find_first_not_of("0123456789:-") == std::string_view::npos;
  const auto us = clock ? parse_clock(text) : parse_units(text);
  if (!us) return bad(text, kForms);
  return Span{*us};
}

Result<Instant> parse_instant(std::string_view text) {
  constexpr std::string_view kForms = R"(an instant as in "2026-01-02T03:04:05Z")";
  std::string_view rest = text;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const bool shaped = take_digits(rest, 4, year) && take(rest, '-') &&
                      take_digits(rest, 2, month) && take(rest, '-') && take_digits(rest, 2, day) &&
                      (take(rest, 'T') || take(rest, 't') || take(rest, ' ')) &&
                      take_digits(rest, 2, hour) && take(rest, ':') &&
                      take_digits(rest, 2, minute) && take(rest, ':') &&
                      take_digits(rest, 2, second);
  std::int64_t fraction_us = 0;
  if (shaped && take(rest, '.')) {
    std::int64_t unit = 100'000;
    if (rest.empty() || !is_digit(rest[0])) return bad(text, kForms);
    for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), unit /= 10) {
      fraction_us += (rest[0] - '0') * unit;
    }
  }
  const auto offset_s = shaped ? take_offset_s(rest) : std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!offset_s || !date.ok() || hour > 23 || minute > 59 || second > 60) return bad(text, kForms);
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t total_s = days * 86400 + hour * 3600 + minute * 60 + second - *offset_s;
  return Instant{total_s * 1'000'000 + fraction_us};
}

Result<std::string> parse_slice(std::string_view text) {
  if (auto name = slice_name(text)) return std::move(*name);
  return bad(text, "the profile of a slice as in 1g.10gb, mig-1g.10gb or nvidia.com/mig-1g.10gb");
}

std::string human_bytes(std::int64_t bytes) {
  static constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  std::size_t unit = 0;
  std::int64_t size = 1024;
  while (unit + 1 < kUnits.size() && bytes / 1024 >= size) {
    size *= 1024;
    ++unit;
  }
  const auto tenths = static_cast<std::int64_t>(static_cast<__int128>(bytes) * 10 / size);
  if (tenths % 10 == 0) return fmt::format("{} {}", tenths / 10, kUnits[unit]);
  return fmt::format("{}.{} {}", tenths / 10, tenths % 10, kUnits[unit]);
}

std::string human_amount(std::string_view countable, std::int64_t amount) {
  return huge_page_bytes(countable) > 0 ? human_bytes(amount) : std::to_string(amount);
}

std::string human_span(Span span) {
  static constexpr std::array<std::pair<std::int64_t, char>, 4> kUnits{
      {{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}, {1, 's'}}};
  if (span.us < 0) return "-" + human_span(Span{-(span.us + 1)});
  if (span.us < 1'000'000) return fmt::format("{}ms", span.us / 1000);
  std::int64_t left_s = span.us / 1'000'000;
  std::string text;
  int shown = 0;
  for (const auto& [size_s, letter] : kUnits) {
    const std::int64_t count = left_s / size_s;
    left_s %= size_s;
    if (count == 0 && shown == 0) continue;
    if (count > 0) text += fmt::format("{}{}{}", text.empty() ? "" : " ", count, letter);
    if (++shown == 2) break;
  }
  return text;
}

std::string rfc3339(Instant at) {
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(at.us)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::int64_t us = (time - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", int{date.year()},
                     unsigned{date.month()}, unsigned{date.day()}, us / 3'600'000'000,
                     us / 60'000'000 % 60, us / 1'000'000 % 60, us % 1'000'000);
}

}  // namespace dove::codec
