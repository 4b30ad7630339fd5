#include "core/explain/explain.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/check.h"
#include "core/explain/explain_ahead.h"
#include "core/explain/explain_executor.h"
#include "core/explain/explain_foreign.h"
#include "core/explain/explain_index.h"
#include "core/explain/explain_places.h"
#include "core/explain/explain_plan.h"
#include "core/place/limits.h"
#include "core/preempt/foreign_jobs.h"
#include "core/preempt/victim_explain.h"
#include "core/state/books.h"
#include "core/state/dependency.h"
#include "core/state/restored/restored.h"

namespace dove::core {
namespace {

Reason reason(ReasonKind kind, std::string subject = "") {
  Reason made;
  made.kind = kind;
  made.subject = std::move(subject);
  return made;
}

const char* word(DependencyKind kind) {
  switch (kind) {
    case DependencyKind::kAfter:
      return "after";
    case DependencyKind::kAfterOk:
      return "afterok";
    case DependencyKind::kAfterNotOk:
      return "afternotok";
    case DependencyKind::kAfterAny:
      return "afterany";
    case DependencyKind::kAfterCorr:
      return "aftercorr";
    case DependencyKind::kSingleton:
      return "singleton";
  }
  return "";
}

// A person stopped it while it ran.
// By a requeue together with a hold: it waits under its number until it is released.
bool is_stopped(const Job& job) {
  return !job.attempts.empty() && job.attempts.back().stop_reason == StopReason::kRequeued;
}

void add_dependencies(const State& state, const Job& job, std::vector<Reason>& out) {
  // With dependencies joined by question marks one that is met is enough, so the sum is asked
  // before each of them.
  if (job.eligible_at.us != 0 || check_dependencies(state, job).level == DependencyLevel::kMet) {
    return;
  }
  std::optional<Reason> nearest;
  const std::vector<Dependency>& all = job.spec->dependencies;
  for (auto one = all.begin(); one != all.end(); ++one) {
    const DependencyVerdict verdict = check_dependency(state, job, *one);
    // The same dependency may be written twice; it is one reason.
    if (verdict.level == DependencyLevel::kMet || std::find(all.begin(), one, *one) != one)
      continue;
    Reason made = reason(ReasonKind::kDependency, word(one->kind));
    made.other = verdict.other;
    if (verdict.until != kNever) made.until = verdict.until;
    if (!job.spec->any_dependency) {
      out.push_back(std::move(made));
      continue;
    }
    if (verdict.level == DependencyLevel::kNever) continue;
    // Each of them is enough: together they are one cause.
    const std::int64_t count = nearest ? nearest->count + 1 : 1;
    // A known instant before an unknown one, and the earliest of the known.
    const bool nearer =
        !nearest || (made.until.us != 0 && (nearest->until.us == 0 || made.until < nearest->until));
    if (nearer) nearest = std::move(made);
    nearest->count = count;
  }
  if (nearest) out.push_back(std::move(*nearest));
}

void add_array(const State& state, const Job& job, std::vector<Reason>& out) {
  const std::int32_t limit = job.spec->array.running_max;
  if (limit <= 0 || !job.array) return;
  Reason made = reason(ReasonKind::kArrayLimit);
  made.limit = limit;
  // Elements have the ids that follow the array's own: a walk over them, not over all jobs.
  for (auto at = state.jobs.lower_bound(job.array); at != state.jobs.end(); ++at) {
    if (at->second.array != job.array) break;
    if (at->second.phase == JobPhase::kActive) ++made.used;
  }
  if (made.used >= limit) out.push_back(std::move(made));
}

}  // namespace

std::vector<Reason> explain(const State& state, const Policies& policies, JobId id) {
  const Job* job = state.find_job(id);
  // The callers have looked the job up, and say themselves that there is none.
  CHECK(job != nullptr, "explain is asked about jobs that exist");
  return explain(state, policies, *job);
}

std::vector<Reason> explain(const State& state, const Policies& policies, const Job& job) {
  ExplainIndex index(state, policies);
  return explain(index, job);
}

std::vector<Reason> explain(ExplainIndex& index, const Job& job) {
  const State& state = index.state();
  std::vector<Reason> out;
  if (job.phase != JobPhase::kWaiting) return out;
  const JobSpec& spec = *job.spec;
  if (job.held) {
    // Held by the scheduler after failures in a row, and not by a person.
    const bool by_requeues = job.requeues_in_a_row >= state.settings.requeues_max;
    out.push_back(reason(ReasonKind::kHeld, by_requeues ? "" : spec.user));
    if (by_requeues) out.back().count = job.requeues_in_a_row;
    if (is_stopped(job)) out.back().resource = "stopped";
    // Its user may have held it there, and then has to let it go there.
    const bool is_theirs = !by_requeues && !spec.foreign_job.empty();
    if (is_theirs) out.back().level = spec.executor + " job " + spec.foreign_job;
  }
  if (const auto until = awaits_nodes_until(state, job)) {
    out.push_back(reason(ReasonKind::kBeginTime, "restored"));
    out.back().until = *until;
  } else if (const Instant begin = std::max(spec.begin_at, job.not_before); begin > state.now) {
    const bool paused = job.not_before >= spec.begin_at;
    const bool failed = paused && !job.attempts.empty() &&
                        job.attempts.back().stop_reason == StopReason::kLaunchFailed;
    out.push_back(reason(ReasonKind::kBeginTime, failed ? "launch" : paused ? "placeholder" : ""));
    out.back().until = begin;
  }
  add_dependencies(state, job, out);
  add_array(state, job, out);
  // All causes are asked for, not only the first: a person who removes one wants to know what is
  // left.
  auto limits = broken_limits(state, spec, least_amount(spec), false);
  std::vector<Reason> places;
  const Pool* pool = pool_of(state, spec);
  if (pool != nullptr) add_places(index, *pool, job, limits, places);
  add_foreign(state, job, places);
  // An executor that takes nothing outweighs what its nodes have free.
  if (const auto closed = executor_reason(state, job)) places.assign(1, *closed);
  const bool has_no_place = !places.empty();
  // Asked before the lists are moved from.
  const bool over_limit = !limits.empty();
  for (auto* more : {&limits, &places}) {
    std::move(more->begin(), more->end(), std::back_inserter(out));
    if (more != &limits) continue;
    for (Reason& one : declared_obstacles(state, spec)) out.push_back(std::move(one));
  }
  add_ahead(index, job, has_no_place, out);
  if (pool == nullptr) return out;
  WhatIf& available = index.books(*pool).available();
  // Nobody is stopped for a job that only waits for an instant or for another job.
  const bool has_victims = !index.running().preemptible.empty() || takes_from_foreign(state, job);
  if ((has_no_place || over_limit) && has_victims) {
    if (auto preemption =
            explain_victims(state, index.policies(), index.running(), available.ranked(), job)) {
      out.push_back(*preemption);
    }
  }
  // Last: it reads what was found, to tell "no place" from "a place that is promised to others".
  explain_plan(index, available, job, out);
  return out;
}

}  // namespace dove::core
