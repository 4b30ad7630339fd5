#include "core/state/dependency.h"

#include <algorithm>
#include <optional>

namespace dove::core {
namespace {

bool ended_well(const Job& job) {
  return job.phase == JobPhase::kEnded && job.outcome == Outcome::kCompleted;
}

// When the job first began, or ended without having begun.
// The first begin counts, also of an attempt that was requeued: Slurm's `after` is satisfied once.
std::optional<Instant> begun_at(const Job& job) {
  for (const Attempt& attempt : job.attempts) {
    if (attempt.started_at.us != 0) return attempt.started_at;
  }
  if (job.phase == JobPhase::kEnded) return job.ended_at;
  return std::nullopt;
}

DependencyVerdict met(Instant since) { return {DependencyLevel::kMet, since, kNever, JobId{}}; }
DependencyVerdict waits(JobId other, Instant until = kNever) {
  return {DependencyLevel::kWaiting, {}, until, other};
}
DependencyVerdict never(JobId other) { return {DependencyLevel::kNever, {}, kNever, other}; }

// Calls visit for the job, or for each element of the array, that `id` names.
template <class Visit>
void each_named(const State& state, JobId id, Visit visit) {
  // The elements of an array have the ids that follow its own.
  for (auto at = state.jobs.lower_bound(id); at != state.jobs.end(); ++at) {
    const Job& job = at->second;
    if (job.array == id) {
      visit(job);
    } else {
      if (job.id == id) visit(job);
      return;
    }
  }
}

// The outcomes of what a dependency names, summed up.
struct Tally {
  std::size_t count = 0;
  std::size_t named = 1;
  JobId unfinished;
  JobId not_begun;
  JobId bad;
  JobId good;
  Instant last_end;
  Instant last_begin;

  // The first of each kind is kept, for the reason that people read.
  void add(const Job& job) {
    ++count;
    const auto began = begun_at(job);
    if (began) {
      last_begin = std::max(last_begin, *began);
    } else if (!not_begun) {
      not_begun = job.id;
    }
    if (job.phase != JobPhase::kEnded) {
      if (!unfinished) unfinished = job.id;
      return;
    }
    last_end = std::max(last_end, job.ended_at);
    (ended_well(job) ? good : bad) = job.id;
  }
};

Tally tally(const State& state, JobId id) {
  Tally sum;
  each_named(state, id, [&](const Job& job) {
    if (job.array == id) sum.named = job.spec->array.indices.size();
    sum.add(job);
  });
  return sum;
}

bool is_whole(const Tally& sum) { return sum.count == sum.named; }

DependencyVerdict all_well(const Tally& sum) {
  // One that ended badly decides, whatever the others are still doing.
  if (sum.bad) return never(sum.bad);
  return sum.unfinished ? waits(sum.unfinished) : met(sum.last_end);
}

DependencyVerdict element_well(const State& state, const Job& job, JobId other) {
  const Job* counterpart = state.find_job(counterpart_of(state, job, other));
  // No such element, and none can come: it would wait for ever.
  if (counterpart == nullptr) return never(other);
  Tally sum;
  sum.add(*counterpart);
  return all_well(sum);
}

DependencyVerdict no_earlier_left(const State& state, const Job& job, const Singletons* index) {
  // With the index this is one look-up, without it a walk over all older jobs. Explanations have no
  // index.
  if (index != nullptr && index->jobs.contains(job.id)) {
    const auto named = index->named.find({job.spec->user, job.spec->name});
    if (named == index->named.end() || *named->second.begin() >= job.id) return met({});
    return waits(*named->second.begin());
  }
  for (const auto& [id, other] : state.jobs) {
    // Only older ones: two singletons never wait for one another.
    if (id >= job.id) break;
    if (other.phase != JobPhase::kEnded && other.spec->user == job.spec->user &&
        other.spec->name == job.spec->name) {
      return waits(id);
    }
  }
  return met({});
}

}  // namespace

bool knows_outcome(const State& state, JobId id) { return is_whole(tally(state, id)); }

JobId counterpart_of(const State& state, const Job& job, JobId other) {
  // The first that is left of the array, or the one job of that name.
  const auto at = state.jobs.lower_bound(other);
  if (at == state.jobs.end()) return {};
  const Job& first = at->second;
  if (first.array != other) return first.id == other ? other : JobId{};
  // Elements have the ids that follow the array's own, in the order of their indices.
  const std::vector<std::int32_t>& indices = first.spec->array.indices;
  const auto index = std::lower_bound(indices.begin(), indices.end(), job.array_index);
  if (index == indices.end() || *index != job.array_index) return {};
  const JobId id(other.value + static_cast<std::uint64_t>(index - indices.begin()));
  return state.find_job(id) == nullptr ? JobId{} : id;
}

DependencyVerdict check_dependency(const State& state, const Job& job, const Dependency& one,
                                   const Singletons* index) {
  if (one.kind == DependencyKind::kSingleton) return no_earlier_left(state, job, index);
  if (one.kind == DependencyKind::kAfterCorr) return element_well(state, job, one.job);
  // It may name jobs that were forgotten: they ended, so what only waits for an end is met.
  const Tally sum = tally(state, one.job);
  switch (one.kind) {
    case DependencyKind::kAfter: {
      if (sum.not_begun) return waits(sum.not_begun);
      const Instant at = sum.last_begin + one.delay;
      return at > state.now ? waits(one.job, at) : met(at);
    }
    case DependencyKind::kAfterAny:
      return sum.unfinished ? waits(sum.unfinished) : met(sum.last_end);
    case DependencyKind::kAfterOk:
      // How a forgotten job ended is not known. To guess "well" could start what must not run, as
      // programs of the first level did for arrays of which an element was left.
      if (state.level > kFirstLevel ? !is_whole(sum) : sum.count == 0) return never(one.job);
      return all_well(sum);
    case DependencyKind::kAfterNotOk:
      if (sum.unfinished) return waits(sum.unfinished);
      return sum.bad ? met(sum.last_end) : never(one.job);
    case DependencyKind::kAfterCorr:
    case DependencyKind::kSingleton:
      break;
  }
  return met({});
}

DependencyVerdict check_dependencies(const State& state, const Job& job, const Singletons* index) {
  // Both answers in one pass: `all` for dependencies joined by commas, `best` for those joined by
  // question marks.
  const bool any = job.spec->any_dependency;
  DependencyVerdict all = met({});
  std::optional<DependencyVerdict> best;
  for (const Dependency& one : job.spec->dependencies) {
    const DependencyVerdict verdict = check_dependency(state, job, one, index);
    switch (verdict.level) {
      case DependencyLevel::kMet:
        // All have been met since the last of them was.
        all.since = std::max(all.since, verdict.since);
        // Any has been met since the first of them was.
        if (!best || best->level != DependencyLevel::kMet || verdict.since < best->since) {
          best = verdict;
        }
        break;
      case DependencyLevel::kWaiting:
        if (all.level == DependencyLevel::kWaiting) {
          // Both must come: kNever stands for "not by time alone".
          all.until = std::max(all.until, verdict.until);
        } else if (all.level == DependencyLevel::kMet) {
          all = verdict;
        }
        if (!best || best->level == DependencyLevel::kNever) {
          best = verdict;
        } else if (best->level == DependencyLevel::kWaiting) {
          // The first to come is enough.
          best->until = std::min(best->until, verdict.until);
        }
        break;
      case DependencyLevel::kNever:
        if (all.level != DependencyLevel::kNever) all = verdict;
        if (!best) best = verdict;
        break;
    }
  }
  return any && best ? *best : all;
}

Instant startable_at(const State& state, const Job& job, const Singletons* index) {
  const Instant begin = std::max({job.submitted_at, job.spec->begin_at, job.not_before});
  // Eligible once, eligible for good: a dependency that is forgotten later takes nothing back.
  if (job.eligible_at.us != 0 || job.spec->dependencies.empty()) return begin;
  const DependencyVerdict verdict = check_dependencies(state, job, index);
  switch (verdict.level) {
    case DependencyLevel::kMet:
      return std::max(begin, verdict.since);
    case DependencyLevel::kWaiting:
      return verdict.until == kNever ? kNever : std::max(begin, verdict.until);
    case DependencyLevel::kNever:
      return kNever;
  }
  return kNever;
}

Instant waits_again_at(const Job& job) {
  return job.attempts.empty() ? job.submitted_at : job.attempts.back().ended_at;
}

std::optional<Instant> eligible_at(const State& state, const Job& job) {
  if (job.eligible_at.us != 0) return job.eligible_at;
  const Instant at = startable_at(state, job);
  if (at > state.now) return std::nullopt;
  return at;
}

}  // namespace dove::core
