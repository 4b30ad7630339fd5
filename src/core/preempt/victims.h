// Victims: which running jobs may be stopped so that a waiting one gets their places, and what
// stopping them loses.
//
// A victim's owner has allowed it (JobSpec::preempt), its minimum slice is over, and it has not
// been preempted too recently (a pause that doubles each time). Kinds of victims, in the order in
// which they are taken (NVIDIA's talk on time slices; Kubernetes and Kueue for the rules):
//
//   priority  kStarvation: the waiting job's level is higher, and no guarantee is broken
//   rotation  kSlice: equal levels in one queue, the victim's slice is over, and the waiting job
//             has waited longest
//   share     kFairness: the waiting job's queue takes back its guarantee from queues that have
//             more than theirs; or levels are equal and its queue ends below the share of the
//             victim's queue
//   service   kFairness: equal levels in one queue whose order lets jobs take over
//             (Head::kTakesOver), and the waiting job, which is likely to take less, is clearly
//             ahead
//   move      kDefragmentation: the victim fits elsewhere now
//
// Jobs of an executor that an administrator lets us put back (core/preempt/foreign_jobs.h) are
// victims by priority alone, beside our own and in the same order.
//
// Why this ends: a guarantee is only ever taken back by a queue that stays within its own and from
// queues that keep theirs, so the use within guarantees grows. Below that, preemption by priority
// replaces any number of jobs by one of a higher level, and preemption by share puts all queues
// concerned below the previous largest share. Each rotation costs a slice, and moves take nothing
// from anybody. In addition there is the pause: in any span of time a job is preempted at most
// logarithmically often. A property test counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/place/place.h"
#include "core/preempt/foreign_jobs.h"
#include "core/preempt/stoppable.h"
#include "core/preempt/victim_queues.h"
#include "core/state/state.h"

namespace dove::core {

enum class VictimKind { kPriority, kRotation, kService, kShare, kMove };

struct Victim {
  JobId job;
  VictimKind kind = VictimKind::kPriority;
  Level level;
  std::int64_t lost = 0;  // GPU-microseconds of work since it was saved; a core counts a thousandth
  std::int64_t weight = 0;     // thousandths of GPUs, and cores, that it holds
  ForeignJobPtr foreign = {};  // null: it is one of ours
};

inline const Job& job_of(const State& state, const Victim& victim) {
  return victim.foreign == nullptr ? *state.find_job(victim.job) : victim.foreign->job;
}

Purpose purpose_of(VictimKind kind);

// Whether the owner of the job allows that it is preempted.
bool is_preemptible(const JobSpec& spec);

// When the minimum slice of the active job is over; 0 without one, kNever while it has not begun.
Instant slice_end(const Job& job);
// When the pause after its last preemption is over; 0 without one. Rotation does not wait for it:
// there the slice is the protection.
Instant pause_end(const Job& job);
// The next instant at which the active job may become a victim; kNever when it may be now, or
// never.
Instant victim_wake(const State& state, const Job& job);

// What stopping the attempt would lose: see Victim::lost.
std::int64_t lost_work(const State& state, const Job& job);

// What may be done for the beneficiary.
struct VictimRules {
  bool rotation = false;    // it has waited longest, and the next slice is its
  bool takes_over = false;  // from running jobs that by what is learned stand clearly behind it
  bool moves = false;  // only smaller jobs that could run elsewhere, instead of all other kinds
  bool soon = false;   // also those still protected: what would do later
};

// The promises that must be kept although victims are sought: those to jobs of a higher level, and
// those that are due before the victims could be gone. The others give way, as what is promised may
// to whoever is not behind in the queue.
std::vector<JobId> promises_to_keep(const State& state, const Job& beneficiary,
                                    std::span<const JobId> stopping);

// The nodes of `ranked` that no reservation or outage closes to the job, were it started now.
RankedNodes open_nodes(const State& state, const Job& job, const RankedNodes& ranked);

// All that may be stopped for the beneficiary, in the order of kinds, levels and lost work; any
// subset may be. A job that holds nothing on a node of `nodes` that the beneficiary could use is
// left out: it would only use up what may be taken of its queue. `foreign`: foreign_jobs(state),
// where the beneficiary takes from them. REQUIRES: `stoppable` is of this state.
std::vector<Victim> find_victims(const State& state, const Job& beneficiary,
                                 const RankedNodes& nodes, Stoppable& stoppable,
                                 const VictimRules& rules,
                                 std::span<const ForeignJobPtr> foreign = {});

}  // namespace dove::core
