#include "cli/terminal/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace dove::cli {
namespace {

std::string local(std::int64_t at_us, char between) {
  const std::time_t at_s = at_us / 1'000'000;
  std::tm parts{};
  localtime_r(&at_s, &parts);
  return fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, between, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

std::string clock_text(std::int64_t span_us) {
  const std::int64_t all = std::max<std::int64_t>(span_us, 0) / 1'000'000;
  const std::int64_t days = all / 86400;
  const std::int64_t hours = all / 3600 % 24;
  const std::int64_t minutes = all / 60 % 60;
  const std::int64_t rest = all % 60;
  if (days > 0) return fmt::format("{}-{:02}:{:02}:{:02}", days, hours, minutes, rest);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, rest);
  return fmt::format("{}:{:02}", minutes, rest);
}

std::string span_text(std::int64_t span_us) {
  const std::int64_t us = std::max<std::int64_t>(span_us, 0);
  const std::int64_t all = us / 1'000'000;
  if (us < 10'000'000) return fmt::format("{}.{}s", all, us / 100'000 % 10);
  if (all < 60) return fmt::format("{}s", all);
  if (all < 3600) return fmt::format("{}m {}s", all / 60, all % 60);
  if (all < 86400) return fmt::format("{}h {}m", all / 3600, all / 60 % 60);
  return fmt::format("{}d {}h", all / 86400, all / 3600 % 24);
}

std::string local_time_text(std::int64_t at_us) { return at_us == 0 ? "N/A" : local(at_us, 'T'); }

std::string calendar_text(std::int64_t at_us) {
  const std::time_t at_s = at_us / 1'000'000;
  std::tm parts{};
  localtime_r(&at_s, &parts);
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%a %b %d %H:%M:%S %Y", &parts);
  return {text.data(), size};
}

std::string when_text(std::int64_t at_us) { return at_us == 0 ? "-" : local(at_us, ' '); }

std::string zoned_text(std::int64_t at_us) {
  if (at_us == 0) return "-";
  const std::time_t at_s = at_us / 1'000'000;
  std::tm parts{};
  localtime_r(&at_s, &parts);
  return local(at_us, ' ') + " " + (parts.tm_zone == nullptr ? "" : parts.tm_zone);
}

std::string with_local_times(std::string text) {
  static constexpr std::string_view kForm = "dddd-dd-dd?dd:dd:dd";
  const auto fits = [&](std::size_t at) {
    for (std::size_t i = 0; i < kForm.size(); ++i) {
      const char c = text[at + i];
      const bool good = kForm[i] == 'd'   ? c >= '0' && c <= '9'
                        : kForm[i] == '?' ? c == 'T' || c == ' '
                                          : c == kForm[i];
      if (!good) return false;
    }
    return true;
  };
  for (std::size_t at = 0; at + kForm.size() < text.size(); ++at) {
    if (!fits(at)) continue;
    std::size_t end = at + kForm.size();
    if (text[end] == '.') {
      end = std::min(text.find_first_not_of("0123456789", end + 1), text.size());
    }
    const std::string_view rest = std::string_view(text).substr(end);
    const std::size_t zone = rest.starts_with("Z") ? 1 : rest.starts_with(" UTC") ? 4 : 0;
    if (zone == 0) continue;
    std::tm parts{};
    std::string form = text.substr(at, kForm.size());
    form[10] = ' ';
    if (::strptime(form.c_str(), "%Y-%m-%d %H:%M:%S", &parts) == nullptr) continue;
    const std::string local_form = zoned_text(std::int64_t{::timegm(&parts)} * 1'000'000);
    text.replace(at, end + zone - at, local_form);
    at += local_form.size() - 1;
  }
  return text;
}

std::optional<std::int64_t> parse_span_us(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 0 || value > 1'000'000'000) return std::nullopt;
  const std::string_view unit(at, static_cast<std::size_t>(end - at));
  if (unit.empty() || unit == "s") return value * 1'000'000;
  if (unit == "ms") return value * 1'000;
  if (unit == "m") return value * 60'000'000;
  if (unit == "h") return value * 3'600'000'000;
  if (unit == "d" && value <= 100'000) return value * 86'400'000'000;
  return std::nullopt;
}

std::int32_t utc_offset_s(std::int64_t at_us) {
  const std::time_t at_s = at_us / 1'000'000;
  std::tm parts{};
  localtime_r(&at_s, &parts);
  return static_cast<std::int32_t>(parts.tm_gmtoff);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  std::int64_t tenths = std::max<std::int64_t>(bytes, 0);
  if (tenths < 1024) return std::to_string(tenths);
  std::int64_t whole = tenths;
  while (whole >= 1024 && unit + 1 < kUnits.size()) {
    tenths = whole * 10 / 1024;
    whole /= 1024;
    ++unit;
  }
  if (tenths % 10 == 0) return fmt::format("{}{}", tenths / 10, kUnits[unit]);
  return fmt::format("{}.{}{}", tenths / 10, tenths % 10, kUnits[unit]);
}

}  // namespace dove::cli
