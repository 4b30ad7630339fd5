// ActiveAttempt's steps: programs that run inside of what it holds, beside its own tasks.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <utility>

#include "agent/attempts/attempt_record.h"
#include "agent/attempts/attempt_slots.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::size_t kStepsOverMax = 256;

}  // namespace

void ActiveAttempt::adopt_step_task(const TaskPlan& plan, std::int32_t number) {
  std::unique_ptr<Step>& step = steps_[number];
  if (step == nullptr) {
    step = std::make_unique<Step>();
    step->order.key = order_.key;
    step->order.step = number;
    step->order.each_exit = true;  // whether that was asked for is not known any more
    step->waits = false;
    steps_seen_.insert(number);
  }
  const Rank rank = plan.rank;
  Result<std::unique_ptr<RunningTask>> task = context_.runner->adopt(
      plan,
      TaskCallbacks{[] {}, [this, number,
                            rank](TaskEnd end) { step_task_ended(number, rank, std::move(end)); }});
  if (!task.ok()) return;
  // What its former holder had passed on is not known any more.
  std::error_code error;
  if (std::filesystem::exists(step_input_path(directory_, number, rank), error)) {
    telemetry::log(telemetry::Level::kError, "step_input_lost",
                   {{"attempt", order_.key.text()}, {"step", number}});
    (*task)->signal(SIGKILL);
  }
  step->tasks.push_back(std::make_unique<Slot>());
  step->tasks.back()->plan = plan;
  const StepTaskOutput output = default_output(number, rank);
  step->tasks.back()->plan.stdout_path = output.stdout_path;
  step->tasks.back()->plan.stderr_path = output.stderr_path;
  step->tasks.back()->task = std::move(task).value();
  ++step->open;
}

void ActiveAttempt::start_step(const StepOrder& order) {
  if (order.tasks.empty() || !steps_seen_.insert(order.step).second) return;
  auto step = std::make_unique<Step>();
  step->order = order;
  Step& held = *step;
  steps_[order.step] = std::move(step);
  held.open = order.tasks.size();
  for (const TaskGrant& grant : order.tasks) held.starting.insert(grant.rank);
  const bool own_container = !order.container.image.empty() || !order.container.name.empty();
  meet(needs(own_container ? order.container : order_.exec.container,
             order.workdir.empty() ? order_.exec.workdir : order.workdir),
       [this, number = order.step](const Result<void>& met) {
         if (!met.ok()) return launch_step(number, met.error());
         bring_step_image(number);
       });
}

void ActiveAttempt::bring_step_image(std::int32_t number) {
  const auto found = steps_.find(number);
  if (found == steps_.end()) return;
  ContainerSpec& container = found->second->order.container;
  if (!container.name.empty()) {
    Result<std::string> image =
        context_.runner->image_of(attempt_mark(plan_context(false)), container);
    if (!image.ok()) return launch_step(number, image.error());
    container.image = std::move(image).value();
  }
  // In the job's own, which after a restart nobody has looked at; a file of the node stays
  // unpacked.
  const std::string& of_job = order_.exec.container.image;
  const bool is_known = image_ready_ || of_job.empty() || of_job.starts_with('/');
  if (container.image.empty() && is_known) return launch_step(number, std::nullopt);
  const bool is_of_job = container.image.empty();
  bring_image(
      is_of_job ? of_job : container.image,
      [this, number, is_of_job, alive = std::weak_ptr<bool>(alive_)](const Result<void>& prepared) {
        if (alive.expired()) return;
        if (is_of_job && prepared.ok()) image_ready_ = true;
        launch_step(number, prepared.ok() ? std::nullopt : std::optional(prepared.error()));
      });
}

void ActiveAttempt::launch_step(std::int32_t step_number, const std::optional<Error>& error) {
  const auto found = steps_.find(step_number);
  if (found == steps_.end() || !found->second->waits) return;
  Step& held = *found->second;
  held.waits = false;
  const StepOrder order = held.order;  // outlives the step, which may end here
  const bool stopped = held.stopped;
  const PlanContext plans = plan_context(context_.keeps_records);
  if (order.stdin_text == "stream" && context_.step_input) {
    held.input =
        context_.step_input(order, [this, number = order.step] { end_step_input(number); });
  }
  const Result<void> tmp =
      context_.keeps_records ? make_tmp(directory_, files_owner()) : Result<void>();
  for (const TaskGrant& grant : order.tasks) {
    held.tasks.push_back(std::make_unique<Slot>());
    Slot& slot = *held.tasks.back();
    const std::int32_t number = order.step;
    const Rank rank = grant.rank;
    TaskEnd failed;
    failed.exit = TaskExit{rank, 127, 0, "start_failed: the job is being stopped"};
    Result<TaskPlan> plan = plan_step_task(plans, order, grant);
    if (!tmp.ok()) plan = tmp.error();
    if (error.has_value()) plan = *error;
    if (plan.ok() && plan->holds_input && held.input != nullptr) {
      const Result<void> added = held.input->add(rank, plan->stdin_path, files_owner());
      if (!added.ok()) plan = added.error();
    }
    if (plan.ok() && stage_ == Stage::kStarted && !stopping_ && !stopped) {
      slot.plan = std::move(plan).value();
      Result<std::unique_ptr<RunningTask>> task = context_.runner->start(
          slot.plan, TaskCallbacks{[this, number, rank] { step_task_started(number, rank); },
                                   [this, number, rank](TaskEnd end) {
                                     step_task_ended(number, rank, std::move(end));
                                   }});
      if (task.ok()) {
        slot.task = std::move(task).value();
        StepAttach begin;
        begin.relay_id = order.relay_id;
        begin.key = order.key;
        begin.step = order.step;
        begin.stdout_path = order.stdout_path;
        begin.stderr_path = order.stderr_path;
        context_.step_output(begin, StepTaskOutput{rank, slot.plan.stdout_path,
                                                   slot.plan.stderr_path, slot.plan.linux_user});
        continue;
      }
      failed.exit.cause = "start_failed: " + task.error().message;
    } else if (!plan.ok()) {
      failed.exit.cause = "start_failed: " + plan.error().message;
    }
    slot.plan.rank = rank;
    step_task_ended(number, rank, std::move(failed));
  }
}

// The input begins when every task has opened its end of it.
void ActiveAttempt::step_task_started(std::int32_t number, Rank rank) {
  const auto found = steps_.find(number);
  if (found == steps_.end()) return;
  Step& step = *found->second;
  const bool last = step.starting.erase(rank) > 0 && step.starting.empty();
  if (last && step.input != nullptr) step.input->begin();
}

void ActiveAttempt::end_step_input(std::int32_t number) {
  const auto found = steps_.find(number);
  if (found == steps_.end()) return;
  for (const auto& slot : found->second->tasks) {
    if (slot->task != nullptr && slot->plan.holds_input) slot->task->end_input();
  }
}

void ActiveAttempt::step_task_ended(std::int32_t number, Rank rank, TaskEnd end) {
  const auto found = steps_.find(number);
  if (found == steps_.end()) return;
  Step& step = *found->second;
  cpu_us_ += end.cpu_us;
  memory_peak_bytes_ = std::max(memory_peak_bytes_, end.memory_peak_bytes);
  for (const auto& slot : step.tasks) {
    if (slot->plan.rank != rank || slot->ended) continue;
    slot->ended = true;
    slot->task.reset();
    output_over(slot->plan);
  }
  end.exit.rank = rank;
  forget_own_stop(end.exit);
  step.exits.push_back(end.exit);
  if (step.input != nullptr) step.input->drop(rank);
  step_task_started(number, rank);  // if it never did
  if (--step.open > 0) {
    if (!step.order.each_exit) return;
    return context_.report(protocol::StepTaskOver{order_.key, number, step.exits.back()});
  }
  steps_over_[number] = step.exits;
  if (steps_over_.size() > kStepsOverMax) steps_over_.erase(steps_over_.begin());
  protocol::StepOver report{order_.key, number, step.exits};
  steps_.erase(found);
  context_.report(std::move(report));
  settle();
}

// Where output goes that no file was named for; steps keep no other record of it.
StepTaskOutput ActiveAttempt::default_output(std::int32_t step, Rank rank) const {
  const std::string base = fmt::format("{}/output/s{}.{}", directory_, step, rank);
  return StepTaskOutput{rank, base + ".stdout", base + ".stderr", files_owner()};
}

void ActiveAttempt::attach_step(const StepAttach& attach) {
  for (const Rank rank : attach.ranks) {
    context_.step_output(attach, default_output(attach.step, rank));
  }
  if (const auto found = steps_.find(attach.step); found != steps_.end()) {
    Step& step = *found->second;
    step.order.each_exit = attach.each_exit;
    if (!attach.each_exit) return;
    for (const TaskExit& exit : step.exits) {
      context_.report(protocol::StepTaskOver{order_.key, attach.step, exit});
    }
    return;
  }
  protocol::StepOver over{order_.key, attach.step, {}};
  if (const auto known = steps_over_.find(attach.step); known != steps_over_.end()) {
    over.exits = known->second;
  } else {
    for (const Rank rank : attach.ranks) over.exits.push_back(TaskExit{rank, 1, 0, "step_lost"});
  }
  context_.report(std::move(over));
}

void ActiveAttempt::stop_step(std::int32_t number, int signal_number) {
  const auto found = steps_.find(number);
  if (found == steps_.end()) return;
  if (found->second->waits) found->second->stopped = true;
  for (const auto& slot : found->second->tasks) {
    if (slot->task == nullptr) continue;
    if (signal_number == 0) {
      slot->task->stop();
    } else {
      slot->task->signal(signal_number);
    }
  }
}

std::vector<std::int32_t> ActiveAttempt::steps() const {
  std::vector<std::int32_t> numbers;
  for (const auto& [number, step] : steps_) numbers.push_back(number);
  return numbers;
}

}  // namespace dove::agent
