// dove run: a program in a job of its own, with its output, its exit code and, with --pty, its
// terminal here.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/client/exec_client.h"
#include "cli/client/follow.h"
#include "cli/client/start_wait.h"
#include "cli/client/submission.h"
#include "cli/commands/job_options.h"
#include "cli/commands/side.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "codec/json.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kComes_s = 120;  // so long after its start the terminal must have come
constexpr int kLeft = 129;     // as if by SIGHUP

// With a terminal, the task waits for the command that comes to it, and ends as that does: with its
// exit code, or as soon as it is gone without one. Never before it is gone: what is left of a job
// is killed with the task, and that would be the exit code.
constexpr char kTask[] = R"sh(
line=$DOVE_SOCKETS/dove-run
mkfifo -m 600 "$line" || exit 125
( sleep "$1"; [ -e "$line.came" ] || echo "$2" >"$line" ) &
code=
exec 8<"$line"
read -r code <&8
read -r gone <&8
exit "${code:-$2}"
)sh";

// What comes: while it has the pipe open, the task goes on. Keys that interrupt are the command's.
constexpr char kComes[] = R"sh(
line=$DOVE_SOCKETS/dove-run
tries=0
until [ -p "$line" ] || [ "$tries" -ge 100 ]; do
  sleep 0.1 2>/dev/null || sleep 1
  tries=$((tries + 1))
done
exec 9>"$line"
: >"$line.came"
trap : INT QUIT
"$@" 9>&-
code=$?
echo "$code" >&9
exit "$code"
)sh";

// The job as a file would have it. Without an image it is as in a shell here.
Result<jobfiles::ParsedJob> parse_job(const Invocation& invocation, bool with_terminal) {
  codec::Submission wanted = jobfiles::command_job(invocation.operands);
  if (with_terminal) {
    wanted.exec.command = {
        "/bin/sh", "-c", kTask, "dove-run", std::to_string(kComes_s), std::to_string(kLeft)};
    wanted.spec.requeue = false;
  }
  jobfiles::Context context = local_context();
  context.options = job_options(invocation);
  const auto given = [&](const char* name) {
    return std::any_of(context.options.begin(), context.options.end(),
                       [&](const jobfiles::Option& option) { return option.name == name; });
  };
  if (!given("container-image")) {
    wanted.exec.workdir = context.physical_workdir;
    if (!given("export")) context.options.push_back({"export", "ALL", {"command line", 0, 0}});
  }
  TRY_ASSIGN(jobfiles::ParsedJob job,
             jobfiles::complete(std::move(wanted), jobfiles::kTyped, context));
  TRY(set_fields(invocation, job));
  return job;
}

std::int64_t tasks_of(const jobfiles::ParsedJob& job) {
  std::int64_t tasks = 0;
  for (const TaskGroup& group : job.submission.spec.groups) tasks += group.tasks;
  return tasks;
}

// It ended before anybody came: why, with what it said last.
Error ended_early(Api& api, const std::string& id) {
  const Result<json> job = api.get(job_target(id));
  std::string how = fmt::format("job {} has ended", id);
  if (job.ok()) {
    how += ": " + text_of(*job, "state");
    const std::string failure = text_of(*job, "start_failure");
    if (!failure.empty()) how += ": " + failure;
  }
  return Error{ErrorKind::kInternal, "job_ended",
               how + fmt::format("; `dove show {}` says more", id), ""};
}

Result<int> with_terminal(const Invocation& invocation, Api& api, const std::string& id) {
  ExecWanted wanted;
  protocol::ExecProgram& program = wanted.wish.program;
  wanted.job = id;
  program.command = {"/bin/sh", "-c", kComes, "dove-run"};
  program.command.insert(program.command.end(), invocation.operands.begin(),
                         invocation.operands.end());
  program.terminal = program.input = true;
  const std::string term = environment_value("TERM");
  program.environment["TERM"] = term.empty() ? "xterm" : term;
  const Result<int> code = run_exec("dove run", api.endpoint(), wanted);
  if (code.ok()) return code;
  // What is left of it ends by itself; sooner, if the server can be reached.
  [[maybe_unused]] const Result<json> cancelled =
      api.send("POST", job_target(id, "/cancel"), json::object());
  Error error = code.error();
  error.message += fmt::format("; job {} ends with its terminal", id);
  return error;
}

Result<int> run(const Invocation& invocation) {
  const bool has_terminal = invocation.has("pty");
  TRY_ASSIGN(const jobfiles::ParsedJob job, parse_job(invocation, has_terminal));
  const std::int64_t tasks = tasks_of(job);
  if (has_terminal && (tasks != 1 || !job.submission.spec.array.indices.empty())) {
    return usage_error("--pty is for one task: leave out what asks for more, or --pty");
  }
  if (!job.submission.spec.array.indices.empty()) {
    return usage_error("run takes no array: use dove submit --array=...");
  }
  print_warnings(job.warnings);
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<SideApp> sides, side_apps(api, invocation, job));
  TRY_ASSIGN(const Submitted submitted, submit(api, job));
  const std::string& id = submitted.id;
  if (!invocation.has("quiet")) say(fmt::format("job {} is submitted", id));
  submit_sides(api, sides, job, id);
  TRY_ASSIGN(const Started started, wait_for_start(api, id));
  switch (started) {
    case Started::kInterrupted:
      return 128 + 2;
    case Started::kEnded:
      if (has_terminal) return ended_early(api, id);
      break;
    case Started::kRuns:
      if (has_terminal) return with_terminal(invocation, api, id);
      break;
  }
  return run_to_end(api, id, static_cast<int>(tasks), invocation.has("label"));
}

}  // namespace

std::vector<Command> run_commands() {
  CommandSpec spec;
  spec.name = "run";
  spec.summary = "Run a program in a job, as if it ran here";
  spec.group = "Jobs";
  spec.operands = "PROGRAM [ARGUMENT...]";
  spec.operands_min = 1;
  spec.operands_max = -1;
  spec.ends_at_operand = true;
  spec.description =
      "Submits the job, says why it waits, and passes on what it prints and its exit code; an\n"
      "interrupt cancels it. With --pty the program has your terminal and gets every key, Ctrl-C\n"
      "included; the job ends when the program, this command or the connection ends. Without an\n"
      "image it has your environment and the present directory.";
  spec.options = {{"pty", 0, "", "give it a terminal: for shells and debuggers"},
                  {"label", 'l', "", "begin each line with the number of its task"},
                  set_option()};
  for (OptionSpec& option : side_options()) spec.options.push_back(std::move(option));
  std::vector<OptionSpec> more = job_option_specs();
  for (OptionSpec& option : more) {
    if (option.name == "label" || option.name == "wrap" || option.name == "array") continue;
    if (option.letter == 'l') option.letter = 0;
    spec.options.push_back(std::move(option));
  }
  return {{spec, guarded("run", run)}};
}

}  // namespace dove::cli
