// The table of sbatch's options: what each takes, and what it sets or why it is refused.
#include "jobfiles/mail_setters.h"
#include "jobfiles/option_setters.h"
#include "jobfiles/options.h"

namespace dove::jobfiles {

namespace {

constexpr Argument kNone = Argument::kNone;
constexpr Argument kRequired = Argument::kRequired;
constexpr Argument kMayBeEmpty = Argument::kMayBeEmpty;
constexpr Argument kOptional = Argument::kOptional;

// Reasons that several options share.
constexpr std::string_view kSockets =
    "nodes are cores and devices here; sockets and hardware threads cannot be asked for";
constexpr std::string_view kBinding =
    "cores, memory and GPUs are bound by the agent, near each other";
constexpr std::string_view kBurstBuffer = "there are no burst buffers";
constexpr std::string_view kFrequency = "clock frequencies are left as the node has them";

// clang-format off
const std::vector<OptionRule> kRules = {
  {"account", 'A', kMayBeEmpty, set_project, "the project that the job belongs to", "SBATCH_ACCOUNT"},
  {"acctg-freq", 0, kMayBeEmpty, nullptr, "usage is counted from the log, not sampled", "SBATCH_ACCTG_FREQ"},
  {"array", 'a', kMayBeEmpty, set_array, "one job per index: `0-9`, `1,3`, `0-15:4`; `%N` behind them: at most N at once", "SBATCH_ARRAY_INX"},
  {"batch", 0, kMayBeEmpty, nullptr, "the script runs on the first node of the job; use --constraint for all nodes", "SBATCH_BATCH"},
  {"bb", 0, kMayBeEmpty, nullptr, kBurstBuffer},
  {"bbf", 0, kMayBeEmpty, nullptr, kBurstBuffer},
  {"begin", 'b', kRequired, set_begin, "not started before: `now+1hour`, `16:00`, `2026-01-20T12:34:00`, `tomorrow`"},
  {"chdir", 'D', kMayBeEmpty, set_chdir, "the working directory"},
  {"cluster", 0, kMayBeEmpty, nullptr, "jobs go to the server that the command talks to"},
  {"cluster-constraint", 0, kMayBeEmpty, nullptr, "jobs go to the server that the command talks to"},
  {"clusters", 'M', kMayBeEmpty, nullptr, "jobs go to the server that the command talks to", "SBATCH_CLUSTERS"},
  {"comment", 0, kMayBeEmpty, set_comment, "kept as the label `comment`"},
  {"constraint", 'C', kMayBeEmpty, set_constraint, "features that every node has, joined by `&` (all of them) or a bar (one of them), with brackets; numbers of nodes per feature are refused", "SBATCH_CONSTRAINT"},
  {"container", 0, kMayBeEmpty, nullptr, "a bundle of the node; name an image with --container-image", "SBATCH_CONTAINER"},
  {"container-entrypoint", 0, kNone, set_container_option, "the image's entry point starts the program"},
  {"container-env", 0, kRequired, set_container_option, "variables that keep the submitter's value even if the image sets them"},
  {"container-image", 0, kRequired, set_container_option, "tasks run in a container of this image: NAME:TAG, enroot's REGISTRY#NAME:TAG, or the path of a squash file", "SBATCH_CONTAINER_IMAGE"},
  {"container-mount-home", 0, kNone, set_container_option, "the container sees the home directory"},
  {"container-mounts", 0, kRequired, set_container_option, "what it sees of the node: `SOURCE[:TARGET[:ro]]`, separated by commas", "SBATCH_CONTAINER_MOUNTS"},
  {"container-name", 0, kRequired, set_container_option, "what is written in it is kept for the job's steps with that name until the job ends; `NAME:create` must be new, `NAME:exec` must exist"},
  {"container-network", 0, kRequired, set_container_network, "`gang`: a network of the gang's own; `host`: the node's; `default`: `gang` where nodes offer it"},
  {"container-publish", 0, kRequired, set_container_publish, "ports of the node that lead into it: `[NODE_PORT:]PORT`, separated by commas"},
  {"container-readonly", 0, kNone, set_container_option, "its files cannot be changed"},
  {"container-remap-root", 0, kNone, set_container_option, "the user is root inside"},
  {"container-save", 0, kRequired, set_container_option, "the first task's container is saved there as a squash file at the end"},
  {"container-workdir", 0, kRequired, set_container_option, "the working directory inside", "SBATCH_CONTAINER_WORKDIR"},
  {"container-writable", 0, kNone, set_container_option, "its files can be changed (the default)"},
  {"context", 0, kOptional, nullptr, "SELinux contexts are left as the node has them"},
  {"contiguous", 0, kNone, nullptr, "nodes have no order here"},
  {"core-spec", 'S', kMayBeEmpty, nullptr, "no cores are set aside for the system by a job", "SBATCH_CORE_SPEC"},
  {"cores-per-socket", 0, kMayBeEmpty, nullptr, kSockets},
  {"cpu-freq", 0, kMayBeEmpty, nullptr, kFrequency, "SLURM_CPU_FREQ_REQ"},
  {"cpus-per-gpu", 0, kRequired, set_cpus_per_gpu, "cores for each GPU", "SBATCH_CPUS_PER_GPU"},
  {"cpus-per-task", 'c', kRequired, set_cpus_per_task, "cores for each task (1)"},
  {"deadline", 0, kRequired, set_deadline, "must end by then, or is not started: `now+1hour`, `16:00`, `2026-01-20T12:34:00`"},
  {"delay-boot", 0, kMayBeEmpty, nullptr, "nodes are not booted for jobs", "SBATCH_DELAY_BOOT"},
  {"dependency", 'd', kMayBeEmpty, set_dependency, "`after[+minutes]`, `afterany`, `afterok`, `afternotok`, `aftercorr`, `singleton`; `,` for all, `?` for any"},
  {"distribution", 'm', kMayBeEmpty, set_distribution, "`block:block`: on few NUMA nodes of a node; `block:cyclic`: evenly over them; ranks always fill one node after the other", "SBATCH_DISTRIBUTION"},
  {"error", 'e', kMayBeEmpty, set_error_path, "file of standard error (that of standard output)", "SBATCH_ERROR"},
  {"exclude", 'x', kMayBeEmpty, set_nodes_excluded, "never on these nodes"},
  {"exclusive", 0, kOptional, set_exclusive, "whole nodes, shared with nobody; `=user` and `=mcs` mean the same", "SBATCH_EXCLUSIVE"},
  {"executor", 0, kMayBeEmpty, set_executor, "an executor, such as a Slurm, that runs the job in place of our agents; not an option of sbatch"},
  {"export", 0, kMayBeEmpty, set_export, "which of the submitter's variables the job gets: `ALL` (the default), `NONE`, names, `NAME=value`", "SBATCH_EXPORT"},
  {"export-file", 0, kRequired, set_export_file, "a file of `NAME=value`, each ended by a zero byte, put into the environment"},
  {"external-launcher", 0, kNone, nullptr, "every job may start programs by other means than srun", {}, true},
  {"extra", 0, kMayBeEmpty, set_extra, "kept as the label `extra`", {}, true},
  {"extra-node-info", 'B', kMayBeEmpty, nullptr, kSockets},
  {"get-user-env", 0, kOptional, nullptr, "no login shell is run to find the environment; use `#!/bin/bash -l`", "SBATCH_GET_USER_ENV"},
  {"gid", 0, kMayBeEmpty, nullptr, "a job runs as its submitter"},
  {"gpu-bind", 0, kMayBeEmpty, nullptr, kBinding, "SBATCH_GPU_BIND"},
  {"gpu-freq", 0, kMayBeEmpty, nullptr, kFrequency, "SBATCH_GPU_FREQ"},
  {"gpus", 'G', kMayBeEmpty, set_gpus, "GPUs of the whole job, `[TYPE:]N`, evenly over its nodes or tasks", "SBATCH_GPUS"},
  {"gpus-per-node", 0, kMayBeEmpty, set_gpus_per_node, "GPUs of each node, `[TYPE:]N`", "SBATCH_GPUS_PER_NODE"},
  {"gpus-per-socket", 0, kMayBeEmpty, nullptr, "sockets are not asked for; use --gpus-per-node"},
  {"gpus-per-task", 0, kMayBeEmpty, set_gpus_per_task, "GPUs of each task, `[TYPE:]N`", "SBATCH_GPUS_PER_TASK"},
  {"gres", 0, kRequired, set_gres, "of each node: `gpu[:TYPE][:N]`, `gpu:1g.10gb[:N]` (slices of GPUs), `mps:N` (hundredths of one GPU), or any countable `NAME:N`", "SBATCH_GRES"},
  {"gres-flags", 0, kMayBeEmpty, nullptr, kBinding, "SBATCH_GRES_FLAGS"},
  {"help", 'h', kNone, set_help, "prints help"},
  {"hint", 0, kMayBeEmpty, nullptr, kSockets, "SBATCH_HINT"},
  {"hold", 'H', kNone, set_hold, "held until `dove release`"},
  {"ignore-pbs", 0, kNone, nullptr, "`#PBS` lines are never read", "SBATCH_IGNORE_PBS"},
  {"input", 'i', kMayBeEmpty, set_input, "file of standard input (`/dev/null`)", "SBATCH_INPUT"},
  {"job-name", 'J', kMayBeEmpty, set_job_name, "the job's name (that of the script)", "SBATCH_JOB_NAME"},
  {"kill-on-invalid-dep", 0, kRequired, set_kill_on_invalid_dependency, "`yes` is what happens; `no` gets a warning"},
  {"licenses", 'L', kMayBeEmpty, set_licenses, "cluster-wide countables `licence:NAME`, `NAME[:COUNT]` joined by commas"},
  {"mail-type", 0, kMayBeEmpty, set_mail_type, "mails about `BEGIN`, `END`, `FAIL`, `ALL`, `TIME_LIMIT_90`, ..., joined by commas"},
  {"mail-user", 0, kMayBeEmpty, set_mail_user, "an address of yours, or one that the site allows (all of yours)"},
  {"mcs-label", 0, kMayBeEmpty, nullptr, "there are no security labels on nodes"},
  {"mem", 0, kRequired, set_memory, "memory of each node, in MB without a unit; `0` gets a warning", "SBATCH_MEM_PER_NODE"},
  {"mem-bind", 0, kMayBeEmpty, nullptr, kBinding, "SBATCH_MEM_BIND"},
  {"mem-per-cpu", 0, kRequired, set_memory_per_cpu, "memory for each core", "SBATCH_MEM_PER_CPU"},
  {"mem-per-gpu", 0, kRequired, set_memory_per_gpu, "memory for each GPU", "SBATCH_MEM_PER_GPU"},
  {"mincpus", 0, kMayBeEmpty, nullptr, "use --cpus-per-task with --ntasks-per-node for the cores of a node"},
  {"network", 0, kMayBeEmpty, nullptr, "networks are not asked for by a job", "SBATCH_NETWORK"},
  {"nice", 0, kOptional, set_nice, "priority lower by this (100)"},
  {"no-container-entrypoint", 0, kNone, set_container_option, "the image's entry point is not run (the default)"},
  {"no-container-mount-home", 0, kNone, set_container_option, "the container does not see the home directory (the default)"},
  {"no-container-remap-root", 0, kNone, set_container_option, "a Linux user keeps its id inside (the default)"},
  {"no-kill", 'k', kOptional, nullptr, "a job that loses a node is started again as a whole; see --requeue", "SBATCH_NO_KILL"},
  {"no-requeue", 0, kNone, set_no_requeue, "the job ends when it loses a node", "SBATCH_NO_REQUEUE"},
  {"nodefile", 'F', kRequired, set_node_file, "like --nodelist, from a file"},
  {"nodelist", 'w', kMayBeEmpty, set_nodes_wanted, "only on these nodes (all of them without --nodes); where --nodes asks for more, these and others"},
  {"nodes", 'N', kRequired, set_nodes, "number of nodes, `N` or `MIN-MAX`"},
  {"ntasks", 'n', kRequired, set_tasks, "number of tasks (one per node)"},
  {"ntasks-per-core", 0, kMayBeEmpty, nullptr, "a core belongs to one task"},
  {"ntasks-per-gpu", 0, kRequired, set_tasks_per_gpu, "number of tasks from the number of GPUs"},
  {"ntasks-per-node", 0, kRequired, set_tasks_per_node, "tasks on each node; at most this number where --ntasks is given"},
  {"ntasks-per-socket", 0, kMayBeEmpty, nullptr, kSockets},
  {"ntasks-per-tres", 0, kMayBeEmpty, nullptr, "use --ntasks-per-gpu"},
  {"oom-kill-step", 0, kOptional, nullptr, "a task that is out of memory ends with its own exit code", {}, true},
  {"open-mode", 0, kRequired, set_open_mode, "`append` to output files, or `truncate` them", "SBATCH_OPEN_MODE"},
  {"output", 'o', kMayBeEmpty, set_output, "file of standard output (`slurm-%j.out`, of an array `slurm-%A_%a.out`)", "SBATCH_OUTPUT"},
  {"overcommit", 'O', kNone, nullptr, "a core belongs to one task", "SBATCH_OVERCOMMIT"},
  {"oversubscribe", 's', kNone, nullptr, "a core belongs to one job; nodes are shared unless --exclusive"},
  {"parsable", 0, kNone, set_parsable, "prints the job id alone"},
  {"partition", 'p', kRequired, set_pool, "the pool; the first of several", "SBATCH_PARTITION"},
  {"power", 0, kMayBeEmpty, nullptr, "power is not managed by job", "SBATCH_POWER"},
  {"preempt", 0, kRequired, set_preempt, "may be stopped for others; not an option of sbatch: `checkpoint` (it saves its work, see --signal), `restart` (it starts over) or `never`"},
  {"prefer", 0, kMayBeEmpty, nullptr, "features are demanded (--constraint) or not asked for"},
  {"priority", 0, kMayBeEmpty, set_priority, "the priority, higher first; above 0 gets a warning for all but administrators, and so does `TOP`"},
  {"profile", 0, kMayBeEmpty, nullptr, "profiles of jobs are not recorded", "SBATCH_PROFILE"},
  {"propagate", 0, kOptional, nullptr, "limits (ulimit) are those of the node; set them in the script"},
  {"qos", 'q', kMayBeEmpty, set_queue, "the queue", "SBATCH_QOS"},
  {"quiet", 'Q', kNone, set_quiet, "prints errors only"},
  {"reboot", 0, kNone, nullptr, "nodes are not booted for jobs"},
  {"requeue", 0, kNone, set_requeue, "started again when it loses a node (the default)", "SBATCH_REQUEUE"},
  {"reservation", 0, kMayBeEmpty, set_reservation, "runs inside that reservation only", "SBATCH_RESERVATION"},
  {"secret", 0, kRequired, set_secret, "a secret that the tasks get, `NAME=VARIABLE` or `NAME:FILE` (in $DOVE_SECRETS); may be repeated; not an option of sbatch", {}, true},
  {"segment", 0, kMayBeEmpty, nullptr, "nodes are chosen near each other; see --switches", {}, true},
  {"signal", 0, kRequired, set_signal, "`[B:]SIGNAL[@SECONDS]` to the whole job before its time is over, and SECONDS before it is preempted", "SBATCH_SIGNAL"},
  {"slice-min", 0, kRequired, set_slice_min, "runs at least this long before it is preempted; written as --time; not an option of sbatch"},
  {"sockets-per-node", 0, kMayBeEmpty, nullptr, kSockets},
  {"spread-job", 0, kNone, set_spread, "tasks on as many nodes as there are, evenly", "SBATCH_SPREAD_JOB"},
  {"stepmgr", 0, kNone, nullptr, "steps are run by the agents of the job's nodes", {}, true},
  {"switches", 0, kRequired, set_switches, "nodes below one switch if possible, else below the fewest (level `switch` of the topology); a higher number and `@TIME` change nothing", "SBATCH_REQ_SWITCH"},
  {"tasks-per-node", 0, kRequired, set_tasks_per_node, "the same as --ntasks-per-node"},
  {"test-only", 0, kNone, set_test_only, "checks the job and submits nothing"},
  {"thread-spec", 0, kMayBeEmpty, nullptr, "no cores are set aside for the system by a job", "SBATCH_THREAD_SPEC"},
  {"threads-per-core", 0, kMayBeEmpty, nullptr, kSockets, "SBATCH_THREADS_PER_CORE"},
  {"time", 't', kRequired, set_time, "time limit: minutes, `HH:MM:SS`, `D-HH:MM:SS`; `0` is none", "SBATCH_TIMELIMIT"},
  {"time-min", 0, kMayBeEmpty, nullptr, "the limit is never shortened to fit; --time counts"},
  {"tmp", 0, kMayBeEmpty, nullptr, "space on local disks is not counted"},
  {"tres-per-task", 0, kRequired, set_tres_per_task, "of each task: `cpu=N`, `gres/gpu[:TYPE]=N`, joined by commas", {}, true},
  {"uid", 0, kMayBeEmpty, nullptr, "a job runs as its submitter"},
  {"usage", 0, kNone, set_usage, "prints a short help"},
  {"use-min-nodes", 0, kNone, nullptr, "of MIN-MAX nodes the fewest that fit are always taken", "SBATCH_USE_MIN_NODES"},
  {"verbose", 'v', kNone, set_verbose, "prints more", "SBATCH_DEBUG"},
  {"version", 'V', kNone, set_version, "prints the version"},
  {"wait", 'W', kNone, set_wait, "waits for the job to end and exits with its exit code", "SBATCH_WAIT"},
  {"wait-all-nodes", 0, kMayBeEmpty, nullptr, "a job never starts before all its nodes are ready", "SBATCH_WAIT_ALL_NODES"},
  {"wckey", 0, kMayBeEmpty, set_wckey, "kept as the label `wckey`", "SBATCH_WCKEY"},
  {"wrap", 0, kRequired, set_wrap, "the command is the job: /bin/sh runs it"},
};
// clang-format on

}  // namespace

const std::vector<OptionRule>& option_rules() { return kRules; }

}  // namespace dove::jobfiles
