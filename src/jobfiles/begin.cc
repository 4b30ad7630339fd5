// When a job may begin: the dates and times of sbatch --begin.
#include <fmt/core.h>

#include <array>

#include "jobfiles/amounts.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

constexpr std::int64_t kDay_s = 24 * 60 * 60;
constexpr std::int64_t kCountMax_s = 100LL * 366 * kDay_s;

// Days since 1970-01-01 of a date of the proleptic Gregorian calendar.
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2 ? 1 : 0;
  std::int64_t era = year / 400;
  std::int64_t of_era = year - era * 400;
  std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

bool valid_date(std::int64_t year, std::int64_t month, std::int64_t day) {
  constexpr std::array<std::int64_t, 13> kDays = {0,  31, 29, 31, 30, 31, 30,
                                                  31, 31, 30, 31, 30, 31};
  if (year < 1970 || year > 2999 || month < 1 || month > 12 || day < 1) return false;
  return day <= kDays[static_cast<std::size_t>(month)] && (month != 2 || day < 29 || leap(year));
}

std::int64_t year_of(std::int64_t days) {
  std::int64_t year = 1970 + days / 366;
  while (days_of(year + 1, 1, 1) <= days) ++year;
  return year;
}

// "16:00", "4:30:15", "noon", with "am" or "pm" behind: seconds of the day.
std::optional<std::int64_t> time_of_day(std::string_view text) {
  struct Named {
    std::string_view name;
    std::int64_t hour;
  };
  constexpr Named kNamed[] = {
      {"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16}};
  std::string word = lower(trimmed(text));
  for (const Named& named : kNamed) {
    if (word == named.name) return named.hour * 3600;
  }
  std::string_view rest = word;
  std::int64_t twelve = -1;  // 0: am, 12: pm
  if (rest.size() > 2 && (rest.ends_with("am") || rest.ends_with("pm"))) {
    twelve = rest.ends_with("pm") ? 12 : 0;
    rest = trimmed(rest.substr(0, rest.size() - 2));
  }
  std::vector<std::string_view> pieces = split(rest, ':');
  if (pieces.size() < 2 || pieces.size() > 3) return std::nullopt;
  auto hour = to_number(pieces[0], twelve < 0 ? 23 : 12);
  auto minute = to_number(pieces[1], 59);
  auto second = pieces.size() == 3 ? to_number(pieces[2], 59) : std::optional<std::int64_t>(0);
  if (!hour || !minute || !second || (twelve >= 0 && *hour == 0)) return std::nullopt;
  if (twelve >= 0) *hour = *hour % 12 + twelve;
  return (*hour * 60 + *minute) * 60 + *second;
}

struct Date {
  std::int64_t days = 0;
  bool without_year = false;
};

// "2026-01-20", "01/20", "01/20/26", "012026", "today", "tomorrow".
std::optional<Date> date(std::string_view text, std::int64_t today) {
  if (equal_without_case(text, "today")) return Date{today, false};
  if (equal_without_case(text, "tomorrow")) return Date{today + 1, false};
  std::string_view year;
  std::string_view month;
  std::string_view day;
  if (std::vector<std::string_view> iso = split(text, '-'); iso.size() == 3) {
    year = iso[0];
    month = iso[1];
    day = iso[2];
    if (year.size() != 4) return std::nullopt;
  } else if (std::vector<std::string_view> us = split(text, '/'); us.size() >= 2) {
    if (us.size() > 3) return std::nullopt;
    month = us[0];
    day = us[1];
    if (us.size() == 3) year = us[2];
  } else if (text.size() == 6) {
    month = text.substr(0, 2);
    day = text.substr(2, 2);
    year = text.substr(4, 2);
  } else {
    return std::nullopt;
  }
  auto m = to_number(month, 12);
  auto d = to_number(day, 31);
  auto y = year.empty() ? std::optional(year_of(today)) : to_number(year, 9999);
  if (!y || !m || !d) return std::nullopt;
  if (year.size() == 2) *y += 2000;
  if (!valid_date(*y, *m, *d)) return std::nullopt;
  return Date{days_of(*y, *m, *d), year.empty()};
}

// "now", "now+60", "now+2hours".
std::optional<std::int64_t> from_now(std::string_view text) {
  std::string word;
  for (char c : lower(text)) {
    if (c != ' ') word += c;
  }
  if (word == "now") return 0;
  if (word.substr(0, 4) != "now+") return std::nullopt;
  std::string_view rest = std::string_view(word).substr(4);
  std::size_t end = rest.find_first_not_of("0123456789");
  auto count = to_number(rest.substr(0, end), kCountMax_s);
  std::string_view unit = end == std::string_view::npos ? "seconds" : rest.substr(end);
  if (unit.ends_with('s') && unit != "seconds") unit.remove_suffix(1);
  std::int64_t unit_s = unit == "seconds" || unit == "second" ? 1
                        : unit == "minute"                    ? 60
                        : unit == "hour"                      ? 3600
                        : unit == "day"                       ? kDay_s
                        : unit == "week"                      ? 7 * kDay_s
                                                              : 0;
  if (!count || unit_s == 0 || *count > kCountMax_s / unit_s) return std::nullopt;
  return *count * unit_s;
}

// Local seconds since 1970 of a date, a time of day, or both, joined by 'T', ' ' or '-'.
std::optional<std::int64_t> moment(std::string_view text, std::int64_t now_local_s) {
  std::int64_t today = now_local_s / kDay_s;
  if (auto time = time_of_day(text)) {
    std::int64_t at = today * kDay_s + *time;
    return at < now_local_s ? at + kDay_s : at;
  }
  if (auto day = date(text, today)) {
    if (day->without_year && day->days < today) {
      day = date(fmt::format("{}/{}", text, year_of(today) + 1), today);
      if (!day) return std::nullopt;
    }
    return day->days * kDay_s;
  }
  std::size_t joint = text.find_first_of("T ");
  if (joint == std::string_view::npos || joint == 0) joint = text.rfind('-');
  if (joint == std::string_view::npos) return std::nullopt;
  auto day = date(text.substr(0, joint), today);
  auto time = time_of_day(text.substr(joint + 1));
  if (!day || !time) return std::nullopt;
  std::int64_t at = day->days * kDay_s + *time;
  if (day->without_year && at < now_local_s) {
    day = date(fmt::format("{}/{}", text.substr(0, joint), year_of(today) + 1), today);
    if (!day) return std::nullopt;
    at = day->days * kDay_s + *time;
  }
  return at;
}

}  // namespace

Result<Instant> parse_begin(std::string_view text, Instant now, std::int32_t utc_offset_s) {
  if (now.us <= 0) return invalid("times cannot be read here: the time of submission is unknown");
  text = trimmed(text);
  if (text.size() <= 64) {
    std::int64_t now_s = now.us / 1'000'000;
    if (auto later = from_now(text)) return now + seconds(*later);
    if (auto at = moment(text, now_s + utc_offset_s)) {
      return Instant{(*at - utc_offset_s) * 1'000'000};
    }
  }
  return invalid(
      fmt::format("\"{}\" is not a time: write now+1hour, HH:MM, "
                  "YYYY-MM-DDTHH:MM[:SS], MM/DD/YY, today, tomorrow, noon or midnight",
                  shown(text)));
}

}  // namespace dove::jobfiles
