// dove logs, wait: what a job prints and how it ends.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/client/follow.h"
#include "cli/client/pages.h"
#include "cli/commands/job_list.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

// Ends the process when the time is over: the connection that it waits on cannot be asked to stop.
class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_us) {
    if (timeout_us <= 0) return;
    thread_ = std::jthread([this, timeout_us](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, std::chrono::microseconds(timeout_us), [] { return false; });
      if (stop.stop_requested()) return;
      say("the time is up, and the job has not ended");
      _exit(kExitTimeout);
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

Result<int> run_logs(const Invocation& invocation) {
  LogWanted wanted;
  TRY_ASSIGN(wanted.rank, count_option(invocation, "rank", -1, 0));
  TRY_ASSIGN(wanted.attempt, count_option(invocation, "attempt", -1, 0));
  wanted.error_stream = invocation.has("stderr");
  wanted.follow = invocation.has("follow");
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY(print_log(api, invocation.operands[0], wanted));
  return kExitOk;
}

Result<int> run_wait(const Invocation& invocation) {
  std::int64_t timeout_us = 0;
  if (invocation.has("timeout")) {
    const auto parsed = parse_span_us(invocation.get("timeout"));
    if (!parsed || *parsed == 0) return usage_error("--timeout takes a time such as 30s, 5m or 2h");
    timeout_us = *parsed;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  const Deadline deadline(timeout_us);
  int code = kExitOk;
  for (const std::string& id : invocation.operands) {
    TRY_ASSIGN(const Waited waited, wait_for_jobs(api, id, "ended"));
    for (const Waited::Job& job : waited.not_completed) {
      say(fmt::format("job {} {}, exit code {}", job.id, job.state, job.exit_code));
    }
    code = std::max(code, waited.exit_code);
  }
  return code;
}

}  // namespace

std::vector<Command> output_commands() {
  CommandSpec logs;
  logs.name = "logs";
  logs.summary = "Print what a job printed";
  logs.group = "Jobs";
  logs.operands = "JOB";
  logs.completes = "job";
  logs.operands_min = logs.operands_max = 1;
  logs.description =
      "Standard output of a task (rank 0, or the batch script) of the last attempt. With -f it\n"
      "waits for the job to begin and follows until the attempt ends.";
  logs.options = {{"follow", 'f', "", "print new output until the attempt ends"},
                  {"rank", 'r', "RANK", "of this task"},
                  {"attempt", 'a', "NUMBER", "of this attempt, from 1"},
                  {"stderr", 'e', "", "standard error, if it is separate"}};
  CommandSpec wait;
  wait.name = "wait";
  wait.summary = "Wait for jobs to end";
  wait.group = "Jobs";
  wait.operands = "JOB...";
  wait.completes = "job";
  wait.operands_min = 1;
  wait.operands_max = -1;
  wait.description =
      "Exits with the highest exit code of the jobs; a job that failed without one counts as 1.";
  wait.options = {{"timeout", 't', "TIME", "give up after this time, with exit code 7"}};
  return {{logs, guarded("logs", run_logs)}, {wait, guarded("wait", run_wait)}};
}

}  // namespace dove::cli
