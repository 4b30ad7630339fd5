// sbatch and scancel under their own names.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/client/follow.h"
#include "cli/client/signals.h"
#include "cli/client/submission.h"
#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr const char* kVersion = "slurm 22.05 (dove)\n";

Result<jobfiles::ParsedJob> parse_script(const Invocation& invocation) {
  const std::vector<std::string>& operands = invocation.operands;
  jobfiles::Source source;
  jobfiles::Context context = local_context();
  if (invocation.has("wrap")) {
    if (!operands.empty()) return usage_error("script arguments not permitted with --wrap option");
    source = {"--wrap", invocation.get("wrap"), jobfiles::Format::kWrap, {}};
  } else {
    TRY_ASSIGN(source, read_source(operands.empty() ? "-" : operands[0]));
    source.format = jobfiles::Format::kSbatch;
    if (!operands.empty()) source.arguments.assign(operands.begin() + 1, operands.end());
  }
  for (jobfiles::Option& option : sbatch_options_of(invocation)) {
    if (option.name != "wrap") context.options.push_back(std::move(option));
  }
  context.find_element = [&invocation](JobId array, std::int32_t index) {
    return find_element(invocation, array, index);
  };
  return jobfiles::parse(source, context);
}

Result<int> run_sbatch(const Invocation& invocation) {
  if (invocation.has("version")) {
    print(kVersion);
    return 0;
  }
  TRY_ASSIGN(const jobfiles::ParsedJob job, parse_script(invocation));
  if (!job.behaviour.quiet) print_warnings(job.warnings);
  if (job.behaviour.test_only) {
    face_says("sbatch", "the job is valid; nothing was submitted");
    return 0;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const Submitted submitted, submit_as_slurm(api, job));
  if (job.behaviour.parsable) {
    print(submitted.id + "\n");
  } else if (!job.behaviour.quiet) {
    print(fmt::format("Submitted batch job {}\n", submitted.id));
  }
  if (!job.behaviour.wait) return 0;
  std::fflush(stdout);
  return run_to_end(api, submitted.id, 0, false);
}

// The jobs that scancel's filters mean; with ids only those among them.
Result<std::vector<JobView>> chosen(Api& api, const Invocation& invocation) {
  JobFilter filter;
  filter.users = comma_list(invocation.get("user"));
  if (invocation.has("me")) filter.users = {local_user()};
  filter.names = comma_list(invocation.get("name"));
  filter.queues = comma_list(invocation.get("qos"));
  filter.with_ended = false;
  for (const std::string& word : comma_list(invocation.get("state"))) {
    const std::vector<std::string> states = states_of_slurm(word);
    if (states.empty()) return usage_error(fmt::format("Invalid job state specified: {}", word));
    filter.states.insert(filter.states.end(), states.begin(), states.end());
  }
  filter.ids = invocation.operands;
  TRY_ASSIGN(const std::vector<json> found, list_jobs(api, filter));
  std::vector<JobView> jobs;
  const std::vector<std::string> pools = comma_list(invocation.get("partition"));
  for (const json& one : found) {
    const JobView job = read_job(one);
    if (pools.empty() || std::find(pools.begin(), pools.end(), job.pool) != pools.end()) {
      jobs.push_back(job);
    }
  }
  return jobs;
}

Result<int> run_scancel(const Invocation& invocation) {
  const std::vector<std::string> filters = {"user", "me", "name", "state", "partition", "qos"};
  const bool filtered = std::any_of(filters.begin(), filters.end(),
                                    [&](const std::string& name) { return invocation.has(name); });
  if (!filtered && invocation.operands.empty()) {
    return usage_error("No job identification provided");
  }
  json body = json::object();
  std::string action = "/cancel";
  if (invocation.has("signal")) {
    TRY_ASSIGN(const int number, signal_number(invocation.get("signal")));
    body["signal"] = number;
    // As Slurm's: the script, which waits for its steps, gets nothing but SIGKILL by default.
    if (invocation.has("batch")) {
      body["batch_only"] = true;
    } else if (!invocation.has("full") && number != SIGKILL) {
      body["steps_only"] = true;
    }
    action = "/signal";
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  std::vector<std::string> ids;
  if (filtered) {
    TRY_ASSIGN(const std::vector<JobView> jobs, chosen(api, invocation));
    for (const JobView& job : jobs) ids.push_back(job.id);
  } else {
    for (const std::string& operand : invocation.operands) {
      for (const std::string& id : text::expand_hostlist(operand)) ids.push_back(id);
    }
  }
  int code = 0;
  for (const std::string& id : ids) {
    const Result<json> answer = api.send("POST", job_target(id, action), body);
    if (answer.ok()) {
      if (invocation.has("verbose")) face_says("scancel", "Terminating job " + id);
      continue;
    }
    // A job that is over is not an error to scancel, as with Slurm.
    if (answer.error().kind == ErrorKind::kConflict && !invocation.has("verbose")) continue;
    if (!invocation.has("quiet")) {
      face_says("scancel",
                fmt::format("error: Kill job error on job id {}: {}", id, answer.error().message));
    }
    code = 1;
  }
  return code;
}

CommandSpec scancel_spec() {
  CommandSpec spec;
  spec.name = "scancel";
  spec.summary = "Cancel jobs or send them signals (as Slurm's)";
  spec.group = kFaceGroup;
  spec.operands = "[JOB[_INDEX]...]";
  spec.completes = "job";
  spec.operands_max = -1;
  spec.options = {{"user", 'u', "USERS", "jobs of these users"},
                  {"me", 0, "", "my jobs"},
                  {"name", 'n', "NAMES", "jobs of these names"},
                  {"jobname", 0, "NAMES", "the same"},
                  {"state", 't', "STATE", "jobs in this state: PENDING, RUNNING or SUSPENDED"},
                  {"signal", 's', "SIGNAL", "send this signal instead"},
                  {"batch", 'b', "", "send the signal to the batch script only"},
                  {"full", 'f', "", "send it to the batch script, too, not to its steps alone"},
                  {"partition", 'p', "POOLS", "jobs in these pools"},
                  {"qos", 'q', "QUEUES", "jobs in these queues"},
                  {"quiet", 'Q', "", "say nothing about jobs that have ended"},
                  {"verbose", 'v', "", "say what is done"}};
  return spec;
}

}  // namespace

std::vector<Command> sbatch_commands() {
  CommandSpec spec;
  spec.name = "sbatch";
  spec.summary = "Submit a batch script (as Slurm's)";
  spec.group = kFaceGroup;
  spec.operands = "[SCRIPT [ARGUMENT...]]";
  spec.completes = "file";
  spec.operands_max = -1;
  spec.ends_at_operand = true;
  spec.description =
      "Without SCRIPT the script is read from stdin. SBATCH_* variables override #SBATCH lines, "
      "and\n"
      "the command line overrides both. Options without effect get a warning with line and column.";
  for (OptionSpec& option : sbatch_option_specs("")) {
    if (option.name != "help") spec.options.push_back(std::move(option));
  }
  return {{spec, guarded_face("sbatch", run_sbatch)}};
}

std::vector<Command> scancel_commands() {
  return {{scancel_spec(), guarded_face("scancel", [](const Invocation& given) {
             Invocation all = given;
             if (given.has("jobname")) all.values["name"] = given.all("jobname");
             return run_scancel(all);
           })}};
}

}  // namespace dove::cli
