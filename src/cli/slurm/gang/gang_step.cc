#include "cli/slurm/gang/gang_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "cli/slurm/gang/gang_layout.h"
#include "cli/slurm/gang/srun_lines.h"
#include "cli/slurm/gang/step_files.h"
#include "cli/slurm/programs/program_path.h"
#include "cli/slurm/step_sizes.h"
#include "cli/terminal/output.h"
#include "jobfiles/step_options.h"
#include "model/rendezvous.h"
#include "text/bash_functions.h"
#include "text/hostlist.h"
#include "text/run_lengths.h"
#include "text/srun_variables.h"
#include "text/words.h"

namespace dove::cli {
namespace {

// What each task does first. Its arguments: the names of the variables by which ranks meet and that
// are not the user's own; whether files are appended to; for each task of the node its rank, output
// and error output; "--"; the program. Before them what the node's first task says on its error
// output, so that whoever started the step knows that it has the node.
constexpr const char kTask[] = R"sh(
given=$1 append=$2 mark=$3
shift 3
i=$SLURM_LOCALID
[ "$i" -gt 0 ] || printf %s "$mark" >&2
while [ "$i" -gt 0 ]; do shift 3; i=$((i - 1)); done
rank=$1 out=$2 err=$3
while [ "$1" != -- ]; do shift; done
shift
[ -z "$out" ] || if [ "$append" = 1 ]; then exec >>"$out"; else exec >"$out"; fi || exit 1
case $err in
  "") ;;
  "&1") exec 2>&1 ;;
  *) if [ "$append" = 1 ]; then exec 2>>"$err"; else exec 2>"$err"; fi || exit 1 ;;
esac
export SLURM_PROCID="$rank" DOVE_RANK="$rank" DOVE_GIVEN=
for name in $given; do
  case $name in
    RANK) export RANK="$rank" ;;
    LOCAL_RANK) export LOCAL_RANK="$SLURM_LOCALID" ;;
    TF_CONFIG) export TF_CONFIG="${TF_CONFIG%:*}:$rank}}" ;;
  esac
  eval "DOVE_GIVEN=\"\${DOVE_GIVEN:+\$DOVE_GIVEN }$name=\$$name\""
done
)sh";

// Slurm's variables that srun gets from this process; the others describe its own step.
constexpr std::array kKept{"SLURM_CONF", "SLURM_JOB_NAME", "SLURM_EXACT", "SLURM_OVERLAP",
                           "SLURM_OVERCOMMIT"};
// What the layout says, in place of the user.
constexpr std::array kLaid_out{"jobid",          "nodes",     "ntasks",  "ntasks-per-node",
                               "tasks-per-node", "nodelist",  "exclude", "relative",
                               "het-group",      "pack-group"};
// Said anew where there are several nodes.
constexpr std::array kSaid_anew{"output", "error",        "input", "open-mode", "gpus",
                                "mpi",    "distribution", "pty",   "label"};
// Run where srun is called, for the whole step.
constexpr std::array kOnce{"prolog", "epilog"};
// What sbcast is told: srun would copy what runs before the program.
constexpr std::array kCopies{"bcast", "bcast-exclude", "compress", "send-libs"};
// What no srun of a single node can do.
constexpr std::array kNot_of_a_node{"het-group", "pack-group",  "nodefile",
                                    "x11",       "no-allocate", "test-only"};

template <std::size_t kCount>
bool is_among(const std::array<const char*, kCount>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

class Builder {
 public:
  Builder(const Invocation& invocation, const GangContext& context,
          const std::vector<NodeTasks>& layout, const nlohmann::json& sizes)
      : invocation_(invocation),
        context_(context),
        layout_(layout),
        sizes_(sizes),
        cores_per_task_(sizes.value("cores_per_task", std::int64_t{1})) {
    for (const NodeTasks& part : layout) {
      names_.push_back(context.nodes[part.node].name);
      counts_.push_back(part.tasks);
      Rendezvous::Node& node = rendezvous_.nodes.emplace_back();
      node.address = context.nodes[part.node].address;
      for (std::int32_t i = 0; i < part.tasks; ++i) {
        node.ranks.push_back(static_cast<Rank>(part.first_rank + i));
      }
    }
    rendezvous_.id = fmt::format("{}.{}", context.job.id, context.number);
    std::uint64_t id = 0;
    std::from_chars(context.job.id.data(), context.job.id.data() + context.job.id.size(), id);
    rendezvous_.port = master_port(JobId(id), 1, context.number);
  }

  Result<GangStep> step() {
    GangStep step;
    step.tasks = layout_.back().first_rank + layout_.back().tasks;
    step.environment = srun_environment();
    has_terminal_ = layout_.size() > 1 && invocation_.has("pty");
    step.label = invocation_.has("label") && !has_terminal_;
    step.waits = !sizes_.value("overlap", false);
    const std::string bad = invocation_.get("kill-on-bad-exit", "0");
    step.kill_on_bad_exit = bad.empty() || bad != "0";
    TRY(check());
    if (layout_.size() > 1) {
      add_warnings(step.warnings);
      TRY_ASSIGN(files_, step_files(invocation_, context_, step.tasks));
      TRY_ASSIGN(const std::int64_t wait_s, count_of("wait", invocation_.get("wait", "0")));
      step.wait_s = static_cast<std::int32_t>(std::min<std::int64_t>(wait_s, INT32_MAX));
    }
    for (std::size_t i = 0; i < layout_.size(); ++i) {
      TRY_ASSIGN(SrunCall call, call_of(i));
      step.calls.push_back(std::move(call));
    }
    return step;
  }

 private:
  std::string variable(const std::string& name) const {
    const auto found = context_.environment.find(name);
    return found == context_.environment.end() ? "" : found->second;
  }

  Result<void> check() const {
    // Slurm's srun would look for them in the one node's job.
    for (const auto& [name, values] : invocation_.values) {
      const jobfiles::StepOption* option = jobfiles::find_step_option(name);
      if (option == nullptr || !is_among(kNot_of_a_node, name)) continue;
      const std::string_view why = jobfiles::step_objection(*option, values.back());
      if (!why.empty()) return usage_error(fmt::format("--{} is not supported: {}", name, why));
    }
    const std::string libraries = invocation_.get("send-libs", "no");
    if (invocation_.has("bcast") && libraries != "no") {
      return usage_error(
          "--send-libs does not work in a job on several nodes: keep the libraries on a path that "
          "all nodes share, in LD_LIBRARY_PATH");
    }
    if (layout_.size() == 1) return {};
    if (has_terminal_) {
      for (const char* name : {"output", "error", "input"}) {
        if (!invocation_.has(name)) continue;
        return usage_error(fmt::format("--{} and --pty exclude each other", name));
      }
    }
    const std::string mpi = invocation_.get("mpi", "none");
    if (mpi == "none") return {};
    return usage_error(
        fmt::format("--mpi={} joins the tasks of one node only here: start MPI programs of several "
                    "nodes with mpirun",
                    mpi));
  }

  void add_warnings(std::vector<std::string>& warnings) const {
    const std::string order = invocation_.get("distribution");
    if (!order.empty() && !order.starts_with("block") && order.front() != '*') {
      warnings.push_back(fmt::format(
          "--distribution={} has no effect: ranks fill one node after the other", order));
    }
  }

  // Without what srun would take for options.
  std::vector<std::string> srun_environment() const {
    std::map<std::string, std::string> all = context_.environment;
    std::erase_if(all, [](const auto& entry) {
      return text::is_sruns_own(entry.first) && !is_among(kKept, entry.first);
    });
    text::pack_functions(all);
    std::vector<std::string> entries;
    for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
    return entries;
  }

  Result<SrunCall> call_of(std::size_t i) const {
    const NodeTasks& part = layout_[i];
    SrunCall call;
    call.first_rank = part.first_rank;
    call.allocation = context_.nodes[part.node].slurms_id;
    call.cpus = part.tasks * cores_per_task_;
    call.words = {"--jobid=" + context_.nodes[part.node].slurms_id, "--nodes=1",
                  fmt::format("--ntasks={}", part.tasks)};
    const bool is_alone = layout_.size() == 1;
    for (const auto& [name, values] : invocation_.values) {
      if (is_among(kLaid_out, name) || (!is_alone && is_among(kSaid_anew, name))) continue;
      if (is_among(kCopies, name) || (i > 0 && is_among(kOnce, name))) continue;
      for (const std::string& value : values) {
        // A second one would keep srun from saying how tasks end.
        if (name == "quiet" && &value != values.data()) continue;
        const std::string given =
            names_a_file(name) ? with_our_numbers(value, context_.job, context_.step) : value;
        call.words.push_back(given.empty() ? "--" + name : fmt::format("--{}={}", name, given));
      }
    }
    if (!invocation_.has("job-name")) {
      call.words.push_back("--job-name=" + program_name(invocation_.operands.front()));
    }
    if (!is_alone) TRY(add_anew(part, call));
    if (invocation_.has("bcast")) call.copy = copy_words(part);
    add_tasks(i, call.words);
    return call;
  }

  // Where the node's copy of the program is, as Slurm's srun names it.
  std::string copy_on(const NodeTasks& part) const {
    const std::string folder = invocation_.get("chdir", context_.workdir);
    std::string path = copy_path(invocation_.get("bcast"),
                                 folder.starts_with('/') ? folder : context_.workdir + "/" + folder,
                                 context_.job.id, context_.number);
    if (!path.ends_with(kOfNode)) return path;
    path.resize(path.size() - kOfNode.size());
    return path + "_" + context_.nodes[part.node].name;
  }

  std::vector<std::string> copy_words(const NodeTasks& part) const {
    std::vector<std::string> words{"--force", "--jobid=" + context_.nodes[part.node].slurms_id};
    for (const auto& [option, name] :
         {std::pair{"compress", "compress"}, std::pair{"bcast-exclude", "exclude"}}) {
      if (!invocation_.has(option)) continue;
      const std::string value = invocation_.get(option);
      words.push_back(value.empty() ? fmt::format("--{}", name)
                                    : fmt::format("--{}={}", name, value));
    }
    words.insert(words.end(), {invocation_.operands.front(), copy_on(part)});
    return words;
  }

  // What each node is told otherwise than the step is.
  Result<void> add_anew(const NodeTasks& part, SrunCall& call) const {
    call.words.emplace_back("--mpi=none");
    const std::string order = invocation_.get("distribution");
    if (order.starts_with("block")) call.words.push_back("--distribution=" + order);
    if (invocation_.has("gpus")) {
      TRY_ASSIGN(const std::string gpus, gpus_of_each());
      call.words.push_back("--gpus=" + gpus);
    }
    if (invocation_.has("label") && !has_terminal_) call.words.emplace_back("--label");
    if (has_terminal_) {
      add_terminal(part, call);
      return {};
    }
    const std::string& node = context_.nodes[part.node].name;
    const auto node_rank = static_cast<std::int32_t>(&part - layout_.data());
    call.output = stream_of_node(files_, files_.output, node, node_rank);
    call.error = stream_of_node(files_, files_.error, node, node_rank);
    return add_input(part, call);
  }

  // As Slurm's --pty: of all tasks the first one reads and writes there.
  static void add_terminal(const NodeTasks& part, SrunCall& call) {
    call.has_terminal = part.first_rank == 0;
    call.takes_input = false;
    if (call.has_terminal) {
      call.words.emplace_back("--pty");
      return;
    }
    call.words.emplace_back("--input=none");
    call.output = call.error = {"/dev/null", false};
  }

  Result<std::string> gpus_of_each() const {
    const std::string all = invocation_.get("gpus");
    const std::size_t colon = all.rfind(':');
    const std::size_t begin = colon == std::string::npos ? 0 : colon + 1;
    std::int64_t count = 0;
    std::from_chars(all.data() + begin, all.data() + all.size(), count);
    const auto nodes = static_cast<std::int64_t>(layout_.size());
    if (count % nodes == 0) return fmt::format("{}{}", all.substr(0, begin), count / nodes);
    return usage_error(
        fmt::format("--gpus={} cannot be split over {} nodes: say --gpus-per-node or "
                    "--gpus-per-task",
                    all, nodes));
  }

  // As Slurm's --input: all, none, the number of one task, or a file.
  Result<void> add_input(const NodeTasks& part, SrunCall& call) const {
    const std::string given = invocation_.get("input", "all");
    if (given == "all") return {};
    call.takes_input = false;
    std::int32_t rank = 0;
    const auto read = std::from_chars(given.data(), given.data() + given.size(), rank);
    const bool is_rank = read.ec == std::errc() && read.ptr == given.data() + given.size();
    if (!is_rank) {
      call.words.push_back("--input=" + with_our_numbers(given, context_.job, context_.step));
      return {};
    }
    rank -= part.first_rank;
    call.takes_input = rank >= 0 && rank < part.tasks;
    call.words.push_back(call.takes_input ? fmt::format("--input={}", rank) : "--input=none");
    return {};
  }

  // The variables by which ranks meet, but for those that the user has set.
  RankVariables given(std::size_t i) const {
    std::set<std::string> former;  // what this process was given, as a task of another step
    const std::string given_formerly = variable("DOVE_GIVEN");
    for (const std::string_view word : text::words_of(given_formerly)) {
      former.emplace(word.substr(0, word.find('=')));
    }
    const RankPlace place{static_cast<Rank>(layout_[i].first_rank), 0,
                          static_cast<std::int32_t>(i)};
    RankVariables all = rank_variables(rendezvous_, place);
    const std::string exported = invocation_.get("export");
    const std::vector<std::string> named = text::split(exported, ",");
    std::erase_if(all, [&](const auto& entry) {
      const bool is_named = std::any_of(named.begin(), named.end(), [&](const std::string& word) {
        return word.starts_with(entry.first + "=");
      });
      return is_named ||
             (context_.environment.contains(entry.first) && !former.contains(entry.first));
    });
    return all;
  }

  void add_tasks(std::size_t i, std::vector<std::string>& words) const {
    const NodeTasks& part = layout_[i];
    const NodeInSlurm& node = context_.nodes[part.node];
    const std::string tasks = std::to_string(layout_.back().first_rank + layout_.back().tasks);
    const std::string nodes = std::to_string(layout_.size());
    const std::string each = text::fold_counts(counts_);
    std::vector<std::int32_t> ranks;
    for (std::int32_t k = 0; k < part.tasks; ++k) ranks.push_back(part.first_rank + k);
    std::map<std::string, std::string> all{
        {"SLURM_JOB_ID", context_.job.id},
        {"SLURM_JOBID", context_.job.id},
        {"DOVE_SLURM_JOB_ID", node.slurms_id},
        {"DOVE_NODE", node.name},
        {"DOVE_NODE_RANK", std::to_string(part.node)},
        {"SLURM_NODEID", std::to_string(i)},
        {"SLURM_NTASKS", tasks},
        {"SLURM_NPROCS", tasks},
        {"SLURM_STEP_NUM_TASKS", tasks},
        {"SLURM_NNODES", nodes},
        {"SLURM_STEP_NUM_NODES", nodes},
        {"SLURM_JOB_NUM_NODES", std::to_string(context_.nodes.size())},
        {"SLURM_STEP_NODELIST", text::fold_hostlist(names_)},
        {"SLURM_TASKS_PER_NODE", each},
        {"SLURM_STEP_TASKS_PER_NODE", each},
        {"SLURM_GTIDS", fmt::format("{}", fmt::join(ranks, ","))},
        {"SLURM_JOB_NODELIST", variable("DOVE_NODELIST")},
        {"SLURM_NODELIST", variable("DOVE_NODELIST")},
        {"SLURM_JOB_CPUS_PER_NODE", variable("DOVE_CPUS_PER_NODE")}};
    // As %s says it: on each node Slurm has another one.
    if (context_.step >= 0) {
      all["SLURM_STEP_ID"] = all["SLURM_STEPID"] = std::to_string(context_.step);
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : given(i)) {
      names.push_back(name);
      all[name] = value;
    }
    // srun gives its tasks what is true of the allocation, whatever its own environment says.
    words.emplace_back("/usr/bin/env");
    for (const auto& [name, value] : all) words.push_back(name + "=" + value);
    // A terminal would show it, and nobody takes it out where this process becomes srun.
    const bool says_begun = layout_.size() > 1 && !(has_terminal_ && i == 0);
    const std::string shell = std::string(kTask) + text::kUnpack_functions + "exec \"$@\"";
    words.insert(words.end(),
                 {"/bin/sh", "-c", shell, "dove-step", fmt::format("{}", fmt::join(names, " ")),
                  files_.append ? "1" : "0", std::string(says_begun ? kBegunMark : "")});
    for (const std::int32_t rank : ranks) {
      const auto [out, err] = files_of_task(files_, node.name, static_cast<std::int32_t>(i), rank);
      words.insert(words.end(), {std::to_string(rank), out, err});
    }
    words.emplace_back("--");
    const bool is_copied = invocation_.has("bcast");
    if (is_copied) words.push_back(copy_on(part));
    words.insert(words.end(), invocation_.operands.begin() + (is_copied ? 1 : 0),
                 invocation_.operands.end());
  }

  const Invocation& invocation_;
  const GangContext& context_;
  const std::vector<NodeTasks>& layout_;
  const nlohmann::json& sizes_;
  const std::int64_t cores_per_task_;
  bool has_terminal_ = false;
  std::vector<std::string> names_;
  std::vector<std::int32_t> counts_;
  Rendezvous rendezvous_;
  StepFiles files_;
};

}  // namespace

Result<GangStep> gang_step(const Invocation& invocation, const nlohmann::json& sizes,
                           const GangContext& context) {
  TRY_ASSIGN(const std::vector<NodeTasks> layout, gang_layout(sizes, context.nodes));
  return Builder(invocation, context, layout, sizes).step();
}

}  // namespace dove::cli
