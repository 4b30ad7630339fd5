// dove attach: what a task prints from now on, as if it ran here.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "cli/client/follow.h"
#include "cli/client/signals.h"
#include "cli/commands/job_list.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/raw_terminal.h"
#include "codec/json.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr char kDetachFirst = 0x10;   // Ctrl-P
constexpr char kDetachSecond = 0x11;  // Ctrl-Q
constexpr int kLook_ms = 100;

// -1: it is no number.
std::int64_t number_in(const std::string& text) {
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && at == text.data() + text.size() && value >= 0 ? value : -1;
}

// "": rank 0; "3"; "worker/1".
Result<std::int64_t> rank_of(Api& api, const std::string& job, const std::string& task) {
  if (task.empty()) return 0;
  if (const std::int64_t rank = number_in(task); rank >= 0) return rank;
  const std::size_t slash = task.rfind('/');
  const std::int64_t number = slash == std::string::npos ? -1 : number_in(task.substr(slash + 1));
  TRY_ASSIGN(const json whole, api.get(job_target(job)));
  std::int64_t first = 0;
  for (const json& group : list_of(whole, "groups")) {
    const std::int64_t tasks = number_of(group, "tasks", 1);
    if (number >= 0 && number < tasks && text_of(group, "name") == task.substr(0, slash)) {
      return first + number;
    }
    first += tasks;
  }
  return Error{ErrorKind::kNotFound, "no_such_task",
               fmt::format("job {} has no task {}: give a rank, or GROUP/NUMBER", job, task), ""};
}

class Attached {
 public:
  Attached(Endpoint endpoint, std::string job, const LogWanted& wanted)
      : endpoint_(std::move(endpoint)), job_(std::move(job)), wanted_(wanted) {}

  // True: until the task was over; false: its user left before.
  Result<bool> run() {
    const SignalWatch watch([this](int number) {
      terminal_.restore();
      _exit(128 + number);
    });
    std::thread out([this] { follow(/*error_stream=*/false); });
    std::thread err([this] { follow(/*error_stream=*/true); });
    terminal_.enter_keys();
    const bool left = read_keys();
    if (left) leave();
    out.join();
    err.join();
    terminal_.restore();
    if (failure_.has_value()) return *failure_;
    return true;
  }

 private:
  void follow(bool error_stream) {
    LogWanted wanted = wanted_;
    wanted.error_stream = error_stream;
    const Result<void> streamed = follow_task(endpoint_, job_, wanted);
    if (!streamed.ok() && !error_stream) failure_ = streamed.error();
    --open_;
  }

  // True: the keys to leave were pressed.
  bool read_keys() {
    char last = 0;
    while (open_ > 0) {
      const std::optional<char> key = terminal_.key(kLook_ms);
      if (!key) continue;
      if (last == kDetachFirst && *key == kDetachSecond) return true;
      last = *key;
    }
    return false;
  }

  // The streams cannot be asked to end, and need not be.
  [[noreturn]] void leave() {
    terminal_.restore();
    say(fmt::format("left job {}, which goes on", job_));
    _exit(kExitOk);
  }

  const Endpoint endpoint_;
  const std::string job_;
  const LogWanted wanted_;
  RawTerminal terminal_;
  std::atomic<int> open_{2};
  std::optional<Error> failure_;  // of stdout, read once its thread is over
};

Result<int> run(const Invocation& invocation) {
  std::string job = invocation.operands[0];
  std::string task;
  if (const std::size_t slash = job.find('/'); slash != std::string::npos) {
    task = job.substr(slash + 1);
    job.resize(slash);
  }
  const std::int64_t tail = number_in(invocation.get("tail", "0"));
  if (tail < 0) return usage_error("--tail takes a number of lines, from 0");
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::int64_t rank, rank_of(api, job, task));
  TRY(wait_for_jobs(api, job, "started"));
  TRY_ASSIGN(const json found, api.get(job_target(job)));
  LogWanted wanted;
  wanted.rank = rank;
  wanted.tail = tail;
  wanted.follow = wanted.apart = true;
  const JobView one = read_job(found);
  if (one.last_attempt() != nullptr) wanted.attempt = one.last_attempt()->number;
  TRY(Attached(api.endpoint(), job, wanted).run());
  TRY_ASSIGN(const Waited waited, wait_for_jobs(api, job, "settled"));
  return waited.exit_code;
}

}  // namespace

std::vector<Command> attach_commands() {
  CommandSpec attach;
  attach.name = "attach";
  attach.summary = "Show what a task prints, from now on";
  attach.group = "Jobs";
  attach.operands = "JOB[/TASK]";
  attach.completes = "job";
  attach.operands_min = attach.operands_max = 1;
  attach.description =
      "Waits for the job to begin, then prints the task's standard output and error as they\n"
      "come, until its attempt ends; exits as the job does. TASK is a rank, or GROUP/NUMBER (0).\n"
      "Ctrl-P Ctrl-Q detaches (exit code 0), and so does Ctrl-C (130); neither affects the job.\n"
      "Nothing that you type reaches the task: for a terminal in it, see `dove exec -it`.";
  attach.options = {{"tail", 0, "LINES", "begin with the last lines printed so far (0)"}};
  return {{attach, guarded("attach", run)}};
}

}  // namespace dove::cli
