#include "core/state/running/stop_time.h"

#include <algorithm>

namespace dove::core {
namespace {

// From SIGKILL to the report that nothing is left.
constexpr Span kEnd_margin = seconds(2);

}  // namespace

Span stop_time(const JobSpec& spec) {
  // Only a job that saves its work is given time for that; with a signal the agent gives it, also
  // to a job that nothing may preempt.
  const bool saves = spec.preempt == Preempt::kCheckpoint || spec.checkpoint_signal != 0;
  const Span checkpoint = saves ? spec.checkpoint_grace : Span{};
  return Span{checkpoint.us + spec.kill_grace.us + kEnd_margin.us};
}

Instant latest_stop(const JobSpec& spec, Instant at) {
  // Instants end at zero: a deadline nearer to it than that was missed anyway.
  return at == kNever ? kNever : Instant{std::max<std::int64_t>(at.us - stop_time(spec).us, 0)};
}

}  // namespace dove::core
