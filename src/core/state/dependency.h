// Dependencies: whether the jobs that a waiting job depends on allow it to start, and whether they
// ever can.
//
// They are level-triggered: the answer follows from the present State, so it does not matter when
// or how often it is asked for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/state/state.h"

namespace dove::core {

enum class DependencyLevel { kMet, kWaiting, kNever };

struct DependencyVerdict {
  DependencyLevel level = DependencyLevel::kMet;
  Instant since;           // kMet: since when
  Instant until = kNever;  // kWaiting: time alone will meet it then
  JobId other;             // what is waited for, or what made it impossible
};

// An index for jobs that wait for earlier ones of their user and name. Whoever keeps one keeps it
// in step with the State; the answers are the same without it, found by going through the jobs.
struct Singletons {
  std::set<JobId> jobs;  // live ones that wait, or waited, for others of their name
  // Live, by user and name; kept while there are singletons.
  std::map<std::pair<std::string, std::string>, std::set<JobId>> named;
};

// Whether nothing of what `id` names, a job or an array, has been forgotten.
bool knows_outcome(const State& state, JobId id);

// Slurm's aftercorr: whom the job waits for where it names `other`. The element of its own index,
// if that is an array, else the job as a whole; 0: there is none.
JobId counterpart_of(const State& state, const Job& job, JobId other);

DependencyVerdict check_dependency(const State& state, const Job& job, const Dependency& one,
                                   const Singletons* index = nullptr);

// All of the job's dependencies, or one of them where it says that one is enough.
DependencyVerdict check_dependencies(const State& state, const Job& job,
                                     const Singletons* index = nullptr);

// When the job could be started, had there been room; kNever while something else must happen
// first. In the future: its begin time or a delay has not passed.
Instant startable_at(const State& state, const Job& job, const Singletons* index = nullptr);

// When it was submitted, or its last attempt ended: it has not waited since before.
Instant waits_again_at(const Job& job);

// Since when the job could have been started, had there been room: its begin_at and the end of its
// dependencies. None while it cannot. Ignores holds. Job::eligible_at holds it from the first
// launch on.
std::optional<Instant> eligible_at(const State& state, const Job& job);

}  // namespace dove::core
