// salloc under its own name: an allocation that lasts as long as a command here.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/client/signals.h"
#include "cli/client/submission.h"
#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/amounts.h"
#include "cli/slurm/immediate.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "text/hostlist.h"
#include "text/run_lengths.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kNotFound = 127;
constexpr int kSignalled = 128;

// What holds the allocation: a batch script that waits to be cancelled.
Result<jobfiles::ParsedJob> placeholder(const Invocation& invocation) {
  jobfiles::Source source{"--wrap", "exec sleep infinity", jobfiles::Format::kWrap, {}};
  jobfiles::Context context = local_context();
  context.options = sbatch_options_of(invocation);
  const auto given = [&](const char* name) {
    return std::any_of(context.options.begin(), context.options.end(),
                       [&](const jobfiles::Option& option) { return option.name == name; });
  };
  if (!given("job-name")) context.options.push_back({"job-name", "interactive", {"salloc", 0, 0}});
  if (!given("output")) context.options.push_back({"output", "/dev/null", {"salloc", 0, 0}});
  context.options.push_back({"no-requeue", "", {"salloc", 0, 0}});
  return jobfiles::parse(source, context);
}

void say(const Invocation& invocation, const std::string& message) {
  if (!invocation.has("quiet")) face_says("salloc", message);
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// What the command sees of its allocation; srun takes the job from it.
void set_environment(const json& page, const std::string& cluster) {
  const JobView job = read_job(page);
  const std::string nodes = text::fold_sorted_hostlist(job.nodes());
  std::vector<std::int32_t> tasks, cores;
  const json& attempts = list_of(page, "attempts");
  if (!attempts.empty()) {
    for (const json& placement : list_of(attempts.back(), "placements")) {
      tasks.push_back(static_cast<std::int32_t>(list_of(placement, "tasks").size()));
      cores.push_back(static_cast<std::int32_t>(list_of(placement, "cores").size()));
    }
  }
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID", "DOVE_ALLOCATION"}) set(name, job.id);
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) set(name, nodes);
  const std::string count = std::to_string(job.node_count());
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) set(name, count);
  for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"}) set(name, std::to_string(job.tasks));
  set("SLURM_TASKS_PER_NODE", text::fold_counts(tasks));
  set("SLURM_JOB_CPUS_PER_NODE", text::fold_counts(cores));
  set("SLURM_JOB_NAME", job.name);
  set("SLURM_JOB_PARTITION", slurm_partition(job));
  set("SLURM_JOB_QOS", job.queue);
  if (!job.project.empty()) set("SLURM_JOB_ACCOUNT", job.project);
  set("SLURM_CLUSTER_NAME", cluster);
  set("SLURM_SUBMIT_DIR", local_context().workdir);
}

// Runs the command with our terminal and gives its exit code, as a shell would.
Result<int> run_here(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (failed != 0) {
    face_says("salloc", fmt::format("error: {}: {}", command[0], std::strerror(failed)));
    return kNotFound;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return usage_error("cannot wait for the command");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

// While it lives, Ctrl-C is the command's alone, as with Slurm.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    before_ = std::signal(SIGINT, [](int) {});
  }
  ~WithoutInterrupts() { std::signal(SIGINT, before_); }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

 private:
  void (*before_)(int) = nullptr;
};

Result<int> hold(const Invocation& invocation, Api& api, const std::string& id,
                 std::optional<int> limit_s) {
  {
    StartLimit limit(api.endpoint(), id, limit_s);
    Api canceller(api.endpoint());
    const SignalWatch watch([&](int) {
      [[maybe_unused]] const Result<json> done =
          canceller.send("POST", job_target(id, "/cancel"), json::object());
    });
    TRY(wait_for_jobs(api, id, "started"));
    TRY_ASSIGN(const json found, api.get(job_target(id)));
    if (limit.has_passed()) {
      tell_busy("salloc");
      return 1;
    }
    if (read_job(found).ended) {
      say(invocation, fmt::format("error: Job allocation {} has been revoked", id));
      return 1;
    }
  }
  TRY_ASSIGN(const json page, api.get(job_target(id)));
  TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
  say(invocation, fmt::format("Granted job allocation {}", id));
  if (invocation.has("no-shell")) return 0;
  set_environment(page, text_of(cluster, "name"));
  std::vector<std::string> command = invocation.operands;
  if (command.empty()) {
    const std::string shell = environment_value("SHELL");
    command = {shell.empty() ? "/bin/sh" : shell};
  }
  const WithoutInterrupts quiet;
  const Result<int> code = run_here(command);
  say(invocation, fmt::format("Relinquishing job allocation {}", id));
  return code;
}

Result<int> run_salloc(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  TRY_ASSIGN(const std::optional<int> limit_s, immediate_s(invocation));
  TRY_ASSIGN(const jobfiles::ParsedJob job, placeholder(invocation));
  if (!invocation.has("quiet")) print_warnings(job.warnings);
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const Submitted submitted, submit_as_slurm(api, job));
  say(invocation, fmt::format("Pending job allocation {}", submitted.id));
  const Result<int> code = hold(invocation, api, submitted.id, limit_s);
  if (invocation.has("no-shell") && code.ok() && *code == 0) return 0;
  const Result<json> ended = api.send("POST", job_target(submitted.id, "/cancel"), json::object());
  if (code.ok() && !ended.ok() && ended.error().kind != ErrorKind::kConflict) return ended.error();
  return code;
}

}  // namespace

std::vector<Command> salloc_commands() {
  CommandSpec spec;
  spec.name = "salloc";
  spec.summary = "Hold nodes while a command runs here (as Slurm's)";
  spec.group = kFaceGroup;
  spec.operands = "[COMMAND [ARGUMENT...]]";
  spec.operands_max = -1;
  spec.ends_at_operand = true;
  spec.description =
      "Waits for the allocation, runs the command (without one, your shell) on this machine, and\n"
      "gives the allocation back when it ends. srun inside it starts steps on the nodes. Exits\n"
      "with the command's code.";
  spec.options = {{"no-shell", 0, "", "leave the allocation to `srun --jobid`, until scancel"},
                  {"kill-command", 'K', "SIGNAL", "accepted, no effect", false, true},
                  {"immediate", 'I', "SECONDS",
                   "give up if it does not start within that many seconds (1)", false, true},
                  {"bell", 0, "", "accepted, no effect"},
                  {"no-bell", 0, "", "accepted, no effect"}};
  for (OptionSpec& option : sbatch_option_specs("KI")) {
    if (option.name != "help" && option.name != "wrap" && option.name != "parsable" &&
        option.name != "array" && option.name != "wait") {
      spec.options.push_back(std::move(option));
    }
  }
  return {{spec, guarded_face("salloc", run_salloc)}};
}

}  // namespace dove::cli
