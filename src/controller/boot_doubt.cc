#include "controller/boot_doubt.h"

#include <fmt/format.h>

#include <algorithm>

#include "telemetry/log.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kHour_us = 3'600'000'000;

bool runs(const core::State& state, JobId id, AttemptNumber attempt) {
  const auto job = state.jobs.find(id);
  return job != state.jobs.end() && job->second.phase == JobPhase::kActive &&
         job->second.attempts.back().number == attempt;
}

}  // namespace

BootDoubt::BootDoubt(const core::State& state, std::int64_t off_since_us, std::int64_t now_us) {
  if (off_since_us == 0) return;
  const std::int64_t last_us = std::max(off_since_us, state.now.us);
  const ClusterSettings& settings = state.settings;
  Span grace = std::max(settings.outage_grace, Span{kHour_us});
  for (const core::Node& node : state.nodes) {
    if (!node.jobs.empty()) grace = std::max(grace, node.agreed.outage_grace);
    for (const JobId id : node.jobs) {
      const auto job = state.jobs.find(id);
      if (job == state.jobs.end() || job->second.attempts.empty()) continue;
      running_.emplace_back(id, job->second.attempts.back().number);
    }
  }
  const Span off{now_us - last_us};
  if (running_.empty() || off <= grace + settings.disconnect_grace + settings.fence) {
    running_.clear();
    return;
  }
  goes_on_us_ = last_us;
  telemetry::log(
      telemetry::Level::kWarning, "boot_clock_doubted",
      {{"why", fmt::format("by the clock of this machine, which was started anew, nobody led for "
                           "{} h. No task outlives {} h of that, and {} are not known to have "
                           "ended: until they have, time goes on from when it was last on",
                           off.us / kHour_us, grace.us / kHour_us, running_.size())},
       {"remedy", "set the clock right; if it is right, `dove controller accept-clock`"}});
}

BootDoubt BootDoubt::of_former_life(const core::State& state, std::int64_t goes_on_us) {
  BootDoubt doubt;
  doubt.goes_on_us_ = goes_on_us;
  for (const core::Node& node : state.nodes) {
    for (const JobId id : node.jobs) {
      const auto job = state.jobs.find(id);
      if (job == state.jobs.end() || job->second.attempts.empty()) continue;
      const core::Attempt& attempt = job->second.attempts.back();
      if (attempt.allocated_at.us > goes_on_us) continue;
      doubt.running_.emplace_back(id, attempt.number);
    }
  }
  return doubt;
}

bool BootDoubt::settles(const core::State& state) {
  if (goes_on_us_ == 0) return false;
  while (!running_.empty() && !runs(state, running_.back().first, running_.back().second)) {
    running_.pop_back();
  }
  if (running_.empty()) goes_on_us_ = 0;
  return running_.empty();
}

}  // namespace dove::controller
