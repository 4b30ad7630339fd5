// ActiveAttempt: everything that this node holds of one attempt, from its launch order to the proof
// that nothing of it is left.
//
// It prepares (directories, script, checks), starts its tasks (at once, or at the barrier's Start),
// collects their exits, and stops them on request. It writes down what a restarted agent must know:
// the order before anything is started, and the exits before they are reported. Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/aside/needs.h"
#include "agent/attempts/attempt_record.h"
#include "agent/attempts/order.h"
#include "agent/attempts/step_input.h"
#include "agent/exec/execs.h"
#include "agent/forward/forwards.h"
#include "agent/secrets/task_secrets.h"
#include "agent/tasks/environment.h"
#include "agent/tasks/task.h"
#include "agent/tasks/task_plan.h"
#include "base/result.h"
#include "protocol/reports.h"
#include "wire/loop.h"

namespace dove::agent {

struct StepTaskOutput {
  Rank rank = 0;
  std::string stdout_path;
  std::string stderr_path;
  std::string linux_user;
};

struct AttemptContext {
  const AgentFacts* facts = nullptr;
  Runner* runner = nullptr;
  bool keeps_records = true;  // false: nothing of the attempt is written to disk
  bool mapped_users = false;  // true: every job needs a Linux user; false: tasks run as the agent's
  std::int64_t output_rotate_bytes = 0;
  std::function<void(protocol::Report)> report;
  std::function<wire::Timer(std::chrono::milliseconds, std::function<void()>)> after;
  std::function<std::int64_t()> wall_us;  // this machine's clock (wire/loop.h)
  // Meets needs where that may take for ever, then says what was wrong; unset: here, at once.
  std::function<void(Needs, std::function<void(Result<void>)>)> meet;
  // Asks the controller for the values of the attempt's secrets; may never answer once the attempt
  // is over. Unset: nobody can be asked.
  std::function<void(std::function<void(Result<std::vector<TaskSecret>>)>)> ask_secrets;
  // The relay of a step's task's output begins: from what its client has seen, and as long as the
  // task writes.
  std::function<void(const StepAttach&, const StepTaskOutput&)> step_output;
  // The standard input of a step that takes it from its client (agent/attempts/step_input.h).
  std::function<std::unique_ptr<StepInput>(const StepOrder&, std::function<void()> on_end)>
      step_input;
  // No task writes to this file any more.
  std::function<void(const std::string& path)> output_over;
  ExecHost exec_host;
  ForwardHost forward_host;
};

class ActiveAttempt {
 public:
  enum class Stage { kPreparing, kPrepared, kStarted, kEnded };

  // `directory` is the attempt's own; `order_text` is kept there as it came.
  ActiveAttempt(AttemptContext context, std::string directory, LaunchOrder order);
  ~ActiveAttempt();

  // A new order: waits for what it needs of others, writes it down, prepares, and starts unless
  // there is a barrier.
  void launch(const std::string& order_text);
  // After a restart of the agent: takes up what was `found` in the directory. Whatever was started
  // once is taken up (steps too), planned or not: only its runner can say that nothing of it is
  // left.
  void resume(const AttemptOnDisk& found);

  // Its placement on this node has other cores than it was launched with. REQUIRES: not started.
  void take_place(Placement placement);
  void start();  // the barrier was passed; repeats do nothing
  void stop();   // ends all tasks and steps; the placement ends when they have
  // Likewise, once the task that asked for it has had so long to take its answer and end.
  void stop_in(std::chrono::milliseconds grace);
  // Ends all tasks and steps because the agent goes away: the next one tells, of what ran, that
  // the agent stopped it (`agent_stopped`). What was not started stays as it is. Repeats do
  // nothing.
  void leave();
  // Lets the tasks save their work (the job's signal, its grace), then stops them. Repeats do
  // nothing. In a batch job with steps the steps are told, not the script that waits for them.
  void preempt();
  void signal(const protocol::Signal& wanted);
  void start_step(const StepOrder& step);
  // Its client goes on through a new controller: relays what it has not seen, and tells the end.
  void attach_step(const StepAttach& attach);
  void stop_step(std::int32_t step, int signal);
  // Runs a command in the world of one of its tasks, or tells its client why not. Where the job's
  // batch script does not run, the command gets what the script has.
  void exec(const ExecOrder& order);
  void forward(const ForwardOrder& order);
  // Where its task's ports and sockets are found; error not_running.
  Result<ForwardTarget> forward_target(Rank rank) const;
  // Says again how far it is (the controller asks with a repeated order).
  void repeat_report();
  // Prepared, not told to stop, and without a barrier to wait at: its agent was killed before it
  // could start it.
  bool was_interrupted() const;

  Stage stage() const { return stage_; }
  bool stopping() const { return stopping_; }
  bool runs() const { return stage_ == Stage::kStarted; }
  const LaunchOrder& order() const { return order_; }
  const std::string& directory() const { return directory_; }
  const std::vector<TaskExit>& exits() const { return exits_; }
  std::vector<std::int32_t> steps() const;  // that run here
  // When its first task was started, by this machine's clock; 0: none was.
  std::int64_t started_us() const { return started_us_; }
  // What sums up its end, once it has ended: Ended or LaunchRefused.
  const protocol::Report& last_report() const { return last_report_; }
  // How long ago its first task was started; 0: none was. At least 1 otherwise.
  std::int64_t started_ago_us() const;
  // What holds its tasks to their shares of devices; "": they have none.
  const std::string& shares() const { return shares_; }
  // The settings of its job that have no effect here, each once.
  std::set<std::string> warnings() const;
  // Whether a task of this attempt may still write to that file.
  bool writes_to(const std::string& path) const;
  // Where a main task's output is or was; empty when it had none here.
  std::string output_file(Rank rank, bool is_stdout);

 private:
  struct Slot;  // one running task
  struct Step;

  // Has the runner bring the job's image, then goes on, unless it was stopped meanwhile.
  void with_image(std::function<void()> next);
  void bring_image(const std::string& image, std::function<void(Result<void>)> done);
  void drop_kept();
  std::string files_owner() const;  // "": the agent's user
  PlanContext plan_context(bool checks_files) const;
  Needs needs(const ContainerSpec& container, const std::string& workdir) const;
  void meet(Needs needs, std::function<void(Result<void>)> next);
  // Has what its job's secrets are in its tasks' reach, then goes on, unless it was stopped.
  void with_secrets(std::function<void()> next);
  Result<void> take_secrets(std::vector<TaskSecret> secrets);
  void drop_secrets();
  void prepare(const std::string& order_text);
  void prepared();
  void resume_preparing();
  Result<void> make_plans(bool checks_files);
  void note_shares();
  void run_tasks(bool adopt);
  void adopt_step_task(const TaskPlan& plan, std::int32_t number);
  void adopt_execs();
  void note_start(std::int64_t at_us);
  void tell_started();
  void warn(int signal_number);
  // Has the job's own signal sent (sbatch --signal) when it has only that much time left.
  void warn_before_limit(std::int64_t ran_us);
  void task_ended(Slot& slot, TaskEnd end);
  void forget_own_stop(TaskExit& exit) const;
  void bring_step_image(std::int32_t step);
  // Starts the tasks of a step that has what it needs; `error`: why it has not.
  void launch_step(std::int32_t step, const std::optional<Error>& error);
  void step_task_started(std::int32_t step, Rank rank);
  void step_task_ended(std::int32_t step, Rank rank, TaskEnd end);
  void end_step_input(std::int32_t step);
  Result<TaskPlan> exec_target(const ExecOrder& order);
  StepTaskOutput default_output(std::int32_t step, Rank rank) const;
  void settle();
  void fail(const Error& error);
  void output_over(const TaskPlan& plan);
  const TaskPlan* plan(Rank rank) const;
  void say(protocol::Report report);

  AttemptContext context_;
  std::string directory_;
  LaunchOrder order_;
  Stage stage_ = Stage::kPreparing;
  bool stopping_ = false;
  bool leaving_ = false;
  bool was_left_ = false;  // by this agent or a former one, while it ran
  bool saving_ = false;    // was told to save its work before it is stopped
  wire::Timer save_timer_;
  wire::Timer warn_timer_;
  bool started_told_ = false;
  std::int64_t started_us_ = 0;  // of its first task, by this machine's clock
  std::vector<std::unique_ptr<Slot>> tasks_;
  std::map<std::int32_t, std::unique_ptr<Step>> steps_;
  std::map<std::int32_t, std::vector<TaskExit>> steps_over_;  // the latest, for attach_step
  std::set<std::int32_t> steps_seen_;  // an order that comes again starts nothing
  std::vector<TaskExit> exits_;
  std::size_t exits_told_ = 0;
  std::int64_t cpu_us_ = 0;
  std::int64_t memory_peak_bytes_ = 0;
  protocol::Report last_report_;
  std::string shares_;
  bool needs_met_ = false;
  bool start_asked_ = false;  // before they were
  bool secrets_ready_ = false;
  bool image_ready_ = false;
  bool image_asked_ = false;
  std::function<void()> after_image_;
  Execs execs_;
  Forwards forwards_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // expires with this
};

}  // namespace dove::agent
