// srun and dove-rsh: programs inside a job's allocation; outside of one, srun is a job of its own.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/client/exec_client.h"
#include "cli/client/follow.h"
#include "cli/client/step.h"
#include "cli/client/step_input.h"
#include "cli/client/submission.h"
#include "cli/client/task_ends.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/immediate.h"
#include "cli/slurm/programs/broadcast.h"
#include "cli/slurm/programs/multi_program.h"
#include "cli/slurm/slurms_srun.h"
#include "cli/slurm/step_container.h"
#include "cli/slurm/step_sizes.h"
#include "cli/terminal/output.h"
#include "codec/json.h"
#include "jobfiles/amounts.h"
#include "jobfiles/container_options.h"
#include "jobfiles/options.h"
#include "jobfiles/step_options.h"
#include "text/hostlist.h"
#include "text/utf8.h"
#include "text/variable_name.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kPatience_s = 30;

// Ours in JSON, which is UTF-8; the job's own words are set by its node.
std::map<std::string, std::string> own_environment(const std::string& wanted) {
  std::map<std::string, std::string> environment;
  const std::vector<std::string> words = comma_list(wanted);
  const auto listed = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const bool all = words.empty() || listed("ALL");
  for (const auto& [name, value] : local_context().environment) {
    const bool ours = name.starts_with("DOVE_") || name == "_" || name == "SHLVL" ||
                      name == "PWD" || name == "OLDPWD" || name == "SBATCH_EXPORT";
    if (ours || !text::is_variable_name(name) || !text::is_utf8(value)) continue;
    if (all || name == "PATH" || listed(name.c_str())) environment[name] = value;
  }
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return environment;
}

// What was given of the options that a step has no use for. Outside of a job sbatch's table says.
Result<void> check_options(const Invocation& invocation, bool in_job) {
  for (const auto& [name, values] : invocation.values) {
    const jobfiles::StepOption* option = jobfiles::find_step_option(name);
    // sbatch means something else by --wait.
    const bool is_of_job = !in_job && name != "wait" && jobfiles::find_option(name).ok();
    if (option == nullptr || is_of_job) continue;
    const std::string_view why = jobfiles::step_objection(*option, values.back());
    if (why.empty()) continue;
    if (option->use == jobfiles::StepUse::kRefused) {
      return usage_error(fmt::format("--{} is not supported: {}", name, why));
    }
    if (!invocation.has("quiet")) {
      face_says("srun", fmt::format("warning: --{} has no effect: {}", name, why));
    }
  }
  return {};
}

bool is_rank_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// As Slurm's --output and --error: all, none, the number of one task, or a file.
void set_output(const Invocation& invocation, const char* name, std::string& path,
                std::int64_t& rank) {
  const std::string given = invocation.get(name);
  if (is_rank_number(given)) {
    rank = std::strtoll(given.c_str(), nullptr, 10);
  } else if (given != "all") {
    path = given == "none" ? "/dev/null" : given;
  }
}

// `tasks`: 0 where the server alone knows how many there are.
Result<void> check_outputs(const Invocation& invocation, const StepWanted& step,
                           std::int64_t tasks) {
  for (const auto& [option, rank] :
       {std::pair("output", step.stdout_rank), std::pair("error", step.stderr_rank)}) {
    if (tasks > 0 && rank >= tasks) return no_such_task(option, std::to_string(rank), tasks);
  }
  // The node would join them to the file.
  if (step.stdout_path.empty() || !step.stderr_path.empty() || !invocation.has("error")) return {};
  return usage_error(
      fmt::format("--error={} prints errors here only where the output is printed here, too: "
                  "redirect srun's own output in place of --output, or name a file for --error",
                  invocation.get("error")));
}

// As Slurm's --input: all, none, the number of one task, or a file on the nodes.
void set_input(const std::string& given, StepWanted& step) {
  const bool is_rank = is_rank_number(given);
  if (given != "all" && given != "none" && !is_rank) {
    step.stdin_text = given;
    return;
  }
  step.stdin_text = given != "none" && has_input() ? "stream" : "none";
  if (is_rank) step.stdin_rank = std::strtoll(given.c_str(), nullptr, 10);
}

Result<StepWanted> wanted_of(const Invocation& invocation) {
  StepWanted step;
  step.command = invocation.operands;
  step.name = invocation.get("job-name");
  TRY_ASSIGN(const json sizes, step_sizes(invocation));
  TRY_ASSIGN(json container, step_container(invocation));
  json asked = sizes;
  const bool has_container = !container.is_null();
  if (has_container) asked["container"] = std::move(container);
  step.sizes = codec::dump_json(asked);
  if (invocation.has("time")) {
    const Result<Span> limit = jobfiles::parse_time_limit(invocation.get("time"));
    if (!limit.ok()) return usage_error(fmt::format("--time: {}", limit.error().message));
    step.time_limit_s = (limit->us + 999'999) / 1'000'000;
  }
  step.workdir = invocation.get("chdir", local_context().workdir);
  step.environment = own_environment(invocation.get("export"));
  if (invocation.has("cpus-per-task")) {
    step.environment["SLURM_CPUS_PER_TASK"] = invocation.get("cpus-per-task");
  }
  if (invocation.has("container-image") || invocation.has("container-env")) {
    step.environment[jobfiles::kContainerEnv] = invocation.get("container-env");
  }
  if (invocation.has("bcast") && has_container) {
    return usage_error("--bcast and the options of containers exclude each other");
  }
  step.quiet = invocation.has("quiet");
  set_output(invocation, "output", step.stdout_path, step.stdout_rank);
  set_output(invocation, "error", step.stderr_path, step.stderr_rank);
  if (!invocation.has("error")) step.stderr_rank = step.stdout_rank;
  const std::int64_t of_job = inside_job() ? tasks_of_job(sizes) : 0;
  TRY(check_outputs(invocation, step, sizes.value("tasks", of_job)));
  set_input(invocation.get("input", "all"), step);
  step.label = invocation.has("label");
  step.kill_on_bad_exit =
      invocation.has("kill-on-bad-exit") && invocation.get("kill-on-bad-exit") != "0";
  TRY_ASSIGN(step.wait_s, count_of("wait", invocation.get("wait", "0")));
  return step;
}

// Prints which tasks of a job that is over failed, and where, as for a step.
void tell_failures(Api& api, const std::string& id) {
  const Result<json> job = api.get(job_target(id));
  if (!job.ok() || !job->contains("attempts") || (*job)["attempts"].empty()) return;
  const json& attempt = (*job)["attempts"].back();
  std::map<std::int64_t, std::string> nodes;
  for (const json& placement : attempt.value("placements", json::array())) {
    for (const json& task : placement.value("tasks", json::array())) {
      nodes[number_of(task, "rank")] = text_of(placement, "node_name");
    }
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> failures;
  for (const json& exit : attempt.value("exits", json::array())) {
    const std::int64_t code = number_of(exit, "exit_code");
    const std::int64_t signal = number_of(exit, "signal");
    const std::string cause = text_of(exit, "cause");
    if (code == 0 && signal == 0 && cause.empty()) continue;
    const std::int64_t rank = number_of(exit, "rank");
    failures[{nodes[rank], ended_text(code, signal, cause)}].push_back(rank);
  }
  for (const auto& [what, ranks] : failures) {
    face_says("srun", "error: " + failure_text(what.first, ranks, what.second));
  }
}

// Outside of an allocation: a job whose tasks are the program.
Result<int> run_as_job(const Invocation& invocation) {
  if (invocation.has("bcast")) {
    return usage_error("--bcast works inside a job, or with --jobid of a running one");
  }
  codec::Submission wanted = jobfiles::command_job(invocation.operands);
  wanted.exec.environment = own_environment(invocation.get("export"));
  TRY_ASSIGN(const std::optional<int> limit_s, immediate_s(invocation));
  jobfiles::Context context = local_context();
  wanted.exec.workdir = context.workdir;
  for (const jobfiles::Option& option : sbatch_options_of(invocation)) {
    const bool is_sruns = option.name == "export" || option.name == "wait";
    if (!is_sruns) context.options.push_back(option);
  }
  TRY_ASSIGN(const jobfiles::ParsedJob job, jobfiles::complete(std::move(wanted), "srun", context));
  if (!invocation.has("quiet")) print_warnings(job.warnings);
  if (!invocation.has("quiet") && invocation.get("wait", "0") != "0") {
    face_says("srun", "warning: --wait has no effect outside of a job: all tasks are waited for");
  }
  std::int64_t tasks = 0;
  for (const TaskGroup& group : job.submission.spec.groups) tasks += group.tasks;
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const Submitted submitted, submit_as_slurm(api, job));
  if (invocation.has("verbose")) face_says("srun", fmt::format("job {} submitted", submitted.id));
  const bool elsewhere = invocation.has("output");
  StartLimit limit(api.endpoint(), submitted.id, limit_s);
  TRY_ASSIGN(const int code, run_to_end(api, submitted.id, elsewhere ? 0 : static_cast<int>(tasks),
                                        invocation.has("label")));
  if (limit.has_passed()) {
    tell_busy("srun");
    return 1;
  }
  if (code != 0) tell_failures(api, submitted.id);
  return code;
}

// The job that --jobid names, or outside of jobs the one that salloc holds; "" : none.
std::string named_job(const Invocation& invocation) {
  return invocation.get("jobid", inside_job() ? "" : environment_value("DOVE_ALLOCATION"));
}

// The job that --jobid names, else the one that srun runs in. From outside it is the caller's token
// that counts; a job's own token is good for that job alone.
Result<StepPlace> place_of(const Invocation& invocation) {
  const std::string named = named_job(invocation);
  if (named.empty() || named == current_job()) return own_place();
  if (inside_job()) {
    return usage_error(
        fmt::format("--jobid={}: steps inside job {} are that job's own; call srun from outside to "
                    "reach another one",
                    named, current_job()));
  }
  TRY_ASSIGN(Endpoint endpoint, find_endpoint(invocation));
  return StepPlace{named, std::move(endpoint)};
}

// One task, with our terminal: a command beside the job's own first task on its node.
Result<int> run_with_terminal(const Invocation& invocation) {
  if (!inside_job() && named_job(invocation).empty()) {
    return usage_error(
        "--pty works inside a job, or with --jobid of a running one; start a job first, and see "
        "`dove exec -it JOB -- bash`");
  }
  ExecWanted wanted;
  protocol::ExecProgram& program = wanted.wish.program;
  TRY_ASSIGN(const json sizes, step_sizes(invocation));
  for (const char* count : {"tasks", "nodes"}) {
    const std::int64_t given = sizes.value(count, std::int64_t{0});
    if (given > 1) {
      return usage_error(fmt::format("--pty is for one task; {} {} were asked for", given, count));
    }
  }
  const std::vector<std::string> nodes = text::expand_hostlist(invocation.get("nodelist"));
  if (nodes.size() > 1) return usage_error("--pty is for one task, so --nodelist names one node");
  if (!nodes.empty()) wanted.wish.node = nodes[0];
  TRY_ASSIGN(const StepPlace place, place_of(invocation));
  wanted.job = place.job;
  program.command = invocation.operands;
  program.environment = own_environment(invocation.get("export"));
  program.workdir = invocation.get("chdir", local_context().workdir);
  program.terminal = program.input = true;
  return run_exec("srun", place.endpoint, wanted);
}

// "srun A : B" would start both as parts of one job.
Result<void> check_one_group(const Invocation& invocation) {
  const auto& words = invocation.operands;
  const auto colon = std::find(words.begin(), words.end(), ":");
  if (colon == words.end() || std::next(colon) == words.end()) return {};
  return usage_error(
      "srun A : B starts parts of a heterogeneous job, which a job here is not: start one step for "
      "each part in the background, or write the parts as groups: of a native job file; a program "
      "that wants the word : gets it from sh -c");
}

Result<int> run_srun(const Invocation& given) {
  if (given.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  if (given.get("mpi") == "list") {
    if (is_in_slurm()) return run_slurms_srun(given);
    print("MPI plugin types are...\n\tnone\n");
    return 0;
  }
  if (given.operands.empty())
    return usage_error("no program was named: srun [options] PROGRAM [ARGUMENT...]");
  TRY(check_one_group(given));
  TRY_ASSIGN(const Invocation invocation, join_programs(given));
  if (is_in_slurm()) return run_slurms_srun(invocation);
  TRY(check_options(invocation, inside_job() || !named_job(invocation).empty()));
  if (invocation.has("pty")) return run_with_terminal(invocation);
  if (!inside_job() && named_job(invocation).empty()) return run_as_job(invocation);
  TRY_ASSIGN(StepPlace place, place_of(invocation));
  TRY_ASSIGN(StepWanted step, wanted_of(invocation));
  if (invocation.has("bcast")) TRY(broadcast(invocation, place, step));
  // From outside nobody is faster than the news that the job runs.
  return run_step("srun", step, std::move(place), inside_job() ? kPatience_s : 0);
}

CommandSpec srun_spec() {
  CommandSpec spec;
  spec.name = "srun";
  spec.summary = "Run a program on the tasks of a job (as Slurm's)";
  spec.group = kFaceGroup;
  spec.operands = "PROGRAM [ARGUMENT...]";
  spec.operands_max = -1;
  spec.ends_at_operand = true;
  spec.description =
      "Inside a job, or with --jobid of a running one: starts a step on its nodes. Otherwise\n"
      "submits a job of the program, prints what it prints, and cancels it on Ctrl-C. Exits with\n"
      "the highest exit code of the tasks. Inside a job that a Slurm runs it executes the next\n"
      "srun in PATH, which is Slurm's, for a script on several nodes once on each; the step's\n"
      "tasks and file names have the job's number here.";
  std::string letters;
  for (const jobfiles::StepOption& option : jobfiles::step_options()) {
    OptionSpec one;
    one.name = option.name;
    one.letter = option.letter;
    letters += option.letter;
    one.value = option.argument == jobfiles::Argument::kNone ? "" : "VALUE";
    one.value_optional = option.argument == jobfiles::Argument::kOptional;
    one.repeats = true;
    one.help = option.use == jobfiles::StepUse::kHonoured ? std::string(option.text)
               : option.use == jobfiles::StepUse::kRefused
                   ? fmt::format("refused in a job: {}", option.text)
                   : fmt::format("no effect in a job: {}", option.text);
    spec.options.push_back(std::move(one));
  }
  std::vector<std::string> own;
  for (const OptionSpec& option : spec.options) own.push_back(option.name);
  for (OptionSpec& option : sbatch_option_specs(letters)) {
    if (option.name == "help" || option.name == "wrap" || option.name == "parsable" ||
        std::find(own.begin(), own.end(), option.name) != own.end()) {
      continue;
    }
    spec.options.push_back(std::move(option));
  }
  return spec;
}

// What Open MPI calls in place of ssh: dove-rsh [ssh options] HOST WORD...
Result<int> run_rsh(const Invocation& invocation) {
  std::vector<std::string> words = invocation.operands;
  while (!words.empty() && words[0].starts_with('-')) {
    const bool with_value = words[0] == "-l" || words[0] == "-p" || words[0] == "-o";
    words.erase(words.begin(), words.begin() + (with_value && words.size() > 1 ? 2 : 1));
  }
  if (words.size() < 2) return usage_error("expected HOST COMMAND...");
  StepWanted step;
  step.sizes = codec::dump_json(
      json{{"tasks", 1}, {"nodes", 1}, {"overcommit", true}, {"nodelist", {words[0]}}});
  const std::vector<std::string> command(words.begin() + 1, words.end());
  step.command = {"/bin/sh", "-c", fmt::format("{}", fmt::join(command, " "))};
  step.workdir = local_context().workdir;
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) {
    const std::string value = environment_value(name);
    if (!value.empty()) step.environment[name] = value;
  }
  TRY_ASSIGN(StepPlace place, own_place());
  return run_step("dove-rsh", step, std::move(place), kPatience_s);
}

}  // namespace

std::vector<Command> srun_commands() {
  CommandSpec rsh;
  rsh.name = "dove-rsh";
  rsh.summary = "Run a command on another node of the same job (for mpirun)";
  rsh.group = kFaceGroup;
  rsh.operands = "HOST COMMAND...";
  rsh.operands_max = -1;
  rsh.takes_all = true;
  rsh.description =
      "The words after HOST are joined and given to sh there, as with ssh. Jobs are set up to\n"
      "have Open MPI call it as its launch agent. The exit code is the command's.";
  return {{srun_spec(), guarded_face("srun", run_srun)}, {rsh, guarded_face("dove-rsh", run_rsh)}};
}

}  // namespace dove::cli
