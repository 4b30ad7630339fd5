#include "server/executors/executor_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "codec/json.h"
#include "codec/quantity.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/executors/linux_user.h"
#include "core/state/executors/placeholders.h"
#include "model/rendezvous.h"
#include "text/hostlist.h"
#include "text/output_pattern.h"
#include "text/run_lengths.h"
#include "text/srun_variables.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr const char kDefault_output[] = "dove-%j.out";
// What a script's job runs on its other nodes, so that they are watched as the first one is. It
// leaves signals to the steps that the script starts there, and ends with the allocation, where
// Slurm sends SIGCONT and, at once, SIGTERM. A SIGCONT of before, such as after a suspension, does
// not count. Traps run when `sleep` ends, in any order; bash's `wait` would lose one of two. A
// shell that ignores SIGCHLD would not learn how its programs end.
constexpr const char kHolder[] = R"sh(
n=1
while [ $n -le 64 ]; do trap '' $n; n=$((n + 1)); done
trap - CHLD
now() {
  read -r now _ </proc/uptime
  now=${now%.*}
}
trap 'now; at=$now; [ $((at - ${told:--9})) -gt 1 ] || exit 0' CONT
trap 'now; told=$now; [ $((told - ${at:--9})) -gt 4 ] || exit 0' TERM
while :; do sleep 3; done
)sh";

Error cannot(const JobSpec& spec, const char* code, const char* what, const char* field) {
  return Error{ErrorKind::kInvalid, code,
               fmt::format("executor {} cannot give {}: leave it out, or leave `executor` out to "
                           "have our agents run the job",
                           spec.executor, what),
               field};
}

std::int64_t whole_seconds(Span span) { return (span.us + 999'999) / 1'000'000; }

// What names of files may hold; but for the rank, which is the task's.
std::string path_of(const core::Job& job, const std::string& node, const Placement& placement,
                    const std::string& pattern, Rank rank) {
  const std::string id = std::to_string(job.id.value);
  return text::fill_pattern(pattern, [&](char letter) -> std::string {
    switch (letter) {
      case 'A':
        return job.array ? std::to_string(job.array.value) : id;
      case 'a':
        return job.array ? std::to_string(job.array_index) : "4294967294";
      case 'j':
      case 'J':
        return id;
      case 'N':
        return node;
      case 'n':
        return std::to_string(placement.node_rank);
      case 's':
        return "batch";
      case 't':
        return std::to_string(rank);
      case 'u':
        return text::as_file_name(job.spec->user);
      case 'x':
        return text::as_file_name(job.spec->name);
      default:
        return "";
    }
  });
}

std::string output_pattern(const ExecSpec& exec) {
  return exec.output.stdout_path.empty() ? kDefault_output : exec.output.stdout_path;
}

// A node without an agent has no address but its name.
std::string address_of(const core::Node& node) {
  return node.address.empty() ? node.name : node.address;
}

// Where the tasks meet, for all of a node: whoever starts them says which rank each is.
void add_rendezvous(const core::State& state, const core::WantedWork& work, Json& all) {
  const core::Attempt& attempt = work.job->attempts.back();
  Rendezvous rendezvous;
  for (const core::PlacementRecord& record : attempt.placements) {
    const core::Node& node = *state.find_node(record.placement->node);
    std::vector<Rank> ranks;
    for (const TaskGrant& task : record.placement->tasks) ranks.push_back(task.rank);
    rendezvous.nodes.push_back({address_of(node), std::move(ranks)});
  }
  rendezvous.id = fmt::format("{}.{}", work.job->id.value, attempt.number);
  rendezvous.port = master_port(work.job->id, attempt.number);
  const RankPlace place{0, 0, work.placement->node_rank};
  for (const auto& [name, value] : rank_variables(rendezvous, place)) all[name] = value;
}

// What tasks find out about their job; their own variables come before.
Json environment_of(const core::State& state, const core::WantedWork& work, const ExecSpec& exec) {
  const core::Job& job = *work.job;
  const core::Attempt& attempt = job.attempts.back();
  std::vector<std::string> nodes;
  std::vector<std::string> addresses;
  std::vector<std::int32_t> tasks;
  for (const core::PlacementRecord& record : attempt.placements) {
    const core::Node& node = *state.find_node(record.placement->node);
    nodes.push_back(node.name);
    addresses.push_back(address_of(node));
    tasks.push_back(static_cast<std::int32_t>(record.placement->tasks.size()));
  }
  Json all{{"DOVE_JOB_ID", std::to_string(job.id.value)},
           {"DOVE_JOB_NAME", job.spec->name},
           {"DOVE_JOB_USER", job.spec->user},
           {"DOVE_ATTEMPT", std::to_string(attempt.number)},
           {"DOVE_RESTART_COUNT", std::to_string(attempt.number - 1)},
           {"DOVE_NODE", work.node->name},
           {"DOVE_NODELIST", text::fold_hostlist(nodes)},
           {"DOVE_NODE_ADDRESSES", fmt::format("{}", fmt::join(addresses, ","))},
           {"DOVE_TASKS_PER_NODE", text::fold_counts(tasks)},
           {"DOVE_TASKS", std::to_string(std::accumulate(tasks.begin(), tasks.end(), 0))}};
  if (job.array) {
    all["SLURM_ARRAY_JOB_ID"] = std::to_string(job.array.value);
    all["SLURM_ARRAY_TASK_ID"] = std::to_string(job.array_index);
  }
  for (const auto& [name, value] : exec.environment) all[name] = value;
  if (job.spec->launch != LaunchMode::kBatch) add_rendezvous(state, work, all);
  return all;
}

// Which of the placement's devices, as it lists them, are the task's; null: all of them.
Json positions_of(const TaskGrant& task, const Placement& placement) {
  Json positions = Json::array();
  const std::vector<std::int32_t> all = core::devices_of(placement);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_its =
        std::any_of(task.devices.begin(), task.devices.end(),
                    [&](const DeviceGrant& grant) { return grant.device == all[i]; });
    if (is_its) positions.push_back(i);
  }
  return positions.size() == all.size() ? Json() : positions;
}

// As a command, which an adapter of a former version runs, too.
Json hold_exec(const core::WantedWork& work) {
  const Rank rank = work.placement->tasks.empty() ? 0 : work.placement->tasks.front().rank;
  Json output{{"rank", rank}, {"devices", Json()}, {"stdout", "/dev/null"}, {"stderr", ""}};
  return {{"script", ""},
          {"command", {"/bin/sh", "-c", kHolder}},
          {"environment", Json::object()},
          {"workdir", "/"},
          {"stdin", ""},
          {"outputs", Json::array({std::move(output)})},
          {"append", false},
          {"umask", "0022"}};
}

Json exec_of(const core::State& state, const core::WantedWork& work, const ExecSpec& exec) {
  if (core::only_holds(*work.job->spec, *work.placement)) return hold_exec(work);
  const core::Job& job = *work.job;
  const bool is_script = job.spec->launch == LaunchMode::kBatch;
  const std::string out = output_pattern(exec);
  const auto path = [&](const std::string& pattern, Rank rank) {
    return path_of(job, work.node->name, *work.placement, pattern, rank);
  };
  Json outputs = Json::array();
  for (const TaskGrant& task : work.placement->tasks) {
    outputs.push_back({{"rank", task.rank},
                       {"devices", is_script ? Json() : positions_of(task, *work.placement)},
                       {"stdout", path(out, task.rank)},
                       {"stderr", path(exec.output.stderr_path, task.rank)}});
    if (is_script) break;
  }
  return {{"script", is_script ? exec.script : ""},
          {"command", is_script ? exec.script_arguments : exec.command},
          {"environment", environment_of(state, work, exec)},
          {"workdir", exec.workdir},
          {"stdin", path(exec.output.stdin_path, 0)},
          {"outputs", std::move(outputs)},
          {"append", exec.output.append},
          {"umask", exec.umask}};
}

// The signal before its time is over; null: it gets none, or not yet known when.
Json warning_of(const core::WantedWork& work, const ExecSpec& exec) {
  const bool may_come = work.has_started && !work.stops && work.stops_by != kNever;
  if (exec.warn_signal == 0 || !may_come) return nullptr;
  const Instant at{std::max<std::int64_t>(work.stops_by.us - seconds(exec.warn_before_s).us, 0)};
  return {{"signal", exec.warn_signal},
          {"at", codec::rfc3339(at)},
          // A script without a trap would end.
          {"steps_first", work.job->spec->launch == LaunchMode::kBatch}};
}

// The script has ended, and with it the job: nobody waits for what its steps still do.
void end_at_once(Json& object) {
  object["stop_signal"] = SIGKILL;
  object["grace_s"] = 0;
  object.erase("checkpoint_signal");
  object.erase("checkpoint_grace_s");
}

// Whether the job waits again once its stopped attempt has ended.
bool waits_again(const core::Job& job) {
  if (job.cancel_requested) return false;
  switch (job.attempts.back().stop_reason) {
    case StopReason::kPreempted:
    case StopReason::kRequeued:
    case StopReason::kPlaceholder:
    case StopReason::kPreflight:
    case StopReason::kLaunchFailed:
    case StopReason::kHung:
      return true;
    case StopReason::kNodeLost:
      return job.spec->requeue;
    case StopReason::kNone:
    case StopReason::kFinished:
    case StopReason::kTaskFailed:
    case StopReason::kCancelled:
    case StopReason::kTimeLimit:
    case StopReason::kIdle:
      return false;
  }
  return false;
}

}  // namespace

Result<void> check_executor_exec(const JobSpec& spec, const ExecSpec& exec) {
  if (spec.executor.empty() || !spec.foreign_job.empty()) return {};
  const ContainerSpec& container = exec.container;
  if (!container.image.empty() || !container.name.empty()) {
    return cannot(spec, "executor_no_images", "a container", "container.image");
  }
  if (!spec.secrets.empty())
    return cannot(spec, "secrets_elsewhere", "secrets to tasks", "secrets");
  if (!exec.app.name.empty()) {
    return cannot(spec, "executor_no_sessions", "a session, whose port we do not reach there",
                  "app");
  }
  for (const auto& [name, value] : exec.environment) {
    if (!text::steers_srun(name)) continue;
    return Error{ErrorKind::kInvalid, "executor_environment",
                 fmt::format("{} would change how executor {} starts the job: leave it out", name,
                             spec.executor),
                 "environment." + name};
  }
  return {};
}

std::vector<std::string> executor_warnings(const JobSpec& spec, const ExecSpec& exec) {
  std::vector<std::string> warnings;
  if (spec.executor.empty() || !spec.foreign_job.empty()) return warnings;
  const auto no_effect = [&](const char* what) {
    warnings.push_back(
        fmt::format("{} has no effect where executor {} runs the job", what, spec.executor));
  };
  if (exec.output.rotate_bytes > 0) no_effect("rotate_bytes");
  for (const auto& [name, value] : exec.environment) {
    if (text::is_sruns_own(name)) no_effect(name.c_str());
    if (text::is_loader_variable(name)) {
      warnings.push_back(
          fmt::format("{} is not passed on, because srun would take it: set it in "
                      "the command or in the script",
                      name));
    }
  }
  if (exec.output.stdout_path.empty()) {
    warnings.push_back(
        fmt::format("its output goes to {} in its working directory, because executor {} runs it",
                    kDefault_output, spec.executor));
  }
  return warnings;
}

Result<void> check_reachable(const core::Job& job, const char* what) {
  if (job.spec->executor.empty()) return {};
  return Error{ErrorKind::kConflict, "run_by_executor",
               fmt::format("executor {} runs job {}, so {} cannot be reached from here: use the "
                           "executor's own commands, and the job's output files",
                           job.spec->executor, job.id.value, what),
               ""};
}

OutputFile output_file(const core::State& state, const core::Job& job, const ExecSpec& exec,
                       const Placement& placement, Rank rank, bool is_stderr) {
  const std::string& node = state.find_node(placement.node)->name;
  const std::string pattern = is_stderr ? exec.output.stderr_path : output_pattern(exec);
  return {job.spec->executor, core::linux_user_of(state, job.spec->user, RunAs::kSubmitter),
          exec.workdir, path_of(job, node, placement, pattern, rank), node};
}

Json work_json(const core::State& state, const listener::Blobs::Found& blobs,
               const core::WantedWork& work) {
  const core::Job& job = *work.job;
  const core::Attempt& attempt = job.attempts.back();
  const JobSpec& spec = *job.spec;
  Json tasks = Json::array();
  // Nothing of a script's other nodes ends by itself.
  const bool holds = core::only_holds(*work.job->spec, *work.placement);
  for (const TaskGrant& task : work.placement->tasks) {
    if (!holds) tasks.push_back(task.rank);
  }
  Json object{{"job", job.id.value},
              {"attempt", work.attempt},
              {"node", work.node->name},
              {"node_rank", work.placement->node_rank},
              {"nodes", attempt.placements.size()},
              {"foreign_job", spec.foreign_job},
              {"started", work.has_started},
              {"stop", work.stops},
              {"stop_signal", 15},
              {"grace_s", whole_seconds(spec.kill_grace)},
              {"tasks", std::move(tasks)},
              {"cores", core::core_numbers(*work.node->inventory, work.placement->cores).size()},
              {"user", core::linux_user_of(state, spec.user, RunAs::kSubmitter)},
              {"name", spec.name}};
  const bool saves = work.stops && attempt.stop_reason == StopReason::kPreempted;
  if (saves && spec.checkpoint_signal > 0) {
    object["checkpoint_signal"] = spec.checkpoint_signal;
    object["checkpoint_grace_s"] = whole_seconds(spec.checkpoint_grace);
  }
  if (!spec.foreign_job.empty()) {
    object["put_back"] = work.stops && waits_again(job);
    return object;
  }
  const auto blob = blobs.find(spec.exec_digest);
  const Json parsed = blob == blobs.end()
                          ? Json()
                          : Json::parse(*blob->second, nullptr, /*allow_exceptions=*/false);
  const Result<ExecSpec> exec = codec::decode_exec(parsed);
  if (!exec.ok()) return object;
  object["stop_signal"] = exec->stop_signal;
  if (Json warning = warning_of(work, *exec); !warning.is_null()) {
    object["warning"] = std::move(warning);
  }
  const bool is_over = attempt.placements.front().stage == core::PlacementStage::kEnded;
  if (holds && is_over) end_at_once(object);
  if (!work.has_started && !work.stops) object["exec"] = exec_of(state, work, *exec);
  return object;
}

}  // namespace dove::server
