#include "sim/scenario_idle.h"

#include "codec/words.h"

namespace dove::sim {

std::optional<Event> idle_events(const core::State& state, const std::string& verb, JobId id,
                                 Options& options) {
  const core::Job* job = state.find_job(id);
  if (job == nullptr || job->attempts.empty()) return std::nullopt;
  const AttemptNumber attempt = job->attempts.back().number;
  if (verb == "used") return IdleEnded{id, attempt};
  if (verb == "keep") return JobKept{id, state.now + options.span("for")};
  if (verb != "idle") return std::nullopt;
  IdleObserved idle{id, attempt, IdleCheck::kInput, "all", "seen", options.span("warning")};
  const std::string check = options.text("check", "input");
  for (const IdleCheck each : {IdleCheck::kUse, IdleCheck::kLifetime}) {
    if (check == codec::word(each)) idle.check = each;
  }
  return idle;
}

}  // namespace dove::sim
