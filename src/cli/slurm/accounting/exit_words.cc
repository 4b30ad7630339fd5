#include "cli/slurm/accounting/exit_words.h"

#include <fmt/format.h>

namespace dove::cli {
namespace {

constexpr std::int64_t kSignalled = 128;  // a shell's exit code of what signal 1 ended, less one

SlurmExit worse_of(const SlurmExit& a, const SlurmExit& b) {
  if (a.signal != b.signal) return a.signal > b.signal ? a : b;
  return a.code >= b.code ? a : b;
}

std::int64_t shell_code(const SlurmExit& exit) {
  return exit.signal != 0 ? kSignalled + exit.signal : exit.code;
}

bool was_ended(const JobView& job) {
  return job.state == "cancelled" || job.state == "timed_out" ||
         job.state == "dependency_never_met" || job.state == "deadline_missed" ||
         job.state == "stopped_idle";
}

}  // namespace

std::string exit_text(const SlurmExit& exit) {
  return fmt::format("{}:{}", exit.code, exit.signal);
}

SlurmExit exit_of_tasks(const JobView& job) {
  const AttemptView* attempt = job.last_attempt();
  SlurmExit exit;
  if (attempt != nullptr) {
    for (const ExitView& one : attempt->exits) {
      const bool blamed = one.exit_code == 0 && one.signal == 0 && !one.cause.empty();
      const SlurmExit own{one.signal != 0 ? 0 : blamed ? 1 : one.exit_code, one.signal};
      // The task that failed gave the job its exit code; the others were ended because of it.
      if (job.ended && job.exit_code != 0 && own.bad() && shell_code(own) == job.exit_code) {
        return own;
      }
      exit = worse_of(exit, own);
    }
    if (!attempt->exits.empty()) return exit;
  }
  if (!job.ended || job.exit_code == 0) return exit;
  // Only the job's exit code is known: that of a shell.
  if (job.exit_code > kSignalled && job.exit_code < kSignalled + 65) {
    return {0, job.exit_code - kSignalled};
  }
  return {job.exit_code, 0};
}

SlurmExit exit_of_job(const JobView& job, bool accounting) {
  if (!job.ended || (accounting && was_ended(job))) return {};
  if (job.state == "completed") return {};
  const SlurmExit exit = exit_of_tasks(job);
  if (job.state == "failed" && !exit.bad()) return {1, 0};
  return exit;
}

SlurmExit exit_of_steps(const JobView& job) {
  SlurmExit exit;
  if (job.launch != "batch") return exit_of_job(job, true);
  for (const StepView& step : job.steps) {
    if (step.ended_at_us != 0 && step.signal == 0) exit = worse_of(exit, {step.exit_code, 0});
  }
  return exit;
}

std::string state_of_exit(const SlurmExit& exit) {
  if (exit.signal != 0) return "CANCELLED";
  return exit.code != 0 ? "FAILED" : "COMPLETED";
}

}  // namespace dove::cli
