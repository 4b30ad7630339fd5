#include "agent/attempts/active_attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "agent/attempts/attempt_record.h"
#include "agent/attempts/attempt_slots.h"
#include "agent/tasks/session_home.h"
#include "agent/tasks/shim_status.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::chrono::milliseconds kGraceMax{10'000};  // whatever an order says

}  // namespace

ActiveAttempt::ActiveAttempt(AttemptContext context, std::string directory, LaunchOrder order)
    : context_(std::move(context)),
      directory_(std::move(directory)),
      order_(std::move(order)),
      execs_(context_.exec_host, directory_, [this] { settle(); }),
      forwards_(context_.forward_host) {}

ActiveAttempt::~ActiveAttempt() = default;

// What an order names, on this node: looked at before anything is planned.
Needs ActiveAttempt::needs(const ContainerSpec& container, const std::string& workdir) const {
  const AgentFacts& facts = *context_.facts;
  Needs needs;
  needs.node = facts.node;
  if (context_.mapped_users && order_.run_as != RunAs::kAgent) {
    needs.linux_user = order_.linux_user;
  }
  needs.contained = !container.image.empty() || !container.name.empty();
  needs.as_root = container.root;
  if (!needs.contained) needs.workdir = workdir;
  // Its user's from the beginning, as it may not make them itself.
  if (!facts.stage_directory.empty()) needs.places.push_back(stage_of(facts, order_.key));
  if (!facts.shared_directory.empty() && (context_.mapped_users || needs.contained)) {
    needs.shared_places.push_back(checkpoints_of(facts, order_.key.job));
  }
  if (const std::string home = session_home_of(facts, order_); !home.empty()) {
    needs.shared_places.push_back(home);
  }
  return needs;
}

void ActiveAttempt::meet(Needs needs, std::function<void(Result<void>)> next) {
  if (!context_.keeps_records) return next({});
  if (!context_.meet) return next(agent::meet(needs));
  context_.meet(std::move(needs),
                [next = std::move(next), alive = std::weak_ptr<bool>(alive_)](Result<void> met) {
                  if (!alive.expired()) next(std::move(met));
                });
}

void ActiveAttempt::launch(const std::string& order_text) {
  meet(needs(order_.exec.container, order_.exec.workdir), [this, order_text](Result<void> met) {
    if (stage_ == Stage::kEnded || stopping_ || leaving_) return;
    needs_met_ = true;
    if (!met.ok()) return fail(met.error());
    prepare(order_text);
    if (start_asked_ && secrets_ready_) start();
  });
}

void ActiveAttempt::prepare(const std::string& order_text) {
  if (context_.keeps_records) {
    if (Result<void> ready = write_attempt(directory_, order_, order_text, files_owner());
        !ready.ok()) {
      fail(ready.error());
      return;
    }
  }
  if (Result<void> planned = make_plans(context_.keeps_records); !planned.ok()) {
    fail(planned.error());
    return;
  }
  note_shares();
  with_secrets([this] { prepared(); });
}

void ActiveAttempt::prepared() {
  if (!order_.barrier || start_asked_) return start();
  with_image([this] {
    stage_ = Stage::kPrepared;
    say(protocol::Prepared{order_.key});
  });
}

void ActiveAttempt::note_shares() {
  const AgentFacts& facts = *context_.facts;
  if (facts.inventory == nullptr || !context_.keeps_records) return;
  shares_ = word(share_keeper(facts.shares, *facts.inventory, order_.placement.devices,
                              !order_.exec.container.image.empty()));
  if (!shares_.empty()) write_shares(directory_, shares_);
}

void ActiveAttempt::with_image(std::function<void()> next) {
  after_image_ = std::move(next);  // of a launch and a start the latter
  if (image_asked_) return;
  image_asked_ = true;
  const std::weak_ptr<bool> alive = alive_;
  bring_image(order_.exec.container.image, [this, alive](const Result<void>& prepared) {
    if (alive.expired()) return;
    image_asked_ = false;
    if (stage_ == Stage::kEnded || stopping_ || leaving_) return;
    if (!prepared.ok()) return fail(prepared.error());
    image_ready_ = true;
    std::exchange(after_image_, nullptr)();
  });
}

// A file is read as the job's Linux user, or not at all.
void ActiveAttempt::bring_image(const std::string& image, std::function<void(Result<void>)> done) {
  if (image.starts_with('/') && context_.mapped_users && order_.linux_user.empty()) {
    return done(Error{ErrorKind::kInvalid, "no_linux_user",
                      fmt::format("the image {} is a file of the node, which only a Linux user can "
                                  "read, and the job has none here; name an image of the node",
                                  image),
                      "container.image"});
  }
  context_.runner->prepare(image, files_owner(), std::move(done));
}

// What was kept for its tasks goes.
void ActiveAttempt::drop_kept() {
  drop_secrets();
  context_.runner->attempt_over(attempt_mark(plan_context(false)));
}

std::string ActiveAttempt::files_owner() const {
  return context_.mapped_users ? order_.linux_user : "";
}

PlanContext ActiveAttempt::plan_context(bool checks_files) const {
  return PlanContext{*context_.facts,       order_,       directory_,
                     context_.mapped_users, checks_files, context_.output_rotate_bytes};
}

Result<void> ActiveAttempt::make_plans(bool checks_files) {
  const PlanContext plans = plan_context(checks_files);
  tasks_.clear();
  if (order_.launch == LaunchMode::kBatch) {
    if (order_.placement.node_rank != 0) return {};
    TRY_ASSIGN(TaskPlan plan, plan_batch_script(plans));
    tasks_.push_back(std::make_unique<Slot>());
    tasks_.back()->plan = std::move(plan);
    return {};
  }
  for (const TaskGrant& grant : order_.placement.tasks) {
    TRY_ASSIGN(TaskPlan plan, plan_main_task(plans, grant));
    tasks_.push_back(std::make_unique<Slot>());
    tasks_.back()->plan = std::move(plan);
  }
  return {};
}

std::set<std::string> ActiveAttempt::warnings() const {
  std::set<std::string> all;
  for (const auto& slot : tasks_)
    all.insert(slot->plan.warnings.begin(), slot->plan.warnings.end());
  return all;
}

void ActiveAttempt::take_place(Placement placement) {
  if (placement == order_.placement) return;
  order_.placement = std::move(placement);
  if (context_.keeps_records) write_place(directory_, order_.placement);
  for (const auto& slot : tasks_) place_again(plan_context(false), slot->plan);
}

void ActiveAttempt::start() {
  if (stage_ == Stage::kStarted || stage_ == Stage::kEnded || stopping_ || leaving_) return;
  if (!needs_met_ || !secrets_ready_) {
    start_asked_ = true;
    return;
  }
  if (!image_ready_) return with_image([this] { start(); });
  stage_ = Stage::kStarted;
  run_tasks(/*adopt=*/false);
  if (context_.keeps_records && stage_ == Stage::kStarted) write_started(directory_);
  if (tasks_.empty()) tell_started();
}

void ActiveAttempt::resume(const AttemptOnDisk& found) {
  if (found.ended.has_value()) {
    stage_ = Stage::kEnded;
    last_report_ = *found.ended;
    if (const auto* ended = std::get_if<protocol::Ended>(&last_report_)) exits_ = ended->exits;
    started_us_ = found.started_us;
    drop_kept();
    return;
  }
  shares_ = found.shares;
  was_left_ = found.left;
  const std::vector<TaskOnDisk> tasks = read_tasks(plan_context(false));
  const bool runs = found.started || !tasks.empty();
  if (!runs) return resume_preparing();
  needs_met_ = secrets_ready_ = true;
  const Result<void> planned = make_plans(/*checks_files=*/false);
  if (!planned.ok()) tasks_.clear();
  stage_ = Stage::kStarted;
  started_told_ = true;  // the sync tells it
  for (const TaskOnDisk& task : tasks) {
    if (const auto seen = read_shim_started(task.plan.path); seen.ok() && seen->has_value()) {
      note_start((*seen)->started_realtime_us);
    }
    if (task.step >= 0) {
      adopt_step_task(task.plan, task.step);
    } else if (plan(task.plan.rank) == nullptr) {
      tasks_.push_back(std::make_unique<Slot>());
      tasks_.back()->plan = task.plan;
    }
  }
  adopt_execs();
  run_tasks(/*adopt=*/true);
  warn_before_limit(age_us(found));
  if (!planned.ok()) stop();
}

void ActiveAttempt::resume_preparing() {
  stage_ = Stage::kPrepared;
  meet(needs(order_.exec.container, order_.exec.workdir), [this](Result<void> met) {
    if (stage_ == Stage::kEnded || stopping_ || leaving_) return;
    needs_met_ = true;
    if (met.ok()) met = make_plans(/*checks_files=*/true);
    if (!met.ok()) return fail(met.error());
    with_secrets([this] {
      if (start_asked_) start();
    });
  });
}

void ActiveAttempt::run_tasks(bool adopt) {
  for (const std::unique_ptr<Slot>& owned : tasks_) {
    Slot& slot = *owned;
    TaskCallbacks callbacks{[this, &slot] {
                              slot.started = true;
                              note_start(context_.wall_us());
                              tell_started();
                            },
                            [this, &slot](TaskEnd end) { task_ended(slot, std::move(end)); }};
    Result<std::unique_ptr<RunningTask>> task =
        adopt ? context_.runner->adopt(slot.plan, std::move(callbacks))
              : context_.runner->start(slot.plan, std::move(callbacks));
    if (task.ok()) {
      slot.task = std::move(task).value();
      if (adopt) slot.started = true;
      continue;
    }
    TaskEnd end;
    end.exit = TaskExit{slot.plan.rank, 127, 0, "start_failed: " + task.error().message};
    task_ended(slot, std::move(end));
    if (stage_ == Stage::kEnded) return;
  }
}

void ActiveAttempt::note_start(std::int64_t at_us) {
  if (started_us_ == 0 || at_us < started_us_) started_us_ = at_us;
}

void ActiveAttempt::tell_started() {
  const bool all =
      std::all_of(tasks_.begin(), tasks_.end(), [](const auto& other) { return other->started; });
  if (started_told_ || !all) return;
  started_told_ = true;
  warn_before_limit(0);
  say(protocol::Started{order_.key});
}

void ActiveAttempt::task_ended(Slot& slot, TaskEnd end) {
  if (slot.ended) return;
  slot.ended = true;
  slot.started = true;
  slot.task.reset();
  cpu_us_ += end.cpu_us;
  memory_peak_bytes_ = std::max(memory_peak_bytes_, end.memory_peak_bytes);
  end.exit.rank = slot.plan.rank;
  forget_own_stop(end.exit);
  exits_.push_back(end.exit);
  output_over(slot.plan);
  execs_.end(slot.plan.rank, "the task ended, and the command with it");
  forwards_.end(slot.plan.rank, "the task ended, and the connection with it");
  const bool all =
      std::all_of(tasks_.begin(), tasks_.end(), [](const auto& other) { return other->ended; });
  if (all) {
    stop();  // what is left are steps
  } else {
    tell_started();
    say(protocol::TaskOver{order_.key, exits_.back()});
    exits_told_ = exits_.size();
  }
  settle();
}

bool ActiveAttempt::writes_to(const std::string& path) const {
  if (stage_ == Stage::kEnded) return false;
  const auto writes = [&](const std::unique_ptr<Slot>& slot) {
    return !slot->ended && (slot->plan.stdout_path == path || slot->plan.stderr_path == path);
  };
  return std::any_of(tasks_.begin(), tasks_.end(), writes) ||
         std::any_of(steps_.begin(), steps_.end(), [&](const auto& entry) {
           return std::any_of(entry.second->tasks.begin(), entry.second->tasks.end(), writes);
         });
}

// A file that several tasks share is over with the last of them.
void ActiveAttempt::output_over(const TaskPlan& plan) {
  if (!context_.output_over) return;
  for (const std::string& path : {plan.stdout_path, plan.stderr_path}) {
    if (!path.empty() && !writes_to(path)) context_.output_over(path);
  }
}

void ActiveAttempt::stop() {
  if (stage_ == Stage::kEnded) return;
  stopping_ = true;
  execs_.end_all("the job is being stopped, and the command with it");
  for (const auto& slot : tasks_) {
    if (slot->task != nullptr) slot->task->stop();
  }
  for (const auto& [number, step] : steps_) {
    for (const auto& slot : step->tasks) {
      if (slot->task != nullptr) slot->task->stop();
    }
  }
  for (const std::int32_t number : steps()) {  // nobody waits for what they wait for
    const auto found = steps_.find(number);
    if (found == steps_.end() || !found->second->waits) continue;
    launch_step(number, Error{ErrorKind::kConflict, "stopped", "the job is being stopped", ""});
  }
  settle();
}

void ActiveAttempt::stop_in(std::chrono::milliseconds grace) {
  if (grace.count() <= 0 || stage_ != Stage::kStarted || stopping_) return stop();
  save_timer_ = context_.after(std::min(grace, kGraceMax), [this] { stop(); });
}

// What an order stopped was not stopped by the agent's going: the controller knows why.
void ActiveAttempt::forget_own_stop(TaskExit& exit) const {
  if (!was_left_ && exit.cause == "agent_stopped") exit.cause.clear();
}

// An order to stop has its own reason, which the controller knows.
void ActiveAttempt::leave() {
  if (leaving_) return;
  leaving_ = true;
  if (stage_ != Stage::kStarted || stopping_) return;
  was_left_ = true;
  if (context_.keeps_records) write_left(directory_);
  stop();
}

// The placement has ended when it was told to (or its tasks are over) and nothing runs any more.
void ActiveAttempt::settle() {
  if (!stopping_ || stage_ == Stage::kEnded) return;
  for (const auto& slot : tasks_) {
    if (slot->task != nullptr) return;
  }
  for (const auto& [number, step] : steps_) {
    if (step->open > 0) return;
  }
  if (!execs_.empty()) return;
  stage_ = Stage::kEnded;
  forwards_.end_all("the job ended, and the connection with it");
  drop_kept();
  protocol::Ended report{order_.key, exits_, cpu_us_, memory_peak_bytes_, started_ago_us()};
  if (context_.keeps_records) write_ended(directory_, report, started_us_);
  for (const auto& slot : tasks_) output_over(slot->plan);
  report.exits.erase(report.exits.begin(),
                     report.exits.begin() + static_cast<std::ptrdiff_t>(exits_told_));
  say(std::move(report));
}

void ActiveAttempt::preempt() {
  if (stage_ == Stage::kEnded || stopping_ || saving_) return;
  if (order_.checkpoint_signal == 0 || stage_ != Stage::kStarted) return stop();
  saving_ = true;
  warn(order_.checkpoint_signal);
  save_timer_ = context_.after(std::chrono::milliseconds(order_.checkpoint_grace.us / 1000),
                               [this] { stop(); });
}

// A batch script without a trap would end: its steps are told.
void ActiveAttempt::warn(int signal_number) {
  if (order_.launch == LaunchMode::kBatch && !steps_.empty()) {
    for (std::int32_t number : steps()) stop_step(number, signal_number);
  } else {
    protocol::Signal to_all;
    to_all.number = signal_number;
    signal(to_all);
  }
}

void ActiveAttempt::warn_before_limit(std::int64_t ran_us) {
  if (order_.exec.warn_signal == 0 || order_.time_limit.us == 0) return;
  const std::int64_t before_us = std::int64_t{order_.exec.warn_before_s} * 1'000'000;
  const std::int64_t at_us = std::max<std::int64_t>(order_.time_limit.us - before_us, 0);
  if (ran_us > at_us) return;  // it was warned
  warn_timer_ = context_.after(std::chrono::milliseconds((at_us - ran_us) / 1000), [this] {
    if (stage_ == Stage::kStarted && !stopping_) warn(order_.exec.warn_signal);
  });
}

void ActiveAttempt::signal(const protocol::Signal& wanted) {
  const bool is_script = order_.launch == LaunchMode::kBatch;
  for (const auto& slot : tasks_) {
    if (slot->task != nullptr && !(is_script && wanted.steps_only)) {
      slot->task->signal(wanted.number);
    }
  }
  if (wanted.batch_only) return;
  for (const auto& [index, step] : steps_) {
    for (const auto& slot : step->tasks) {
      if (slot->task != nullptr) slot->task->signal(wanted.number);
    }
  }
}

void ActiveAttempt::repeat_report() {
  if (stage_ == Stage::kEnded) {
    auto* ended = std::get_if<protocol::Ended>(&last_report_);
    if (ended != nullptr) ended->started_ago_us = started_ago_us();
    return context_.report(last_report_);
  }
  if (stage_ == Stage::kPreparing) return;                  // it will be told
  if (stage_ == Stage::kStarted && !started_told_) return;  // so will this
  if (stage_ == Stage::kStarted) return context_.report(protocol::Started{order_.key});
  context_.report(protocol::Prepared{order_.key});
}

bool ActiveAttempt::was_interrupted() const {
  return stage_ == Stage::kPrepared && !order_.barrier && !stopping_;
}

const TaskPlan* ActiveAttempt::plan(Rank rank) const {
  for (const auto& slot : tasks_) {
    if (slot->plan.rank == rank) return &slot->plan;
  }
  return nullptr;
}

std::string ActiveAttempt::output_file(Rank rank, bool is_stdout) {
  if (tasks_.empty() && !make_plans(/*checks_files=*/false).ok()) return "";
  const TaskPlan* found = plan(rank);
  if (found == nullptr) return "";
  return is_stdout ? found->stdout_path : found->stderr_path;
}

void ActiveAttempt::fail(const Error& error) {
  telemetry::log(telemetry::Level::kWarning, "launch_failed",
                 {{"attempt", order_.key.text()}, {"why", error.message}});
  stage_ = Stage::kEnded;
  drop_kept();
  const protocol::LaunchRefused report{order_.key, error.message};
  if (context_.keeps_records) write_ended(directory_, report, 0);
  for (const auto& slot : tasks_) output_over(slot->plan);
  say(report);
}

std::int64_t ActiveAttempt::started_ago_us() const {
  return started_us_ == 0 ? 0 : std::max<std::int64_t>(context_.wall_us() - started_us_, 1);
}

void ActiveAttempt::say(protocol::Report report) {
  last_report_ = report;
  context_.report(std::move(report));
}

}  // namespace dove::agent
