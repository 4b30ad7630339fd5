#include "agent/tasks/null_runner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>

namespace dove::agent {
namespace {

std::int64_t number(const TaskPlan& plan, const char* name) {
  const auto found = plan.environment.find(name);
  return found == plan.environment.end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 10);
}

// Those that end no process unless it wants them to; one that would stop it has no effect here.
bool is_harmless(int number) {
  constexpr std::array kHarmless = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
                                    SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  return std::find(kHarmless.begin(), kHarmless.end(), number) != kHarmless.end();
}

class NullTask : public RunningTask {
 public:
  NullTask(wire::Loop& loop, Rank rank, TaskCallbacks callbacks)
      : loop_(loop),
        rank_(rank),
        callbacks_(std::make_shared<TaskCallbacks>(std::move(callbacks))) {}

  void run(std::int64_t run_ms, const TaskEnd& end) {
    start_ = loop_.after(std::chrono::microseconds(0), [this, run_ms, end] {
      const std::shared_ptr<TaskCallbacks> callbacks = callbacks_;
      finish_in(run_ms, end);
      callbacks->on_started();
    });
  }
  void finish_in(std::int64_t run_ms, TaskEnd end) {
    end.exit.rank = rank_;
    end_ = loop_.after(std::chrono::milliseconds(run_ms), [this, end] {
      const std::shared_ptr<TaskCallbacks> callbacks = callbacks_;
      callbacks->on_ended(end);  // destroys this
    });
  }
  void stop() override { signal(15); }
  void end_input() override {}
  void signal(int number) override {
    if (is_harmless(number)) return;
    start_.cancel();
    TaskEnd end;
    end.exit.signal = number;
    finish_in(0, end);
  }

 private:
  wire::Loop& loop_;
  const Rank rank_;
  std::shared_ptr<TaskCallbacks> callbacks_;
  wire::Timer start_;
  wire::Timer end_;
};

}  // namespace

Result<std::unique_ptr<RunningTask>> NullRunner::start(const TaskPlan& plan,
                                                       TaskCallbacks callbacks) {
  auto task = std::make_unique<NullTask>(loop_, plan.rank, std::move(callbacks));
  TaskEnd end;
  end.exit.exit_code = static_cast<std::int32_t>(number(plan, "DOVE_NULL_EXIT_CODE"));
  task->run(number(plan, "DOVE_NULL_RUN_MS"), end);
  return std::unique_ptr<RunningTask>(std::move(task));
}

Result<std::unique_ptr<RunningTask>> NullRunner::adopt(const TaskPlan& plan,
                                                       TaskCallbacks callbacks) {
  auto task = std::make_unique<NullTask>(loop_, plan.rank, std::move(callbacks));
  TaskEnd end;
  end.exit.cause = "shim_lost";
  task->finish_in(0, end);
  return std::unique_ptr<RunningTask>(std::move(task));
}

}  // namespace dove::agent
