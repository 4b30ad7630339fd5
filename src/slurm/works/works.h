// The placements that Slurm runs for us: which to begin, signal and cancel, and what to report.
//
// Pure and level-triggered, as plan(): it is computed anew each time from what is wanted, the
// existing sruns, and Slurm's allocations.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slurm/works/steps.h"
#include "slurm/works/work.h"

namespace dove::slurm {

struct StepSignal {
  StepSeen step;
  int signal = 0;
  int number = 0;  // of those that stop it, the first is 1; 0: it is `warning`
  Warning warning = {};
};

struct WorkPlan {
  std::vector<const WantedWork*> begin;  // each has a placeholder
  std::vector<StepSignal> signals;
  std::vector<std::int64_t> release;    // allocations in which nobody watches what runs
  std::vector<PlaceholderKey> give_up;  // sruns whose allocations have ended
  std::vector<PlaceholderKey> forget;
  std::vector<WorkReport> reports;
};

// In Allocations::held for a placeholder whose processes Slurm is still ending: they may use what
// it held.
inline constexpr std::int64_t kEnding_job = 0;

// The placeholders that Slurm has.
struct Allocations {
  std::map<PlaceholderKey, std::int64_t>
      held;  // the Slurm jobs of those that hold what they are to
  // Those that have not ended, as living_placeholders() has them.
  std::map<std::int64_t, JobAttempt> living;
  std::set<PlaceholderKey> begun;  // something was begun in them, here or by an adapter elsewhere
  bool known = true;               // Slurm has answered; else none is taken to have ended
};

// The nodes of the job of `script`, by rank; empty: one of them holds nothing, or is not wanted.
std::vector<NodeHeld> held_nodes(const WantedWork& script, const std::vector<WantedWork>& works,
                                 const std::vector<PlaceholderReport>& reports,
                                 const Observed& observed);

// `refused`: why what could not be begun was not. Points into `wanted`, of which those of foreign
// jobs are passed over.
WorkPlan plan_works(const std::vector<WantedWork>& wanted, const std::vector<StepSeen>& steps,
                    const Allocations& allocations,
                    const std::map<PlaceholderKey, std::string>& refused, std::int64_t now_s);

// Works that will never get their allocation: their jobs are to end, and not to ask again and
// again.
std::vector<WorkReport> refused_works(const PlanMemory& memory);

// What to report while nobody can say which sruns there are: all that was begun may run.
std::vector<WorkReport> unseen_works(const std::vector<WantedWork>& wanted,
                                     const Allocations& allocations);

}  // namespace dove::slurm
