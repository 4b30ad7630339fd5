#include "cli/slurm/slurms_srun.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/exec_words.h"
#include "cli/client/endpoint.h"
#include "cli/face.h"
#include "cli/slurm/gang/gang_step.h"
#include "cli/slurm/gang/program_copy.h"
#include "cli/slurm/gang/srun_bundle.h"
#include "cli/slurm/gang/step_ledger.h"
#include "cli/slurm/programs/program_path.h"
#include "cli/slurm/step_sizes.h"
#include "cli/terminal/output.h"

extern char** environ;

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

// The first srun of PATH that is not ours, of whatever version: two of ours would call each other
// without end. "": none.
std::string find_slurms_srun() {
  return first_in_path("srun", environment_value("PATH"), [](const fs::path& found) {
    std::error_code wrong;
    const fs::path real = fs::canonical(found, wrong);
    return found.is_absolute() && !wrong && real.filename() != "dove";
  });
}

Result<void> check_job(const Invocation& invocation, const JobInSlurm& job) {
  const std::string named = invocation.get("jobid", job.id);
  if (named == job.id || named == job.slurms_id) return {};
  return usage_error(fmt::format(
      "--jobid={}: steps inside job {} are that job's own; call srun from outside to reach "
      "another one",
      named, job.id));
}

// Returns in case of an error alone.
Error become(const std::string& srun, const std::vector<std::string>& words, char** environment) {
  std::vector<char*> arguments = pointers(words);
  arguments.insert(arguments.begin(), const_cast<char*>("srun"));
  ::execve(srun.c_str(), arguments.data(), environment);
  return Error{ErrorKind::kUnavailable, "srun_failed",
               fmt::format("cannot run {}: {}", srun, std::strerror(errno)), "PATH"};
}

// Taken, of a step that may have to wait for its nodes.
Result<StepTurn> turn_of(const GangStep& step, const Invocation& invocation,
                         const JobInSlurm& job) {
  if (!step.waits) return StepTurn();
  std::vector<std::string> allocations;
  for (const SrunCall& call : step.calls) allocations.push_back(call.allocation);
  StepTurn turn(step_turn_path(), allocations);
  if (turn.try_take()) return turn;
  if (invocation.has("immediate")) {
    return Error{ErrorKind::kConflict, "step_refused",
                 fmt::format("Unable to create step for job {}: Requested nodes are busy", job.id),
                 "immediate"};
  }
  if (!invocation.has("quiet")) {
    face_says("srun", fmt::format("Job {} step creation temporarily disabled, retrying "
                                  "(Requested nodes are busy)",
                                  job.id));
  }
  turn.wait();
  return turn;
}

Result<int> run_on_nodes(const std::string& srun, const Invocation& invocation,
                         const JobInSlurm& job, std::vector<NodeInSlurm> nodes) {
  // Where it is ignored, which a program inherits, nobody is told how a child has ended.
  ::signal(SIGCHLD, SIG_DFL);
  TRY(check_job(invocation, job));
  GangContext context;
  context.job = job;
  context.nodes = std::move(nodes);
  context.workdir = fs::current_path().string();
  context.number = static_cast<std::int32_t>(::getpid());
  context.environment = own_variables();
  TRY_ASSIGN(const nlohmann::json sizes, step_sizes(invocation));
  StepLedger ledger(step_ledger_path());
  // Other machines have ledgers of their own.
  if (environment_value("DOVE_NODE_RANK") == "0") {
    context.step = ledger.next_step(job.run);
  }
  for (NodeInSlurm& node : context.nodes) node.load = ledger.load_of(node.slurms_id);
  TRY_ASSIGN(const GangStep step, gang_step(invocation, sizes, context));
  for (const SrunCall& call : step.calls) ledger.add(call.allocation, call.cpus);
  ledger.close();
  for (const std::string& warning : step.warnings) {
    if (!invocation.has("quiet")) face_says("srun", "warning: " + warning);
  }
  TRY(copy_program(srun, step));
  if (step.calls.size() > 1) {
    TRY_ASSIGN(StepTurn turn, turn_of(step, invocation, job));
    const Result<int> code = run_srun_bundle(srun, step, std::move(turn));
    StepLedger after(step_ledger_path());
    after.drop_own();
    after.close();
    return code;
  }
  return become(srun, step.calls.front().words, pointers(step.environment).data());
}

}  // namespace

bool is_in_slurm() { return environment_value("DOVE_BACKEND") == "slurm"; }

Result<std::vector<std::string>> slurms_srun_words(const Invocation& invocation,
                                                   const JobInSlurm& job) {
  TRY(check_job(invocation, job));
  std::vector<std::string> words{"--jobid=" + job.slurms_id};
  for (const auto& [name, values] : invocation.values) {
    if (name == "jobid") continue;
    for (const std::string& value : values) {
      const std::string given = names_a_file(name) ? with_our_numbers(value, job) : value;
      words.push_back(given.empty() ? "--" + name : fmt::format("--{}={}", name, given));
    }
  }
  // srun gives its tasks the number of the allocation, whatever its own environment says. A program
  // that it reads itself stays the first.
  if (!invocation.has("bcast")) {
    if (!invocation.has("job-name"))
      words.push_back("--job-name=" + program_name(invocation.operands.front()));
    words.insert(words.end(), {"/usr/bin/env", "SLURM_JOB_ID=" + job.id, "SLURM_JOBID=" + job.id,
                               "DOVE_SLURM_JOB_ID=" + job.slurms_id});
  }
  words.insert(words.end(), invocation.operands.begin(), invocation.operands.end());
  return words;
}

Result<int> run_slurms_srun(const Invocation& given) {
  const std::string srun = find_slurms_srun();
  if (srun.empty()) {
    return Error{ErrorKind::kNotFound, "no_srun",
                 "Slurm runs this job, but PATH has no srun of Slurm; put its folder after that of "
                 "dove's commands",
                 "PATH"};
  }
  // It starts nothing, and names no program.
  if (given.get("mpi") == "list") return become(srun, {"--mpi=list"}, environ);
  Invocation invocation = given;
  std::error_code ignored;
  const fs::path folder = fs::current_path(ignored) / invocation.get("chdir");
  invocation.operands[0] = found_program(invocation.operands[0], environment_value("PATH"),
                                         folder.string(), invocation.has("bcast"));
  const JobInSlurm job = this_job_in_slurm();
  TRY_ASSIGN(std::vector<NodeInSlurm> nodes, nodes_in_slurm());
  if (!nodes.empty()) return run_on_nodes(srun, invocation, job, std::move(nodes));
  TRY_ASSIGN(const std::vector<std::string> words, slurms_srun_words(invocation, job));
  ::setenv("SLURM_JOB_ID", job.slurms_id.c_str(), 1);
  ::setenv("SLURM_JOBID", job.slurms_id.c_str(), 1);
  return become(srun, words, environ);
}

}  // namespace dove::cli
