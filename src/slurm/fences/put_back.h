// Jobs of Slurm's users that make room for jobs of ours: they are requeued, and run again later.
//
// Slurm gives what such a job releases to the next job of its queue at once. Fences
// (standing_fences.h) therefore wait at the head of that queue before the job is asked to end. Its
// user's signal comes first (user_signal.h), then the delay that the user wants. The job itself is
// not held: Slurm starts it again where there is room. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "slurm/fences/standing_fences.h"
#include "slurm/observed.h"

namespace dove::slurm {

struct PutBack {
  std::int64_t id = 0;   // of Slurm's job
  std::int64_t job = 0;  // of ours, which takes its place
  bool operator==(const PutBack&) const = default;
};

// The administrator's comment of a job that was put back, or is at `at_s` (since 1970 UTC; 0: now).
// It replaces no other one, and is taken back by the adapter of the same cluster alone: several may
// share a Slurm.
std::string put_back_words(std::int64_t job, const std::string& cluster, std::int64_t at_s = 0);

// It began again so lately that it is to get on first: a pause as after preemptions of our jobs
// (model/preempt_pause.h), from its start. Slurm counts restarts, whatever the reason.
bool is_spared(const JobSeen& job, std::int64_t now_s);

// The Slurm jobs of the list that hold something and may be requeued: what waits for their devices
// does not wait in vain.
std::set<std::int64_t> leaving_jobs(const Observed& observed, const std::vector<PutBack>& wanted);

struct PutBackDue {
  std::int64_t id = 0;
  std::string handle;
  std::int64_t job = 0;  // as of PutBack
  bool may_say = false;  // its comment is nobody else's
  std::int64_t started_s = 0;
  std::int64_t at_s = 0;  // when it is to end, as its comment says; 0: it does not
};

// The Slurm jobs that run on and whose comments still say that they are put back at some time, in
// vain: they are not in the list. Words of former versions name no cluster, and are in vain once
// their time has passed. By job, what scontrol calls it.
std::map<std::int64_t, std::string> told_in_vain(const Observed& observed,
                                                 const std::vector<PutBack>& wanted,
                                                 const std::string& cluster, std::int64_t now_s);

// Those that are to be warned or requeued now: a fence waits for each kept device that they have.
std::vector<PutBackDue> due_put_backs(const Observed& observed, const std::vector<PutBack>& wanted,
                                      const DevicesOfNodes& kept, const std::string& cluster,
                                      std::int64_t now_s);

}  // namespace dove::slurm
