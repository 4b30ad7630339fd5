// What the holders of a monthly limit have used of it: GPUs times the time of attempts, by calendar
// month in UTC.
//
// It is kept only for holders of such a limit, from its declaration, and restarts each month. Pure;
// time is that of the records. Only apply calls the functions that change it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/state/state.h"
#include "model/time.h"

namespace dove::core {

// Months since January 1970, and the first instant of one.
std::int32_t month_of(Instant at);
Instant month_start(std::int32_t month);

// When the month of `state.now` ends, as long as use is kept for anybody; kNever: it is not.
Instant month_end(const State& state);

inline bool has_month(const Limits& limits) { return limits.gpu_ms_month >= 0; }

// What was used by `now` of the month that it is in, in thousandths of GPUs times milliseconds, had
// `usage` been held since use.at.
std::int64_t month_use_at(const MonthUse& use, const Usage& usage, Instant now);
// The same of a holder by name.
std::int64_t month_use_of(const State& state, const std::map<std::string, MonthUse>& months,
                          const std::map<std::string, Usage>& usages, const std::string& name);

// As people write it: "12.5" of GPUs times milliseconds; and a month's name, "November 2026".
std::string gpu_hours_text(std::int64_t gpu_ms);
std::string month_name(std::int32_t month);

// Brings `use` up to now: call it before `usage` changes.
void charge_month(MonthUse& use, const Usage& usage, Instant now);
// That of the holder, from now on if it has none yet.
MonthUse& month_from_now(std::map<std::string, MonthUse>& months, const std::string& name,
                         Instant now);

// Before all usage is counted anew.
void charge_months(State& state);
// After the limits of `level` ("user", "project", "domain", "queue") were declared or deleted:
// whose use is kept. A user "*" is all of them.
void keep_months(State& state, const std::string& level, const std::string& name);
// The same of all, after usage was counted anew.
void keep_months(State& state);

}  // namespace dove::core
