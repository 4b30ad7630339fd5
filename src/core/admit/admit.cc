#include "core/admit/admit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/admit/admit_executor.h"
#include "core/admit/admit_people.h"
#include "core/admit/admit_slices.h"
#include "core/admit/admit_times.h"
#include "core/admit/quota.h"
#include "core/place/cannot_start.h"
#include "core/place/limits.h"
#include "core/place/reservation.h"
#include "core/state/books.h"
#include "core/state/dependency.h"
#include "core/state/fold.h"
#include "model/huge_pages.h"
#include "text/feature_expression.h"

namespace dove::core {
namespace {

// Bounds far above any cluster. They keep cores and devices times tasks within 64 bits. Bytes and
// countables times tasks may be more, and are cut to the largest number (core/state/amount.h).
constexpr std::int32_t kTasks_max = 100'000;
constexpr std::int32_t kPer_request_max = 1'000'000;
constexpr std::int64_t kBytes_max = std::int64_t{1} << 50;
constexpr std::int64_t kAmount_max = std::int64_t{1} << 40;
constexpr std::size_t kGroups_max = 64;
constexpr std::size_t kDependencies_max = 1000;
constexpr Span kSpan_max = seconds(std::int64_t{10} * 365 * 24 * 3600);

Error wrong(const char* code, std::string message, std::string field) {
  return Error{ErrorKind::kInvalid, code, std::move(message), std::move(field)};
}

Result<void> check_amount(std::int64_t amount, std::int64_t most, const std::string& field) {
  if (amount >= 0 && amount <= most) return {};
  return wrong("amount_out_of_range",
               fmt::format("{} is {}: use a number from 0 to {}", field, amount, most), field);
}

Result<void> check_countable(const Countable& one, const std::string& field) {
  const std::int64_t page_bytes = huge_page_bytes(one.name);
  // Pages are reserved whole: a part of one could be asked for, but never given.
  TRY(check_amount(one.amount, page_bytes > 0 ? kBytes_max : kAmount_max, field));
  if (page_bytes == 0 || one.amount % page_bytes == 0) return {};
  return wrong("huge_pages_cut",
               fmt::format("{} bytes are no whole number of pages: ask for a multiple of {}",
                           one.amount, one.name.substr(kHugePages.size())),
               field);
}

Result<void> check_request(const Request& request, const std::string& field) {
  TRY(check_amount(request.cores, kPer_request_max, field + ".cores"));
  TRY(check_amount(request.memory_bytes, kBytes_max, field + ".memory_bytes"));
  TRY(check_amount(request.gpus, kPer_request_max, field + ".gpus"));
  TRY(check_amount(request.share_milli, kWholeDevice_milli - 1, field + ".share_milli"));
  TRY(check_amount(request.gpu_memory_bytes, kBytes_max, field + ".gpu_memory_bytes"));
  // Two ways to hold a device, and one task has one.
  if (request.gpus > 0 && request.share_milli > 0) {
    return wrong("gpus_and_share",
                 "a task gets whole devices or a share of one: leave out gpus or share_milli",
                 field + ".share_milli");
  }
  TRY(check_slices(request, field));
  std::string last;
  for (const Countable& one : request.countables) {
    TRY(check_countable(one, field + ".countables." + one.name));
    // Ascending, each once: readers look names up by halving.
    if (one.name <= last) {
      return wrong("countables_order", "name each countable once, in ascending order",
                   field + ".countables");
    }
    last = one.name;
  }
  return {};
}

Result<void> check_group(const TaskGroup& group, const std::string& field) {
  // All other amounts are multiplied by the number of tasks later, so it is bounded first.
  if (group.tasks < 1 || group.tasks > kTasks_max) {
    return wrong("tasks_out_of_range",
                 fmt::format("a group has 1 to {} tasks, not {}", kTasks_max, group.tasks),
                 field + ".tasks");
  }
  // Each node gets a task at least, so more nodes than tasks could never be filled.
  TRY(check_amount(group.nodes_min, group.tasks, field + ".nodes_min"));
  TRY(check_amount(group.nodes_max, kTasks_max, field + ".nodes_max"));
  TRY(check_amount(group.tasks_per_node, kTasks_max, field + ".tasks_per_node"));
  if (group.nodes_max > 0 && group.nodes_max < group.nodes_min) {
    return wrong(
        "nodes_max_below_min",
        fmt::format("nodes_max {} is below nodes_min {}", group.nodes_max, group.nodes_min),
        field + ".nodes_max");
  }
  if (group.tasks_per_node > 0) {
    // Found here, where it can be put right, and not by a search that never succeeds.
    const std::int32_t nodes = (group.tasks + group.tasks_per_node - 1) / group.tasks_per_node;
    if (nodes < group.nodes_min || (group.nodes_max > 0 && nodes > group.nodes_max)) {
      return wrong("tasks_and_nodes_disagree",
                   fmt::format("{} tasks, {} on each node, make {} nodes: change tasks, "
                               "tasks_per_node or the number of nodes",
                               group.tasks, group.tasks_per_node, nodes),
                   field + ".tasks_per_node");
    }
  }
  TRY(check_request(group.per_task, field + ".per_task"));
  return check_request(group.per_node, field + ".per_node");
}

Result<void> check_spans(const JobSpec& spec) {
  // Spans are added to instants, and a sum beyond kNever would read as "without end".
  TRY(check_amount(spec.time_limit.us, kSpan_max.us, "time_limit"));
  TRY(check_amount(spec.kill_grace.us, seconds(24 * 3600).us, "kill_grace"));
  TRY(check_amount(spec.checkpoint_grace.us, seconds(24 * 3600).us, "checkpoint_grace"));
  TRY(check_amount(spec.slice_min.us, kSpan_max.us, "slice_min"));
  TRY(check_amount(spec.checkpoint_signal, 64, "checkpoint_signal"));
  // Half of kNever leaves room for any span that is added later.
  TRY(check_amount(spec.begin_at.us, Instant{kNever.us / 2}.us, "begin_at"));
  TRY(check_amount(spec.deadline.us, Instant{kNever.us / 2}.us, "deadline"));
  TRY(check_amount(spec.retries_max, 1000, "retries_max"));
  TRY(check_amount(spec.array.running_max, kTasks_max, "array.running_max"));
  if (spec.priority < -1'000'000 || spec.priority > 1'000'000) {
    return wrong("priority_out_of_range", "priority is -1000000 to 1000000", "priority");
  }
  return {};
}

Result<void> check_features(const JobSpec& spec) {
  // Each choice is a search of its own.
  std::size_t choices = 0;
  std::size_t wishes = 0;
  for (const std::string& wish : spec.features) {
    if (!text::is_same_on_all(wish)) continue;
    ++wishes;
    choices = 1 + static_cast<std::size_t>(std::count(wish.begin(), wish.end(), '|'));
  }
  if (wishes <= 1 && choices <= text::kChoicesMax) return {};
  return wrong("too_many_choices",
               fmt::format("one of several features can be the same on all nodes once, and one of "
                           "{} at most: keep one of the [...], or shorten it",
                           text::kChoicesMax),
               "features");
}

Result<void> check_dependency(const State& state, const Dependency& one, const std::string& field) {
  TRY(check_amount(one.delay.us, kSpan_max.us, field + ".delay"));
  // A singleton waits for jobs by name and user, and names no job.
  if (one.kind == DependencyKind::kSingleton) return {};
  // Ids ascend, so one below the next was given to somebody once. Only earlier jobs can be named,
  // which is why dependencies never form a circle.
  if (!one.job || one.job.value >= state.next_job) {
    return wrong("dependency_unknown",
                 fmt::format("job {} does not exist: name a job submitted before", one.job.value),
                 field + ".job");
  }
  // An outcome has to be known; that a job has ended is known by its being forgotten.
  const bool needs_outcome =
      one.kind != DependencyKind::kAfter && one.kind != DependencyKind::kAfterAny;
  if (needs_outcome && !knows_outcome(state, one.job)) {
    return wrong("dependency_forgotten",
                 fmt::format("how job {} ended is no longer known: leave the dependency out, or "
                             "use afterany",
                             one.job.value),
                 field + ".job");
  }
  return {};
}

Result<void> check_dependencies_of(const State& state, const JobSpec& spec) {
  for (std::size_t i = 0; i < spec.dependencies.size(); ++i) {
    TRY(check_dependency(state, spec.dependencies[i], fmt::format("dependencies[{}]", i)));
  }
  return {};
}

Result<void> check_array(const State& state, const ArraySpec& array) {
  if (static_cast<std::int64_t>(array.indices.size()) > state.settings.array_max) {
    return Error{ErrorKind::kTooLarge, "array_too_large",
                 fmt::format("the array has {} elements, {} are allowed: split it",
                             array.indices.size(), state.settings.array_max),
                 "array"};
  }
  for (std::size_t i = 0; i < array.indices.size(); ++i) {
    // Ascending, so that element and index can be found from one another.
    if (array.indices[i] < 0 || (i > 0 && array.indices[i] <= array.indices[i - 1])) {
      return wrong("array_indices", "array indices ascend from 0 upwards, each once", "array");
    }
  }
  return {};
}

Result<void> check_waiting(const char* what, const std::string& name, const Limits& limits,
                           const std::map<std::string, Usage>& usage, std::int64_t elements) {
  // Unlimited: nothing has to be looked up.
  if (limits.jobs_waiting < 0) return {};
  const auto at = usage.find(name);
  const std::int64_t waiting = at == usage.end() ? 0 : at->second.jobs_waiting;
  if (waiting + elements <= limits.jobs_waiting) return {};
  return Error{ErrorKind::kExhausted, "too_many_waiting",
               fmt::format("{} {} may have {} jobs waiting and has {}, so {} more would be over by "
                           "{}: submit again when some have started, or have an administrator of "
                           "the cluster raise the limit",
                           what, name, limits.jobs_waiting, waiting, elements,
                           waiting + elements - limits.jobs_waiting),
               what};
}

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// Jobs wait in queues that have none below them.
Result<void> check_leaf(const State& state, const JobSpec& spec) {
  std::vector<std::string> below;
  for (const auto& [name, queue] : state.queues) {
    // Few clusters have more than a few dozen queues, and a submission is rare beside decisions.
    if (queue.parent == spec.queue) below.push_back(name);
  }
  if (below.empty()) return {};
  return wrong(
      "queue_has_children",
      fmt::format("queue \"{}\" has queues below it and takes no jobs itself: use one of {}",
                  spec.queue, listed(below)),
      "queue");
}

Result<void> check_pool(const State& state, const JobSpec& spec) {
  const Pool* pool = pool_of(state, spec);
  if (pool == nullptr) {
    return wrong("pool_unknown", fmt::format("there is no pool \"{}\"", spec.pool), "pool");
  }
  if (may_use(state, *pool, spec.user, spec.project)) return {};
  // Only those open to the user are named: the others are of no use to it.
  std::vector<std::string> open;
  for (const auto& [name, other] : state.pools) {
    if (may_use(state, other, spec.user, spec.project)) open.push_back(name);
  }
  return Error{
      ErrorKind::kDenied, "pool_not_yours",
      fmt::format("pool \"{}\" is not open to user {}{}: open to you are {}", pool->name, spec.user,
                  spec.project.empty() ? "" : fmt::format(" in project {}", spec.project),
                  listed(open)),
      "pool"};
}

Result<void> quota_error(const State& state, const char* level, const char* code,
                         const std::vector<Reason>& broken) {
  if (broken.empty()) return {};
  std::vector<std::string> texts;
  for (const Reason& r : broken) texts.push_back(over_text(r));
  const std::string& name = broken.front().subject;
  return Error{ErrorKind::kExhausted, code,
               fmt::format("{} \"{}\" would be over its quota ({}): cancel jobs of it, ask for "
                           "less, or have {} raise it",
                           level, name, fmt::join(texts, "; "), raised_by(state, level, name)),
               "project"};
}

Result<void> check_project(const State& state, const JobSpec& spec) {
  // Projects are free text until the first is declared.
  if (spec.project.empty() || state.projects.empty()) return {};
  const auto project = state.projects.find(spec.project);
  if (project == state.projects.end()) {
    std::vector<std::string> known;
    for (const auto& [name, each] : state.projects) known.push_back(name);
    return wrong(
        "project_unknown",
        fmt::format("there is no project \"{}\": known are {}", spec.project, listed(known)),
        "project");
  }
  return check_member(state, project->second, spec.user);
}

// The first refusal, with the messages of the others: whoever mends one wants to know what is left.
Result<void> together(const std::vector<Result<void>>& checks) {
  std::optional<Error> first;
  for (const Result<void>& check : checks) {
    if (check.ok()) continue;
    if (!first) {
      first = check.error();
    } else {
      first->message += "; also: " + check.error().message;
    }
  }
  if (first) return *first;
  return {};
}

// The limits of the job's queues, project, domain and user.
Result<void> check_limits(const State& state, const JobSpec& spec, std::int64_t elements) {
  std::vector<Result<void>> checks;
  // Each queue up to the root counts the jobs below it.
  for (const Queue* each : queue_path(state, spec.queue)) {
    checks.push_back(
        check_waiting("queue", each->name, each->limits, state.usage_by_queue, elements));
  }
  // One job before all jobs together: a job that is too large by itself is not helped by waiting
  // for others to end.
  std::ranges::move(check_job_limits(state, spec), std::back_inserter(checks));
  checks.push_back(
      quota_error(state, "project", "project_quota", broken_project_limits(state, spec, elements)));
  checks.push_back(
      quota_error(state, "domain", "domain_quota", broken_domain_limits(state, spec, elements)));
  checks.push_back(check_month(state, spec));
  if (const Limits* limits = limits_of_user(state, spec.user)) {
    checks.push_back(check_waiting("user", spec.user, *limits, state.usage_by_user, elements));
  }
  return together(checks);
}

// As `elements` more jobs.
Result<void> check_holders(const State& state, const JobSpec& spec, std::int64_t elements) {
  // Names before numbers: whether queue and pool exist and take the job, then whether it fits in.
  const auto queue = state.queues.find(spec.queue);
  if (queue == state.queues.end()) {
    return wrong("queue_unknown", fmt::format("there is no queue \"{}\"", spec.queue), "queue");
  }
  if (!queue->second.open) {
    return Error{ErrorKind::kConflict, "queue_closed",
                 fmt::format("queue \"{}\" takes no jobs now: use another one", spec.queue),
                 "queue"};
  }
  TRY(check_leaf(state, spec));
  TRY(check_pool(state, spec));
  TRY(check_submitter(state, spec.user));
  const std::int64_t live = state.usage.jobs_running + state.usage.jobs_waiting;
  // What the cluster holds bounds its memory and the time of a restart, so it is checked before
  // anybody's quota.
  if (live + elements > state.settings.jobs_max) {
    return Error{ErrorKind::kExhausted, "too_many_jobs",
                 fmt::format("the cluster holds {} jobs at most (jobs_max): submit again when some "
                             "have ended",
                             state.settings.jobs_max),
                 ""};
  }
  TRY(check_project(state, spec));
  TRY(check_limits(state, spec, elements));
  for (const Countable& one : spec.cluster_requests) {
    TRY(check_amount(one.amount, kAmount_max, "cluster_requests." + one.name));
    // A licence that nobody declared will never be there: refused now, or the job would wait for
    // ever.
    if (amount_of(state.settings.countables, one.name) == 0) {
      return wrong("countable_unknown",
                   fmt::format("the cluster has no countable \"{}\"", one.name),
                   "cluster_requests." + one.name);
    }
  }
  return {};
}

// What depends on the state, and may have changed since a job was submitted.
Result<void> check_now(const State& state, const JobSpec& spec, std::int64_t elements) {
  TRY(check_holders(state, spec, elements));
  TRY(admit_executor(state, spec));
  TRY(check_slices_of_pool(state, spec));
  return admit_times(state, spec);
}

// What the submitter should know of the pool.
std::vector<std::string> fit_warnings(const State& state, const JobSpec& spec) {
  std::vector<std::string> warnings;
  const Pool& pool = *pool_of(state, spec);
  if (pool.exclusive && !spec.exclusive) {
    warnings.push_back(
        fmt::format("pool \"{}\" gives whole nodes: the job gets all of each, whatever it asks for",
                    pool.name));
  }
  if (std::string why = month_warning(state, spec); !why.empty())
    warnings.push_back(std::move(why));
  // A warning and no refusal: nodes may join or change.
  const std::vector<std::string> never = cannot_start(state, spec);
  for (const std::string& why : never) {
    warnings.push_back(
        fmt::format("this job cannot start: {}. It waits until nodes join or change", why));
  }
  // Drained nodes come back, so this is given only where there is nothing worse.
  if (const std::string why = all_drained(state, spec); never.empty() && !why.empty()) {
    warnings.push_back(fmt::format("{}: the job waits until one is taken back", why));
  }
  return warnings;
}

}  // namespace

Result<void> admit_again(const State& state, const Job& job) {
  // Eligible once, eligible for good.
  if (job.eligible_at.us == 0) TRY(check_dependencies_of(state, *job.spec));
  return check_now(state, *job.spec, 1);
}

std::vector<std::string> submission_warnings(const State& state, const JobSpec& spec) {
  if (!state.queues.contains(spec.queue) || pool_of(state, spec) == nullptr) return {};
  return fit_warnings(state, spec);
}

Result<std::vector<std::string>> admit(const State& state, const JobSpec& spec) {
  // The shape first, then what depends on the state: an error about the file is worth more than one
  // about the cluster.
  if (spec.groups.empty() || spec.groups.size() > kGroups_max) {
    return wrong("groups_count", fmt::format("a job has 1 to {} groups", kGroups_max), "groups");
  }
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    TRY(check_group(spec.groups[i], fmt::format("groups[{}]", i)));
  }
  TRY(check_spans(spec));
  TRY(check_features(spec));
  TRY(check_array(state, spec.array));
  if (spec.dependencies.size() > kDependencies_max) {
    return wrong("dependencies_count",
                 fmt::format("a job has at most {} dependencies", kDependencies_max),
                 "dependencies");
  }
  TRY(check_dependencies_of(state, spec));
  // Each element of an array is a job of its own, and counts as one wherever jobs are counted.
  TRY(check_now(state, spec, std::max<std::int64_t>(std::ssize(spec.array.indices), 1)));
  // Whatever remains is no error. Nodes may join, and the job may wait for them.
  return fit_warnings(state, spec);
}

}  // namespace dove::core
