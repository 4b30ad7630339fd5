#include "jobfiles/step_options.h"

#include <algorithm>

namespace dove::jobfiles {
namespace {

constexpr Argument kNone = Argument::kNone;
constexpr Argument kRequired = Argument::kRequired;
constexpr Argument kOptional = Argument::kOptional;
constexpr StepUse kHonoured = StepUse::kHonoured;
constexpr StepUse kNoEffect = StepUse::kNoEffect;
constexpr StepUse kRefused = StepUse::kRefused;

// Reasons that several options share.
constexpr std::string_view kOfJob = "it is the job's; a step has what its job has";
constexpr std::string_view kSockets =
    "nodes are cores and devices here; sockets and hardware threads cannot be asked for";
constexpr std::string_view kFrequency = "clock frequencies are left as the node has them";
constexpr std::string_view kPrograms =
    "Slurm's own programs around a step are not run; call it in "
    "the script";
constexpr std::string_view kNotCounted = "usage is counted from the log, not sampled";

// clang-format off
const std::vector<StepOption> kOptions = {
  {"accel-bind", 0, kRequired, kNoEffect, "cores and GPUs are bound by the agent, near each other"},
  {"account", 'A', kRequired, kNoEffect, kOfJob},
  {"acctg-freq", 0, kRequired, kNoEffect, kNotCounted},
  {"bb", 0, kRequired, kNoEffect, "there are no burst buffers"},
  {"bbf", 0, kRequired, kNoEffect, "there are no burst buffers"},
  {"bcast", 0, kOptional, kHonoured, "the program is copied to this path on the nodes first, and run there; to a folder (the working directory) as `slurm_bcast_JOB.PID_NODE`, with the process number of `srun`"},
  {"bcast-exclude", 0, kRequired, kNoEffect, "libraries are not copied"},
  {"begin", 'b', kRequired, kNoEffect, kOfJob},
  {"chdir", 'D', kRequired, kHonoured, "the working directory"},
  {"cluster-constraint", 0, kRequired, kNoEffect, kOfJob},
  {"clusters", 'M', kRequired, kNoEffect, kOfJob},
  {"comment", 0, kRequired, kNoEffect, "steps have no comments"},
  {"compress", 0, kOptional, kNoEffect, "programs are copied as they are"},
  {"constraint", 'C', kRequired, kNoEffect, kOfJob},
  {"container", 0, kRequired, kNoEffect, "a bundle of the node; name an image with --container-image"},
  {"container-env", 0, kRequired, kHonoured, "variables that keep the script's value even if the image sets them"},
  {"container-entrypoint", 0, kNone, kHonoured, "the image's entry point starts the program"},
  {"container-image", 0, kRequired, kHonoured, "the step's tasks run in a container of this image: NAME:TAG, enroot's REGISTRY#NAME:TAG, or the path of a squash file"},
  {"container-mount-home", 0, kNone, kHonoured, "the container sees the home directory"},
  {"container-mounts", 0, kRequired, kHonoured, "what it sees of the node: `SOURCE[:TARGET[:ro]]`, separated by commas"},
  {"container-name", 0, kRequired, kHonoured, "what is written in it is kept for later steps with that name until the job ends; `NAME:create` must be new, `NAME:exec` must exist"},
  {"container-readonly", 0, kNone, kHonoured, "its files cannot be changed"},
  {"container-remap-root", 0, kNone, kHonoured, "the user is root inside"},
  {"container-save", 0, kRequired, kHonoured, "the first task's container is saved there as a squash file when that task has ended"},
  {"container-workdir", 0, kRequired, kHonoured, "the working directory inside"},
  {"container-writable", 0, kNone, kHonoured, "its files can be changed (the default)"},
  {"contiguous", 0, kNone, kNoEffect, "nodes have no order here"},
  {"core-spec", 'S', kRequired, kNoEffect, kOfJob},
  {"cores-per-socket", 0, kRequired, kNoEffect, kSockets},
  {"cpu-bind", 0, kRequired, kHonoured, "`none`: a task may use all cores of its step on the node; else it keeps to its own",
   "none,no,quiet,q,verbose,v,cores,threads,sockets,ldoms,boards,rank,yes"},
  {"cpu-freq", 0, kRequired, kNoEffect, kFrequency},
  {"cpu_bind", 0, kRequired, kHonoured, "as --cpu-bind",
   "none,no,quiet,q,verbose,v,cores,threads,sockets,ldoms,boards,rank,yes"},
  {"cpus-per-gpu", 0, kRequired, kHonoured, "cores for each GPU of the step; means --exact"},
  {"cpus-per-task", 'c', kRequired, kHonoured, "cores for each task; means --exact"},
  {"deadline", 0, kRequired, kNoEffect, kOfJob},
  {"delay-boot", 0, kRequired, kNoEffect, kOfJob},
  {"dependency", 'd', kRequired, kNoEffect, kOfJob},
  {"disable-status", 'X', kNone, kNoEffect, "a Ctrl-C always goes to the tasks; a second one ends the step"},
  {"distribution", 'm', kRequired, kNoEffect, "ranks fill one node after the other", "block,block:block,block:cyclic,block:fcyclic,*"},
  {"epilog", 0, kRequired, kNoEffect, kPrograms, "none"},
  {"error", 'e', kRequired, kHonoured, "file of standard error; `none`: nowhere"},
  {"exact", 0, kNone, kHonoured, "cores of its own, no more than its tasks need; waits until they are free"},
  {"exclude", 'x', kRequired, kHonoured, "not on these nodes of the job"},
  {"exclusive", 0, kOptional, kHonoured, "as --exact"},
  {"export", 0, kRequired, kHonoured, "which of the environment's variables the tasks get; those that it names always win"},
  {"extra-node-info", 'B', kRequired, kNoEffect, kSockets},
  {"gid", 0, kRequired, kNoEffect, "a step runs as its job"},
  {"gpu-bind", 0, kRequired, kHonoured, "which GPUs of the step a task sees: `none`, `single:N`, `per_task:N`, `map_gpu:LIST`, `mask_gpu:LIST`"},
  {"gpu-freq", 0, kRequired, kNoEffect, kFrequency},
  {"gpus", 'G', kRequired, kHonoured, "GPUs of the whole step, `[TYPE:]N`; waits until they are free"},
  {"gpus-per-node", 0, kRequired, kHonoured, "GPUs of each node of the step, `[TYPE:]N`"},
  {"gpus-per-socket", 0, kRequired, kRefused, "sockets are not asked for; use --gpus-per-node"},
  {"gpus-per-task", 0, kRequired, kHonoured, "GPUs of each task, `[TYPE:]N`; a task sees its own alone"},
  {"gres", 0, kRequired, kHonoured, "of each node: `gpu[:TYPE][:N]`, `none`, or what the job has of `NAME:N`"},
  {"gres-flags", 0, kRequired, kNoEffect, "cores and GPUs are bound by the agent, near each other"},
  {"help", 'h', kNone, kHonoured, "prints help"},
  {"het-group", 0, kRequired, kRefused, "a job is one group for srun; write groups: in a native job file", "0"},
  {"hint", 0, kRequired, kNoEffect, kSockets, "nomultithread,none"},
  {"hold", 'H', kNone, kNoEffect, kOfJob},
  {"immediate", 'I', kOptional, kHonoured, "a step fails at once where it would have to wait; outside of a job the job fails that many seconds later (1)"},
  {"input", 'i', kRequired, kHonoured, "standard input: `all`, `none`, the number of one task, or a file on the nodes"},
  {"interactive", 0, kNone, kNoEffect, "that is for salloc"},
  {"job-name", 'J', kRequired, kHonoured, "the step's name, which sacct shows"},
  {"jobid", 0, kRequired, kHonoured, "a step of this running job"},
  {"kill-on-bad-exit", 'K', kOptional, kHonoured, "ends the step when a task fails: SIGTERM, SIGKILL 30 s later; =0: it does not"},
  {"kill-on-invalid-dep", 0, kRequired, kNoEffect, kOfJob},
  {"label", 'l', kNone, kHonoured, "begins each line with the task's rank"},
  {"licenses", 'L', kRequired, kNoEffect, kOfJob},
  {"mail-type", 0, kRequired, kNoEffect, "mail is chosen for all your jobs, with `dove notices add`"},
  {"mail-user", 0, kRequired, kNoEffect, "mail is chosen for all your jobs, with `dove notices add`"},
  {"mcs-label", 0, kRequired, kNoEffect, kOfJob},
  {"mem", 0, kRequired, kHonoured, "memory of each node: the step's limit, which no other step can have"},
  {"mem-bind", 0, kRequired, kNoEffect, "memory is bound by the agent, near the cores", "none,local,no,quiet,verbose"},
  {"mem-per-cpu", 0, kRequired, kHonoured, "the same for each core"},
  {"mem-per-gpu", 0, kRequired, kNoEffect, "write --mem"},
  {"mincpus", 0, kRequired, kNoEffect, kOfJob},
  {"mpi", 0, kRequired, kNoEffect, "the tasks are plain processes, each of which would be an MPI program of one rank: start it with `mpirun` in place of `srun`", "none,list"},
  {"msg-timeout", 0, kRequired, kNoEffect, "time-outs are the server's"},
  {"multi-prog", 0, kNone, kHonoured, "the operand is a file that says which tasks run which program"},
  {"network", 0, kRequired, kNoEffect, kOfJob},
  {"nice", 0, kOptional, kNoEffect, kOfJob},
  {"no-container-entrypoint", 0, kNone, kHonoured, "the image's entry point is not run (the default)"},
  {"no-container-mount-home", 0, kNone, kHonoured, "the container does not see the home directory (the default)"},
  {"no-container-remap-root", 0, kNone, kHonoured, "a Linux user keeps its id inside (the default)"},
  {"no-allocate", 'Z', kNone, kRefused, "nothing runs outside of a job"},
  {"no-kill", 'k', kOptional, kNoEffect, kOfJob},
  {"nodefile", 'F', kRequired, kRefused, "write the nodes with --nodelist"},
  {"nodelist", 'w', kRequired, kHonoured, "on these nodes of the job"},
  {"nodes", 'N', kRequired, kHonoured, "number of nodes"},
  {"ntasks", 'n', kRequired, kHonoured, "number of tasks (those of the job)"},
  {"ntasks-per-core", 0, kRequired, kNoEffect, "a core belongs to one task", "1"},
  {"ntasks-per-gpu", 0, kRequired, kHonoured, "tasks for each GPU, which share it alone"},
  {"ntasks-per-node", 0, kRequired, kHonoured, "tasks on each node"},
  {"ntasks-per-socket", 0, kRequired, kNoEffect, kSockets},
  {"open-mode", 0, kRequired, kNoEffect, "files of steps are opened as those of their job"},
  {"output", 'o', kRequired, kHonoured, "file of standard output; `none`: nowhere"},
  {"overcommit", 'O', kNone, kHonoured, "more tasks than cores"},
  {"overlap", 0, kNone, kHonoured, "shares what it asks for with other steps, and does not wait"},
  {"oversubscribe", 's', kNone, kNoEffect, kOfJob},
  {"pack-group", 0, kRequired, kRefused, "a job is one group for srun; write groups: in a native job file", "0"},
  {"partition", 'p', kRequired, kNoEffect, kOfJob},
  {"power", 0, kRequired, kNoEffect, kOfJob},
  {"prefer", 0, kRequired, kNoEffect, kOfJob},
  {"preserve-env", 'E', kNone, kHonoured, "the environment is kept"},
  {"priority", 0, kRequired, kNoEffect, kOfJob},
  {"profile", 0, kRequired, kNoEffect, "profiles are not recorded", "none"},
  {"prolog", 0, kRequired, kNoEffect, kPrograms, "none"},
  {"propagate", 0, kOptional, kNoEffect, "limits (ulimit) are those of the node; set them in the script", "NONE"},
  {"pty", 0, kOptional, kHonoured, "one task, with this terminal"},
  {"qos", 'q', kRequired, kNoEffect, kOfJob},
  {"quiet", 'Q', kNone, kHonoured, "prints errors only"},
  {"quit-on-interrupt", 0, kNone, kNoEffect, "a first Ctrl-C goes to the tasks, a second one ends the step"},
  {"reboot", 0, kNone, kNoEffect, kOfJob},
  {"relative", 'r', kRequired, kHonoured, "skips this many nodes of the job"},
  {"reservation", 0, kRequired, kNoEffect, kOfJob},
  {"resv-ports", 0, kOptional, kNoEffect, "ports are not reserved"},
  {"send-libs", 0, kOptional, kNoEffect, "libraries are not copied", "no"},
  {"signal", 0, kRequired, kNoEffect, kOfJob},
  {"slurmd-debug", 0, kRequired, kNoEffect, "the agent logs as it is set up"},
  {"sockets-per-node", 0, kRequired, kNoEffect, kSockets},
  {"spread-job", 0, kNone, kNoEffect, kOfJob},
  {"switches", 0, kRequired, kNoEffect, kOfJob},
  {"task-epilog", 0, kRequired, kNoEffect, kPrograms, "none"},
  {"task-prolog", 0, kRequired, kNoEffect, kPrograms, "none"},
  {"tasks-per-node", 0, kRequired, kHonoured, "as --ntasks-per-node"},
  {"test-only", 0, kNone, kRefused, "ask with sbatch --test-only"},
  {"thread-spec", 0, kRequired, kNoEffect, kOfJob},
  {"threads", 'T', kRequired, kNoEffect, "srun needs no threads for its nodes"},
  {"threads-per-core", 0, kRequired, kNoEffect, kSockets, "1"},
  {"time", 't', kRequired, kHonoured, "the step is ended after this time: minutes, `HH:MM:SS`, ..."},
  {"time-min", 0, kRequired, kNoEffect, "the limit is never shortened to fit"},
  {"tmp", 0, kRequired, kNoEffect, kOfJob},
  {"tres-bind", 0, kRequired, kNoEffect, "cores and GPUs are bound by the agent, near each other"},
  {"uid", 0, kRequired, kNoEffect, "a step runs as its job"},
  {"unbuffered", 'u', kNone, kHonoured, "output is never held back"},
  {"usage", 0, kNone, kHonoured, "prints a short help"},
  {"use-min-nodes", 0, kNone, kNoEffect, kOfJob},
  {"verbose", 'v', kNone, kHonoured, "prints more"},
  {"version", 'V', kNone, kHonoured, "prints the version"},
  {"wait", 'W', kRequired, kHonoured, "ends the step with SIGKILL that many seconds after its first task has ended; 0: never"},
  {"wait-for-switch", 0, kRequired, kNoEffect, kOfJob},
  {"wckey", 0, kRequired, kNoEffect, kOfJob},
  {"whole", 0, kNone, kHonoured, "all that the job holds on the node (what a step has that asks for nothing)"},
  {"x11", 0, kOptional, kRefused, "windows are not passed on; see `dove exec`"},
};
// clang-format on

bool is_listed(std::string_view list, std::string_view value) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == value) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// "v,cores": words with commas, each of which is listed.
bool all_listed(std::string_view list, std::string_view values) {
  while (!values.empty()) {
    const std::size_t end = std::min(values.find(','), values.size());
    if (!is_listed(list, values.substr(0, end))) return false;
    values.remove_prefix(std::min(end + 1, values.size()));
  }
  return true;
}

}  // namespace

const std::vector<StepOption>& step_options() { return kOptions; }

const StepOption* find_step_option(std::string_view name) {
  const StepOption* found = nullptr;
  for (const StepOption& option : kOptions) {
    if (option.name == name) return &option;
    if (name.empty() || !option.name.starts_with(name)) continue;
    if (found != nullptr) return nullptr;
    found = &option;
  }
  return found;
}

const StepOption* find_step_letter(char letter) {
  for (const StepOption& option : kOptions) {
    if (option.letter == letter && letter != 0) return &option;
  }
  return nullptr;
}

std::string_view step_objection(const StepOption& option, std::string_view value) {
  if (option.name == "cpu-bind" || option.name == "cpu_bind") {
    return all_listed(option.same, value)
               ? ""
               : "cores cannot be named; a task gets cores of its own near its GPUs";
  }
  if (option.name == "gpu-bind") {
    while (value.starts_with("v,") || value.starts_with("verbose,")) {
      value.remove_prefix(value.find(',') + 1);
    }
    return value == "closest" ? "GPUs are given near the cores of their tasks where that can be"
                              : "";
  }
  if (option.use == kHonoured) return "";
  return !option.same.empty() && all_listed(option.same, value) ? "" : option.text;
}

}  // namespace dove::jobfiles
