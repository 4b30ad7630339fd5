#include "core/admit/admit_executor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/state/executors/kept_reservations.h"
#include "core/state/executors/linux_user.h"
#include "text/hostlist.h"
#include "text/spelling.h"

namespace dove::core {
namespace {

Error wrong(const char* code, std::string message, std::string field) {
  return Error{ErrorKind::kInvalid, code, std::move(message), std::move(field)};
}

Error conflict(const char* code, std::string message) {
  return Error{ErrorKind::kConflict, code, std::move(message), ""};
}

Error unknown(const State& state, const std::string& name) {
  // Executors that only hold placeholders would be of no use to the submitter.
  std::vector<std::string> able;
  for (const auto& [each, executor] : state.executors) {
    if (executor.runs_jobs) able.push_back(each);
  }
  const std::string_view near = text::nearest(name, able);
  return wrong("executor_unknown",
               fmt::format("there is no executor \"{}\"{}: those that run jobs are {}; leave "
                           "`executor` out to have our agents run it",
                           name, near.empty() ? "" : fmt::format(", perhaps you mean {}", near),
                           able.empty() ? "none" : fmt::format("{}", fmt::join(able, ", "))),
               "executor");
}

// Devices are given whole.
// The foreign scheduler gives devices by index, and knows neither our shares nor our slices.
Result<void> check_request(const Executor& executor, const Request& request,
                           const std::string& field) {
  if (request.share_milli > 0 || request.gpu_memory_bytes > 0) {
    return wrong("executor_no_shares",
                 fmt::format("executor {} gives whole GPUs only: ask for `gpus`, or leave "
                             "`executor` out",
                             executor.name),
                 field + (request.share_milli > 0 ? ".share_milli" : ".gpu_memory_bytes"));
  }
  if (request.slice.empty() && request.slices == 0) return {};
  return wrong("executor_no_slices",
               fmt::format("executor {} gives whole GPUs only: ask for `gpus` in place of slices, "
                           "or leave `executor` out",
                           executor.name),
               field + ".slice");
}

// The script starts steps on all nodes of its job, the tasks of which are counted by node.
Result<void> check_script(const Executor& executor, const JobSpec& spec) {
  if (spec.launch != LaunchMode::kBatch || spec.groups.size() == 1) return {};
  return wrong("executor_script_groups",
               fmt::format("executor {} runs a script with one group of tasks: join the groups, or "
                           "leave `executor` out",
                           executor.name),
               "groups");
}

bool is_live(const Job& job, const std::string& executor) {
  return job.phase != JobPhase::kEnded && job.spec->executor == executor;
}

// A node cannot leave the executor while it runs a job of ours there.
Result<void> check_nodes_stay(const State& state, const Executor& executor) {
  // By node, as jobs on nodes are few beside all jobs.
  for (const Node& node : state.nodes) {
    if (text::any_hostlist_holds(executor.nodes, node.name)) continue;
    for (const JobId id : node.jobs) {
      if (state.find_job(id)->spec->executor != executor.name) continue;
      return conflict("executor_in_use",
                      fmt::format("executor {} runs job {} on node {}: leave the node in `nodes` "
                                  "until the job has ended, or cancel it",
                                  executor.name, id.value, node.name));
    }
  }
  return {};
}

Result<void> check_yields(const Executor& executor) {
  if (executor.yields_to.empty()) return {};
  if (executor.gate) {
    return wrong("executor_yields_at_gate",
                 fmt::format("executor {} has a gate, where its jobs preempt ours already: put the "
                             "partitions behind the gate, and leave `yields_to` out",
                             executor.name),
                 "yields_to");
  }
  if (executor.placeholders) return {};
  return wrong(
      "executor_yields_nothing",
      fmt::format("executor {} holds nothing for our jobs (`placeholders: false`), so none "
                  "of them keeps room from its own: leave `yields_to` out",
                  executor.name),
      "yields_to");
}

}  // namespace

Result<void> admit_executor(const State& state, const JobSpec& spec) {
  const Executor* keeper = keeper_of(state, spec.reservation);
  const bool is_its_job =
      !spec.foreign_job.empty() && keeper != nullptr && keeper->name == spec.executor;
  if (keeper != nullptr && !is_its_job) {
    return wrong("reservation_of_executor",
                 fmt::format("reservation {} is {}'s own, which lets in its own jobs only: submit "
                             "the job there, or leave `reservation` out",
                             spec.reservation, keeper->name),
                 "reservation");
  }
  // A job that waits in another scheduler (`foreign_job`) runs nowhere else, so it never stands
  // without its executor.
  if (spec.executor.empty()) {
    if (spec.foreign_job.empty()) return {};
    return wrong("foreign_job_of_nobody", "say in `executor` where this job waits", "executor");
  }
  const auto found = state.executors.find(spec.executor);
  if (found == state.executors.end()) return unknown(state, spec.executor);
  const Executor& executor = found->second;
  // The executor runs it by its own script, so what follows for jobs of ours does not concern it.
  if (!spec.foreign_job.empty()) {
    if (executor.gate || !executor.yields_to.empty()) return {};
    return conflict("executor_no_gate",
                    fmt::format("jobs of executor {} do not wait for the ledger: an administrator "
                                "declares it with `gate: true`, or with partitions in `yields_to`",
                                executor.name));
  }
  if (!executor.runs_jobs) {
    return Error{ErrorKind::kConflict, "executor_runs_no_jobs",
                 fmt::format("executor {} runs no jobs of ours: leave `executor` out, or have an "
                             "administrator declare it with `runs_jobs: true`",
                             executor.name),
                 "executor"};
  }
  for (std::size_t i = 0; i < spec.groups.size(); ++i) {
    const std::string field = fmt::format("groups[{}]", i);
    TRY(check_request(executor, spec.groups[i].per_task, field + ".per_task"));
    TRY(check_request(executor, spec.groups[i].per_node, field + ".per_node"));
  }
  // Shape before identity: the first can be put right in the file, the second needs an
  // administrator.
  TRY(check_script(executor, spec));
  if (!linux_user_of(state, spec.user, RunAs::kSubmitter).empty()) return {};
  return Error{ErrorKind::kDenied, "no_linux_user",
               fmt::format("executor {0} runs jobs as their submitter's Linux user, and user {1} "
                           "has none: leave `executor` out, or have an administrator name one "
                           "(`linux_user` of User {1})",
                           executor.name, spec.user),
               "executor"};
}

Result<void> check_executor(const State& state, const Executor& executor) {
  // The colon ends its name in those of its reservations.
  const bool is_new = !state.executors.contains(executor.name);
  if (is_new && executor.name.find(':') != std::string::npos) {
    return wrong("executor_name", "the name of an executor has no colon: choose another", "name");
  }
  // What they leave is held by fences, which such an executor has none of.
  if (!executor.preempts.empty() && !executor.placeholders) {
    return wrong("executor_preempts_nothing",
                 fmt::format("executor {} holds nothing for our jobs (`placeholders: false`), so "
                             "none of its own can make room for them: leave `preempts` out",
                             executor.name),
                 "preempts");
  }
  TRY(check_yields(executor));
  TRY(check_nodes_stay(state, executor));
  // Only taking an ability away can strand jobs. Where both stay, or the executor is new, no job
  // has to be looked at.
  const bool able = executor.runs_jobs && executor.gate;
  const auto known = state.executors.find(executor.name);
  if (able || known == state.executors.end()) return {};
  // Waiting jobs count as well: they could never start without it.
  for (const auto& [id, job] : state.jobs) {
    if (!is_live(job, executor.name)) continue;
    const bool is_foreign = !job.spec->foreign_job.empty();
    // What only gets room runs there whatever becomes of it here.
    if (is_foreign ? executor.gate || !known->second.gate : executor.runs_jobs) continue;
    return conflict("executor_in_use",
                    fmt::format("job {} is still to be run by executor {}: keep `{}: true` until "
                                "such jobs have ended, or cancel them",
                                id.value, executor.name, is_foreign ? "gate" : "runs_jobs"));
  }
  return {};
}

Result<void> check_keeper(const State& state, const std::string& reservation) {
  const Executor* keeper = keeper_of(state, reservation);
  if (keeper == nullptr) return {};
  // Its adapter may be gone for good, and with it whoever could end the reservation.
  const auto standing = state.standings.find(keeper->name);
  const bool is_silent =
      standing != state.standings.end() && standing->second.contact == ExecutorContact::kSilent;
  if (is_silent) return {};
  return Error{
      ErrorKind::kConflict, "kept_by_executor",
      fmt::format("reservation {} is {}'s own: change it there, and it changes here within "
                  "seconds",
                  reservation, keeper->name),
      "name"};
}

Result<void> executor_idle(const State& state, const std::string& name) {
  for (const auto& [id, job] : state.jobs) {
    if (!is_live(job, name)) continue;
    return conflict("executor_in_use",
                    fmt::format("job {} is run by executor {} or waits for it: cancel such jobs, "
                                "or let them end",
                                id.value, name));
  }
  return {};
}

Result<void> check_removal(const State& state, const Node& node) {
  // Our own tasks end with the node's fence. What an executor runs goes on, and only its report
  // ends it.
  for (const JobId id : node.jobs) {
    const JobSpec& spec = *state.find_job(id)->spec;
    if (spec.executor.empty()) continue;
    return conflict("node_in_use",
                    fmt::format("executor {} runs job {} on node {}: cancel it first, or let it "
                                "end",
                                spec.executor, id.value, node.name));
  }
  return {};
}

}  // namespace dove::core
