#include "core/state/holders/month_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/state/holders/holders.h"

namespace dove::core {
namespace {

constexpr std::int64_t kDayLength_us = std::int64_t{24} * 3600 * 1'000'000;
// The calendar repeats after this many days, which are 400 years; years begin in March here.
// By arithmetic and not by the system's calendar: no time zone and no library decides what a month
// is (Hinnant, "chrono-compatible low-level date algorithms").
constexpr std::int64_t kEra_days = 146'097;
constexpr std::int64_t kEpoch_days = 719'468;  // from March of year 0 to January 1970

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

template <class Object>
const Limits* limits_in(const std::map<std::string, Object>& objects, const std::string& name) {
  const auto at = objects.find(name);
  return at == objects.end() ? nullptr : &at->second.limits;
}

// Whoever holds GPUs now is counted from now on; the others once they do.
void keep(std::map<std::string, MonthUse>& months, const std::map<std::string, Usage>& usages,
          const Limits* limits, const std::string& name, Instant now) {
  if (limits == nullptr || !has_month(*limits)) {
    months.erase(name);
    return;
  }
  const auto usage = usages.find(name);
  // Use counts from when the limit was declared. Without this line it would from the next launch or
  // end, and what runs would be free until then.
  if (usage != usages.end() && usage->second.gpus_milli != 0) month_from_now(months, name, now);
}

template <class LimitsOf>
void keep_all(std::map<std::string, MonthUse>& months, const std::map<std::string, Usage>& usages,
              LimitsOf limits_of, Instant now) {
  // Without its limit an entry would stay for ever, and wake the cluster each month.
  std::erase_if(months, [&](const auto& entry) {
    const Limits* limits = limits_of(entry.first);
    return limits == nullptr || !has_month(*limits);
  });
  for (const auto& [name, usage] : usages) keep(months, usages, limits_of(name), name, now);
}

void keep_users(State& state) {
  keep_all(
      state.month_by_user, state.usage_by_user,
      [&](const std::string& name) { return limits_of_user(state, name); }, state.now);
}

void charge_all(std::map<std::string, MonthUse>& months, const std::map<std::string, Usage>& usages,
                Instant now) {
  static const Usage nothing;
  for (auto& [name, use] : months) {
    const auto usage = usages.find(name);
    charge_month(use, usage == usages.end() ? nothing : usage->second, now);
  }
}

}  // namespace

std::int32_t month_of(Instant at) {
  const std::int64_t days = floor_div(at.us, kDayLength_us) + kEpoch_days;
  const std::int64_t era = floor_div(days, kEra_days);
  // Leap days come at the ends of such years, which is why they begin in March: a month's first day
  // then needs no case for them.
  const std::int64_t day = days - era * kEra_days;
  const std::int64_t year = (day - day / 1460 + day / 36'524 - day / 146'096) / 365;
  const std::int64_t of_year = day - (365 * year + year / 4 - year / 100);
  const std::int64_t from_march = (5 * of_year + 2) / 153;
  return static_cast<std::int32_t>((era * 400 + year - 1970) * 12 + from_march + 2);
}

Instant month_start(std::int32_t month) {
  const std::int64_t months = std::int64_t{month} + std::int64_t{1970} * 12 - 2;  // from March
  const std::int64_t years = floor_div(months, 12);
  const std::int64_t era = floor_div(years, 400);
  const std::int64_t year = years - era * 400;
  const std::int64_t of_year = (153 * (months - years * 12) + 2) / 5;
  const std::int64_t day = year * 365 + year / 4 - year / 100 + of_year;
  return Instant{(era * kEra_days + day - kEpoch_days) * kDayLength_us};
}

Instant month_end(const State& state) {
  const bool kept = !state.month_by_user.empty() || !state.month_by_project.empty() ||
                    !state.month_by_domain.empty() || !state.month_by_queue.empty();
  return kept ? month_start(month_of(state.now) + 1) : kNever;
}

std::int64_t month_use_at(const MonthUse& use, const Usage& usage, Instant now) {
  const std::int32_t month = month_of(now);
  // What was held across the end of a month counts only with its part in this month.
  const Instant from = std::max(use.at, month_start(month));
  const std::int64_t before = use.month == month ? use.gpu_ms : 0;
  const std::int64_t ms = std::max<std::int64_t>((now - from).us / 1000, 0);
  return before + usage.gpus_milli * ms;
}

std::int64_t month_use_of(const State& state, const std::map<std::string, MonthUse>& months,
                          const std::map<std::string, Usage>& usages, const std::string& name) {
  static const Usage nothing;
  const auto use = months.find(name);
  if (use == months.end()) return 0;
  const auto usage = usages.find(name);
  return month_use_at(use->second, usage == usages.end() ? nothing : usage->second, state.now);
}

std::string gpu_hours_text(std::int64_t gpu_ms) {
  constexpr std::int64_t kTenth_ms = 360'000;
  const std::int64_t tenths = gpu_ms / kTenth_ms;
  if (tenths % 10 == 0) return std::to_string(tenths / 10);
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string month_name(std::int32_t month) {
  constexpr std::array<std::string_view, 12> kNames{
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  const std::int64_t years = floor_div(month, 12);
  return fmt::format("{} {}", kNames[static_cast<std::size_t>(month - years * 12)], 1970 + years);
}

void charge_month(MonthUse& use, const Usage& usage, Instant now) {
  const std::int32_t month = month_of(now);
  const Instant from = std::max(use.at, month_start(month));
  const std::int64_t ms = (now - from).us / 1000;
  if (ms < 0) return;
  use.gpu_ms = month_use_at(use, usage, now);
  use.month = month;
  // Up to the last whole millisecond that was counted: the rest is counted next time, so frequent
  // charges lose nothing.
  use.at = from + Span{ms * 1000};
}

MonthUse& month_from_now(std::map<std::string, MonthUse>& months, const std::string& name,
                         Instant now) {
  return months.try_emplace(name, MonthUse{month_of(now), 0, now}).first->second;
}

void charge_months(State& state) {
  charge_all(state.month_by_user, state.usage_by_user, state.now);
  charge_all(state.month_by_project, state.usage_by_project, state.now);
  charge_all(state.month_by_domain, state.usage_by_domain, state.now);
  charge_all(state.month_by_queue, state.usage_by_queue, state.now);
}

void keep_months(State& state, const std::string& level, const std::string& name) {
  const Instant now = state.now;
  if (level == "project") {
    keep(state.month_by_project, state.usage_by_project, limits_in(state.projects, name), name,
         now);
  } else if (level == "domain") {
    keep(state.month_by_domain, state.usage_by_domain, limits_in(state.domains, name), name, now);
  } else if (level == "queue") {
    keep(state.month_by_queue, state.usage_by_queue, limits_in(state.queues, name), name, now);
  } else if (name != "*") {
    keep(state.month_by_user, state.usage_by_user, limits_of_user(state, name), name, now);
  } else {
    keep_users(state);
  }
}

void keep_months(State& state) {
  // Queues, projects and domains keep limits in themselves, users apart from themselves.
  const auto in = [](const auto& objects) {
    return [&objects](const std::string& name) { return limits_in(objects, name); };
  };
  keep_users(state);
  keep_all(state.month_by_project, state.usage_by_project, in(state.projects), state.now);
  keep_all(state.month_by_domain, state.usage_by_domain, in(state.domains), state.now);
  keep_all(state.month_by_queue, state.usage_by_queue, in(state.queues), state.now);
}

}  // namespace dove::core
