#include "core/admit/limit_warnings.h"

#include <fmt/format.h>

#include "core/place/reservation.h"
#include "core/state/books.h"

namespace dove::core {

PoolLimits pool_limits(const State& state) {
  PoolLimits limits;
  for (const auto& [id, job] : state.jobs) {
    if (job.phase != JobPhase::kActive || job.spec->time_limit.us > 0) continue;
    limits.emplace_back(id, time_limit_of(state, *job.spec));
  }
  return limits;
}

std::vector<std::string> limit_warnings(const State& state, const PoolLimits& before) {
  std::size_t changed = 0, over = 0;
  for (const auto& [id, limit] : before) {
    const Job& job = *state.find_job(id);
    if (time_limit_of(state, *job.spec) == limit) continue;
    ++changed;
    over += time_limit_at(state, job) <= state.now ? 1 : 0;
  }
  if (changed == 0) return {};
  std::string text = fmt::format(
      "it changes the time limit of running jobs that have none of their own ({})", changed);
  if (over > 0) text += fmt::format("; those that have run for longer are stopped ({})", over);
  return {text};
}

}  // namespace dove::core
