#include "slurm/works/srun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "text/bash_functions.h"
#include "text/output_pattern.h"
#include "text/run_lengths.h"
#include "text/srun_variables.h"

namespace dove::slurm {
namespace {

// What each task does first. Its arguments: for each task of the node its rank, output, error
// output and devices; "--"; what it is to run. Where srun is our command, which puts Slurm's number
// back for Slurm's own, the job is known by our number inside, too. Our srun counts steps by
// DOVE_STEPS_OF: another Slurm, or the same one set up anew, gives the number of an allocation
// again.
constexpr const char kBegin[] = R"sh(
i=$SLURM_LOCALID
while [ "$i" -gt 0 ]; do shift 4; i=$((i - 1)); done
rank=$1 out=$2 err=$3 take=$4
while [ "$1" != -- ]; do shift; done
shift
umask "$DOVE_UMASK"
[ -z "$out" ] || if [ "$DOVE_APPEND" = 1 ]; then exec >>"$out"; else exec >"$out"; fi || exit 1
case $err in
  "") exec 2>&1 ;;
  -) ;;
  *) if [ "$DOVE_APPEND" = 1 ]; then exec 2>>"$err"; else exec 2>"$err"; fi || exit 1 ;;
esac
if [ "$take" != all ]; then
  list= n=0 IFS=,
  for each in $CUDA_VISIBLE_DEVICES; do
    case ",$take," in *",$n,"*) list=${list:+$list,}$each ;; esac
    n=$((n + 1))
  done
  unset IFS
  export CUDA_VISIBLE_DEVICES="$list"
fi
export DOVE_SLURM_JOB_ID="$SLURM_JOB_ID"
case $(readlink -f -- "$(command -v srun)") in
  */dove) export SLURM_JOB_ID="$DOVE_JOB_ID" SLURM_JOBID="$DOVE_JOB_ID" ;;
esac
export DOVE_RANK="$rank" SLURM_PROCID="$rank" SLURM_NTASKS="$DOVE_TASKS" SLURM_NPROCS="$DOVE_TASKS"
export SLURM_NNODES="$DOVE_NODES" SLURM_JOB_NUM_NODES="$DOVE_NODES"
export SLURM_SUBMIT_DIR="${SLURM_SUBMIT_DIR:-$DOVE_WORKDIR}"
export SLURM_JOB_CPUS_PER_NODE="${SLURM_JOB_CPUS_PER_NODE:-$SLURM_CPUS_ON_NODE}"
if [ "$DOVE_NODES" -gt 1 ]; then
  export SLURM_NODEID="$DOVE_NODE_RANK"
  export SLURM_NODELIST="$DOVE_NODELIST" SLURM_JOB_NODELIST="$DOVE_NODELIST"
  export SLURM_TASKS_PER_NODE="${DOVE_TASKS_PER_NODE:-$SLURM_TASKS_PER_NODE}"
  export SLURM_JOB_CPUS_PER_NODE="${DOVE_CPUS_PER_NODE:-$SLURM_JOB_CPUS_PER_NODE}"
  read -r DOVE_STEPS_OF </proc/sys/kernel/random/uuid && export DOVE_STEPS_OF
fi
cd -- "$DOVE_WORKDIR" || exit 1
)sh";
// A command's tasks are ranks that meet (model/rendezvous.h): all but which one this is came along.
constexpr const char kRun[] = R"sh(
export RANK="$rank" LOCAL_RANK="$SLURM_LOCALID" TF_CONFIG="${TF_CONFIG%:*}:$rank}}" DOVE_GIVEN=
for name in GROUP_RANK LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT NODE_RANK PET_MASTER_ADDR \
  PET_MASTER_PORT PET_NNODES PET_NODE_RANK PET_RDZV_BACKEND PET_RDZV_ENDPOINT PET_RDZV_ID RANK TF_CONFIG WORLD_SIZE; do
  eval "DOVE_GIVEN=\"\${DOVE_GIVEN:+\$DOVE_GIVEN }$name=\$$name\""
done
)sh";
// The script comes in by standard input. It is run from a file without a name, so nothing is left
// behind, and in place of this shell, so its end is the task's: 137 and SIGKILL are two ends.
constexpr const char kScript[] = R"sh(
file=$(mktemp "${TMPDIR:-/tmp}/dove-script.XXXXXX") && cat >"$file" && chmod 700 "$file" || exit 1
exec 9<"$file"
rm -f -- "$file"
set -- /proc/self/fd/9 "$@"
)sh";
constexpr const char kBecome[] = R"sh(exec "$@" <"$DOVE_STDIN")sh";

constexpr std::string_view kError = "srun: error: ";
constexpr std::string_view kExited = "Exited with exit code ";
constexpr std::string_view kOut_of_memory = "Out Of Memory";
constexpr int kSignalMax = 64;

bool is_script(const WantedWork& work) { return !work.program->script.empty(); }

std::string workdir_of(const StepWanted& step) {
  const std::string& given = step.work.program->workdir;
  if (given.empty()) return step.home;
  return given.front() == '/' ? given : step.home + "/" + given;
}

std::string absolute(const std::string& path, const std::string& workdir) {
  return path.empty() || path.front() == '/' ? path : workdir + "/" + path;
}

// Whether all tasks write to the same files: then srun writes them.
bool share_files(const Program& program) {
  return std::all_of(program.tasks.begin(), program.tasks.end(), [&](const TaskFiles& task) {
    return task.output == program.tasks.front().output && task.error == program.tasks.front().error;
  });
}

// "0-1,3".
bool read_list(std::string_view text, std::vector<int>& found) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    int first = 0;
    const char* const end = part.data() + part.size();
    auto at = std::from_chars(part.data(), end, first);
    if (at.ec != std::errc()) return false;
    int last = first;
    if (at.ptr != end) {
      if (*at.ptr != '-') return false;
      at = std::from_chars(at.ptr + 1, end, last);
      if (at.ec != std::errc() || at.ptr != end || last - first > 100'000) return false;
    }
    for (int i = first; i <= last; ++i) found.push_back(i);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return !found.empty();
}

// How a task ended, as srun says it: "Exited with exit code 3", "Killed", "Terminated (core
// dumped)".
std::optional<TaskEnd> read_end(std::string_view text) {
  TaskEnd end;
  if (text.starts_with(kExited)) {
    text.remove_prefix(kExited.size());
    const auto at = std::from_chars(text.data(), text.data() + text.size(), end.exit_code);
    return at.ec == std::errc() ? std::optional(end) : std::nullopt;
  }
  if (text.starts_with(kOut_of_memory)) {
    end.signal = 9;
    end.cause = "out_of_memory";
    return end;
  }
  text = text.substr(0, text.find(" (core dumped)"));
  for (int signal = 1; signal <= kSignalMax; ++signal) {
    const char* name = ::sigdescr_np(signal);
    if (name == nullptr || text != name) continue;
    end.signal = signal;
    return end;
  }
  return std::nullopt;
}

// "srun: error: n1: tasks 0-1: Exited with exit code 1".
void read_line(std::string_view line, const std::vector<int>& ranks, std::vector<TaskEnd>& ends) {
  if (!line.starts_with(kError)) return;
  const std::size_t task = line.find(": task");
  if (task == std::string_view::npos) return;
  line.remove_prefix(task + std::string_view(": task").size());
  if (line.starts_with('s')) line.remove_prefix(1);
  if (!line.starts_with(' ')) return;
  line.remove_prefix(1);
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return;
  std::vector<int> tasks;
  if (!read_list(line.substr(0, colon), tasks)) return;
  const std::optional<TaskEnd> end = read_end(line.substr(colon + 2));
  if (!end) return;
  for (const int at : tasks) {
    if (at < 0 || at >= static_cast<int>(ranks.size())) continue;
    ends.push_back(*end);
    ends.back().rank = ranks[static_cast<std::size_t>(at)];
  }
}

// What our srun needs to start steps on all of them.
void add_nodes(const std::vector<NodeHeld>& nodes, std::map<std::string, std::string>& all) {
  std::vector<std::int64_t> jobs;
  std::vector<std::int32_t> cpus;
  for (const NodeHeld& node : nodes) {
    jobs.push_back(node.slurm_job);
    cpus.push_back(node.cpus);
  }
  all["DOVE_SLURM_ALLOCATIONS"] = fmt::format("{}", fmt::join(jobs, ","));
  all["DOVE_CPUS_PER_NODE"] = text::fold_counts(cpus);
}

}  // namespace

bool runs_script_of_several(const WantedWork& work) {
  return work.program && is_script(work) && work.nodes > 1;
}

std::vector<std::string> srun_command(const StepWanted& step) {
  const WantedWork& work = step.work;
  const Program& program = *work.program;
  const std::string workdir = workdir_of(step);
  const int tasks = is_script(work) ? 1 : std::max<int>(static_cast<int>(work.ranks.size()), 1);
  const int cpus = std::max(std::max(work.cores, 1) * step.cpus_per_core / tasks, 1);
  std::vector<std::string> words = {"srun",
                                    fmt::format("--jobid={}", step.slurm_job),
                                    "--overlap",
                                    "--nodes=1",
                                    fmt::format("--ntasks={}", tasks),
                                    fmt::format("--cpus-per-task={}", cpus),
                                    "--mem=0",
                                    "--wait=0",
                                    "--kill-on-bad-exit=0",
                                    "--propagate=NONE",
                                    "--export=ALL",
                                    "--chdir=/",
                                    "--job-name=" + (work.name.empty() ? "job" : work.name)};
  const bool shared = !program.tasks.empty() && share_files(program);
  if (shared) {
    const TaskFiles& files = program.tasks.front();
    const bool append = program.append || work.node_rank > 0;
    words.push_back("--output=" + text::as_pattern(absolute(files.output, workdir)));
    if (!files.error.empty()) {
      words.push_back("--error=" + text::as_pattern(absolute(files.error, workdir)));
    }
    words.push_back(append ? "--open-mode=append" : "--open-mode=truncate");
  } else {
    words.push_back("--output=none");
  }
  const std::string shell =
      std::string(kBegin) + (is_script(work) ? kScript : kRun) + text::kUnpack_functions + kBecome;
  words.insert(words.end(), {"/bin/sh", "-c", shell, "dove-task"});
  for (const TaskFiles& task : program.tasks) {
    words.push_back(std::to_string(task.rank));
    words.push_back(shared ? "" : absolute(task.output, workdir));
    // srun writes two streams to one file in any order: the task joins them itself.
    const bool is_sruns = shared && !task.error.empty();
    words.push_back(is_sruns ? "-" : absolute(task.error, workdir));
    words.push_back(task.devices ? fmt::format("{}", fmt::join(*task.devices, ",")) : "all");
  }
  words.emplace_back("--");
  words.insert(words.end(), program.command.begin(), program.command.end());
  return words;
}

std::vector<std::string> srun_environment(const StepWanted& step, const std::string& slurm_conf) {
  const WantedWork& work = step.work;
  const Program& program = *work.program;
  std::map<std::string, std::string> all{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                         {"LANG", "C.UTF-8"}};
  for (const auto& [name, value] : program.environment) {
    // srun itself runs with these, beside the adapter.
    if (text::passes_srun(name)) all[name] = value;
  }
  const std::string workdir = workdir_of(step);
  all["HOME"] = step.home;
  all["USER"] = all["LOGNAME"] = work.user;
  all["PWD"] = all["DOVE_WORKDIR"] = workdir;
  all["DOVE_STDIN"] = program.input.empty() ? "/dev/null" : absolute(program.input, workdir);
  all["DOVE_UMASK"] = program.umask;
  all["DOVE_APPEND"] = program.append ? "1" : "0";
  all["DOVE_NODES"] = std::to_string(work.nodes);
  all["DOVE_NODE_RANK"] = std::to_string(work.node_rank);
  all["DOVE_BACKEND"] = "slurm";
  if (!step.all_nodes.empty()) add_nodes(step.all_nodes, all);
  if (!slurm_conf.empty()) all["SLURM_CONF"] = slurm_conf;
  text::pack_functions(all);
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<TaskEnd> ends_said(std::string_view said, const std::vector<int>& ranks) {
  std::vector<TaskEnd> ends;
  while (!said.empty()) {
    const std::size_t end = said.find('\n');
    if (end == std::string_view::npos) break;  // a line that is still being written
    read_line(said.substr(0, end), ranks, ends);
    said.remove_prefix(end + 1);
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const TaskEnd& a, const TaskEnd& b) { return a.rank < b.rank; });
  const auto same = [](const TaskEnd& a, const TaskEnd& b) { return a.rank == b.rank; };
  ends.erase(std::unique(ends.begin(), ends.end(), same), ends.end());
  return ends;
}

std::vector<TaskEnd> ends_of(std::string_view said, int code, const std::vector<int>& ranks) {
  std::vector<TaskEnd> ends = ends_said(said, ranks);
  if (code != 0 && ends.empty()) return {};
  // srun says nothing about tasks that ended well.
  for (const int rank : ranks) {
    const bool known = std::any_of(ends.begin(), ends.end(),
                                   [rank](const TaskEnd& end) { return end.rank == rank; });
    if (!known) ends.push_back({rank, 0, 0, ""});
  }
  std::sort(ends.begin(), ends.end(),
            [](const TaskEnd& a, const TaskEnd& b) { return a.rank < b.rank; });
  return ends;
}

std::string why_not_begun(std::string_view said, int code) {
  while (!said.empty() && said.back() == '\n') said.remove_suffix(1);
  const std::size_t last = said.rfind('\n');
  const std::string_view line = last == std::string_view::npos ? said : said.substr(last + 1);
  if (line.empty()) return fmt::format("srun exits with {} and says nothing", code);
  return std::string(line.substr(0, 200));
}

}  // namespace dove::slurm
