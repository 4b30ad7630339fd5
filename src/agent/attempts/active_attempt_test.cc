#include "agent/attempts/active_attempt.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "agent/attempts/attempt_record.h"
#include "telemetry/clock.h"

namespace dove::agent {
namespace {

// Tasks that do what the test says, when it says so.
class ScriptedRunner : public Runner {
 public:
  class Task : public RunningTask {
   public:
    Task(ScriptedRunner& runner, Rank rank) : runner_(runner), rank_(rank) {}
    void stop() override { runner_.stopped.push_back(rank_); }
    void end_input() override { runner_.inputs_ended.push_back(rank_); }
    void signal(int number) override { runner_.signals.emplace_back(rank_, number); }

   private:
    ScriptedRunner& runner_;
    Rank rank_;
  };

  void prepare(const std::string& image, const std::string&,
               std::function<void(Result<void>)> done) override {
    if (!image.empty()) prepared.push_back(image);
    done({});
  }
  Result<std::unique_ptr<RunningTask>> start(const TaskPlan& plan, TaskCallbacks call) override {
    if (plan.rank == refused) return Error{ErrorKind::kExhausted, "processes", "no room", ""};
    calls[plan.rank] = std::move(call);
    cores[plan.rank] = plan.cores;
    std::ofstream(plan.path) << "";
    return std::unique_ptr<RunningTask>(std::make_unique<Task>(*this, plan.rank));
  }
  Result<std::unique_ptr<RunningTask>> adopt(const TaskPlan& plan, TaskCallbacks call) override {
    adopted.push_back(plan.rank);
    return start(plan, std::move(call));
  }
  void end(Rank rank, int code, bool was_stopped = false) {
    TaskEnd end;
    end.exit.exit_code = code;
    if (was_stopped) end.exit.cause = "agent_stopped";
    end.cpu_us = 10;
    const TaskCallbacks call = calls.at(rank);
    call.on_ended(end);
  }

  std::map<Rank, TaskCallbacks> calls;
  std::map<Rank, std::vector<std::int32_t>> cores;
  std::vector<Rank> stopped;
  std::vector<Rank> inputs_ended;
  std::vector<Rank> adopted;
  std::vector<std::string> prepared;
  std::vector<std::pair<Rank, int>> signals;
  Rank refused = 1000;
};

class ActiveAttemptTest : public ::testing::Test {
 protected:
  ActiveAttemptTest() {
    std::string pattern = ::testing::TempDir() + "held.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    facts_.node = "n1";
  }
  ~ActiveAttemptTest() override { std::filesystem::remove_all(folder_); }

  ActiveAttempt make(int tasks, bool barrier) {
    LaunchOrder order;
    order.key = {JobId(3), 1};
    order.barrier = barrier;
    order.tasks = tasks;
    order.exec.command = {"true"};
    order.exec.container.image = image_;
    order.nodes = {{"n1", "127.0.0.1", 0, {}, 1, {}}};
    for (int i = 0; i < tasks; ++i) {
      TaskGrant grant;
      grant.rank = static_cast<Rank>(i);
      grant.local_rank = i;
      order.placement.tasks.push_back(grant);
    }
    AttemptContext context;
    context.facts = &facts_;
    context.runner = &runner_;
    context.mapped_users = mapped_users_;
    context.report = [this](protocol::Report report) { reports_.push_back(std::move(report)); };
    context.wall_us = [] { return telemetry::now_us(); };
    context.after = [this](std::chrono::milliseconds wait, std::function<void()> call) {
      waits_.push_back(wait.count());
      grace_over_ = std::move(call);
      return wire::Timer();
    };
    order.checkpoint_signal = checkpoint_signal_;
    order.checkpoint_grace = Span{5'000'000};
    context.step_output = [](const StepAttach&, const StepTaskOutput&) {};
    return ActiveAttempt(std::move(context), folder_ + "/3.1", std::move(order));
  }

  // The word that tells its kind.
  static std::string kind_of(const protocol::Report& report) {
    return nlohmann::json::parse(protocol::report_text(report)).at("kind");
  }
  std::vector<std::string> kinds() const {
    std::vector<std::string> out;
    for (const protocol::Report& report : reports_) out.push_back(kind_of(report));
    return out;
  }
  const protocol::Ended& ended(std::size_t i) const {
    return std::get<protocol::Ended>(reports_[i]);
  }
  const std::string& why(std::size_t i) const {
    return std::get<protocol::LaunchRefused>(reports_[i]).why;
  }

  std::string folder_;
  AgentFacts facts_;
  ScriptedRunner runner_;
  std::vector<protocol::Report> reports_;
  int checkpoint_signal_ = 0;
  bool mapped_users_ = false;
  std::string image_;
  std::vector<std::int64_t> waits_;
  std::function<void()> grace_over_;
};

constexpr char kPrepared[] = "prepared";
constexpr char kStarted[] = "started";
constexpr char kTaskEnded[] = "task_ended";
constexpr char kEnded[] = "ended";
constexpr char kLaunchFailed[] = "launch_failed";
constexpr char kStepEnded[] = "step_ended";
constexpr char kStepTaskEnded[] = "step_task_ended";
using Kinds = std::vector<std::string>;

TEST_F(ActiveAttemptTest, StartsAtOnceAndEndsWithItsTasks) {
  ActiveAttempt held = make(2, false);
  held.launch("{}");
  runner_.calls[0].on_started();
  EXPECT_EQ(kinds(), Kinds{});
  runner_.calls[1].on_started();
  runner_.end(0, 0);
  runner_.end(1, 3);
  ASSERT_EQ(kinds(), (Kinds{kStarted, kTaskEnded, kEnded}));
  ASSERT_EQ(ended(2).exits.size(), 1u) << "the first exit was told before";
  EXPECT_EQ(ended(2).exits[0].exit_code, 3);
  EXPECT_EQ(ended(2).cpu_us, 20);
}

TEST_F(ActiveAttemptTest, WaitsAtTheBarrier) {
  ActiveAttempt held = make(1, true);
  held.launch("{}");
  EXPECT_EQ(kinds(), Kinds{kPrepared});
  EXPECT_TRUE(runner_.calls.empty());
  held.start();
  held.start();
  EXPECT_EQ(runner_.calls.size(), 1u);
}

TEST_F(ActiveAttemptTest, TasksGetTheCoresThatTheStartSays) {
  ActiveAttempt held = make(2, true);
  held.launch("{}");
  Placement given = held.order().placement;
  given.cores = {4, 5};
  given.tasks[0].cores = {4};
  given.tasks[1].cores = {5};
  held.take_place(given);
  held.start();
  EXPECT_EQ(runner_.cores.at(0), std::vector<std::int32_t>{4});
  EXPECT_EQ(runner_.cores.at(1), std::vector<std::int32_t>{5});
  ASSERT_TRUE(read_attempt(held.directory()).place.has_value());
  EXPECT_EQ(*read_attempt(held.directory()).place, given) << "for a restarted agent";
}

TEST_F(ActiveAttemptTest, AStopBeforeTheStartNeverStarts) {
  ActiveAttempt held = make(1, true);
  held.launch("{}");
  held.stop();
  held.start();
  EXPECT_EQ(kinds(), (Kinds{kPrepared, kEnded}));
  EXPECT_TRUE(runner_.calls.empty());
}

TEST_F(ActiveAttemptTest, WhatEndsBecauseTheAgentGoesIsNotItsOwn) {
  ActiveAttempt held = make(3, false);
  held.launch("{}");
  for (const Rank rank : {0, 1, 2}) runner_.calls[rank].on_started();
  held.leave();
  EXPECT_EQ(runner_.stopped, (std::vector<Rank>{0, 1, 2}));
  runner_.end(0, 143, /*was_stopped=*/true);
  runner_.end(1, 0, /*was_stopped=*/true);
  runner_.end(2, 5);  // a moment before
  ActiveAttempt next = make(3, false);
  next.resume(read_attempt(next.directory()));
  ASSERT_EQ(next.exits().size(), 3u);
  EXPECT_EQ(next.exits()[0].cause, "agent_stopped");
  EXPECT_EQ(next.exits()[1].cause, "agent_stopped");
  EXPECT_EQ(next.exits()[2].cause, "");
}

TEST_F(ActiveAttemptTest, ANextAgentKnowsWhatTheFormerStopped) {
  {
    ActiveAttempt held = make(1, false);
    held.launch("{}");
    runner_.calls[0].on_started();
    held.leave();
  }
  ActiveAttempt next = make(1, false);
  next.resume(read_attempt(next.directory()));
  runner_.end(0, 143, /*was_stopped=*/true);
  EXPECT_EQ(next.exits().at(0).cause, "agent_stopped");
}

TEST_F(ActiveAttemptTest, AnOrderToStopIsNoAgentsGoing) {
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  runner_.calls[0].on_started();
  held.stop();
  held.leave();
  runner_.end(0, 143, /*was_stopped=*/true);
  EXPECT_EQ(held.exits().at(0).cause, "");
}

TEST_F(ActiveAttemptTest, AStopForATaskThatAskedForItWaits) {
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  runner_.calls[0].on_started();
  held.stop_in(std::chrono::milliseconds(700));
  EXPECT_TRUE(runner_.stopped.empty());
  ASSERT_EQ(waits_.size(), 1u);
  EXPECT_EQ(waits_[0], 700);
  grace_over_();
  EXPECT_EQ(runner_.stopped, std::vector<Rank>{0});
  held.stop_in(std::chrono::milliseconds(700));
  EXPECT_EQ(waits_.size(), 1u);
}

TEST_F(ActiveAttemptTest, WhatWasNotStartedStaysAsItIs) {
  ActiveAttempt held = make(1, true);
  held.launch("{}");
  held.leave();
  held.start();
  EXPECT_TRUE(runner_.calls.empty());
  EXPECT_EQ(kinds(), Kinds{kPrepared});
}

TEST_F(ActiveAttemptTest, ATaskThatCannotStartIsAnExit) {
  runner_.refused = 0;
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  ASSERT_EQ(kinds(), Kinds{kEnded});
  EXPECT_EQ(ended(0).exits[0].exit_code, 127);
  EXPECT_NE(ended(0).exits[0].cause.find("no room"), std::string::npos);
}

TEST_F(ActiveAttemptTest, AMissingWorkdirIsALaunchFailure) {
  ActiveAttempt held = make(1, false);
  const_cast<LaunchOrder&>(held.order()).exec.workdir = folder_ + "/nowhere";
  held.launch("{}");
  ASSERT_EQ(kinds(), Kinds{kLaunchFailed});
  EXPECT_NE(why(0).find("nowhere"), std::string::npos);
}

TEST_F(ActiveAttemptTest, ItIsWarnedBeforeItsTimeIsOver) {
  ActiveAttempt held = make(1, false);
  auto& order = const_cast<LaunchOrder&>(held.order());
  order.time_limit = Span{300'000'000};
  order.exec.warn_signal = 12;
  order.exec.warn_before_s = 60;
  held.launch("{}");
  runner_.calls[0].on_started();
  EXPECT_EQ(waits_, std::vector<std::int64_t>{240'000});
  EXPECT_TRUE(runner_.signals.empty());
  grace_over_();
  EXPECT_EQ(runner_.signals, (std::vector<std::pair<Rank, int>>{{0, 12}}));
  EXPECT_TRUE(runner_.stopped.empty());
}

TEST_F(ActiveAttemptTest, APreemptedOneSavesItsWorkFirst) {
  checkpoint_signal_ = 10;
  ActiveAttempt held = make(2, false);
  held.launch("{}");
  runner_.calls[0].on_started();
  runner_.calls[1].on_started();
  held.preempt();
  held.preempt();  // the order came again
  EXPECT_EQ(runner_.signals, (std::vector<std::pair<Rank, int>>{{0, 10}, {1, 10}}));
  EXPECT_TRUE(runner_.stopped.empty());
  EXPECT_EQ(waits_, std::vector<std::int64_t>{5000});
  runner_.end(0, 0);
  grace_over_();
  EXPECT_EQ(runner_.stopped, std::vector<Rank>{1});
  runner_.end(1, 0);
  EXPECT_EQ(kinds(), (Kinds{kStarted, kTaskEnded, kEnded}));
}

TEST_F(ActiveAttemptTest, APreemptedOneWithoutSignalIsStoppedAtOnce) {
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  held.preempt();
  EXPECT_EQ(runner_.stopped, std::vector<Rank>{0});
  EXPECT_TRUE(waits_.empty());
}

TEST_F(ActiveAttemptTest, ARestartedAgentGoesOn) {
  make(2, false).launch("{}");
  reports_.clear();
  ActiveAttempt again = make(2, false);
  again.resume(read_attempt(again.directory()));
  runner_.calls.at(0).on_started();
  const std::int64_t started_us = again.started_us();
  EXPECT_GT(started_us, 0);
  EXPECT_EQ(runner_.adopted, (std::vector<Rank>{0, 1}));
  EXPECT_EQ(again.stage(), ActiveAttempt::Stage::kStarted);
  runner_.end(0, 0);
  runner_.end(1, 0);
  EXPECT_EQ(kinds().back(), kEnded);

  reports_.clear();
  ActiveAttempt third = make(2, false);
  third.resume(read_attempt(third.directory()));
  EXPECT_EQ(third.stage(), ActiveAttempt::Stage::kEnded);
  EXPECT_EQ(third.started_us(), started_us);
  third.repeat_report();
  ASSERT_EQ(kinds(), Kinds{kEnded});
  EXPECT_EQ(ended(0).exits.size(), 2u);
}

TEST_F(ActiveAttemptTest, WhatWouldNotStartAnyMoreStillGoesOn) {
  const auto contain = [](ActiveAttempt& held, const std::string& linux_user) {
    auto& order = const_cast<LaunchOrder&>(held.order());
    order.exec.container.image = "small";
    order.no_network = "the node offers none";
    order.linux_user = linux_user;
  };
  make(1, false).launch("{}");
  facts_.networks = NetworkRule::kGang;  // the agent was started with another setting
  mapped_users_ = true;                  // and users cannot be looked up
  ActiveAttempt again = make(1, false);
  contain(again, "nobody-of-this-machine");
  again.resume(read_attempt(again.directory()));
  EXPECT_EQ(runner_.adopted, std::vector<Rank>{0});
  EXPECT_TRUE(runner_.stopped.empty());
  reports_.clear();
  ActiveAttempt other = make(1, false);
  contain(other, "");
  other.launch("{}");
  ASSERT_EQ(kinds(), Kinds{kLaunchFailed});
  EXPECT_EQ(why(0), "the node offers none");
}

TEST_F(ActiveAttemptTest, ARestartedAgentStartsNothingThatItWouldRefuse) {
  make(1, true).launch("{}");
  ASSERT_EQ(kinds(), Kinds{kPrepared});
  ActiveAttempt again = make(1, true);
  const_cast<LaunchOrder&>(again.order()).exec.workdir = folder_ + "/nowhere";
  again.resume(read_attempt(again.directory()));
  EXPECT_EQ(kinds(), (Kinds{kPrepared, kLaunchFailed}));
  again.start();
  EXPECT_TRUE(runner_.calls.empty());
}

// One of a single task.
StepOrder step_of(const ActiveAttempt& held, Rank rank) {
  StepOrder step;
  step.key = held.order().key;
  step.command = {"true"};
  step.tasks.resize(1);
  step.tasks[0].rank = rank;
  return step;
}

// srun would pass on what it got itself: the tasks would have it twice.
TEST_F(ActiveAttemptTest, ASignalForStepsSparesTheScriptThatWaitsForThem) {
  ActiveAttempt held = make(1, false);
  const_cast<LaunchOrder&>(held.order()).launch = LaunchMode::kBatch;
  held.launch("{}");
  held.start_step(step_of(held, 5));
  protocol::Signal wanted;
  wanted.number = 10;
  wanted.steps_only = true;
  held.signal(wanted);
  EXPECT_EQ(runner_.signals, (std::vector<std::pair<Rank, int>>{{5, 10}}));
  wanted.steps_only = false;
  wanted.batch_only = true;
  held.signal(wanted);
  EXPECT_EQ(runner_.signals, (std::vector<std::pair<Rank, int>>{{5, 10}, {0, 10}}));
}

// What a former life found of it is gone with that life.
TEST_F(ActiveAttemptTest, AStepHasTheJobsImageLookedAtOnceInALife) {
  image_ = "base";
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  held.start_step(step_of(held, 5));
  EXPECT_EQ(runner_.prepared, std::vector<std::string>{"base"});
  ActiveAttempt again = make(1, false);
  again.resume(read_attempt(again.directory()));
  StepOrder next = step_of(again, 6);
  next.step = 1;
  again.start_step(next);
  EXPECT_EQ(runner_.prepared, (std::vector<std::string>{"base", "base"}));
  EXPECT_TRUE(runner_.calls.contains(6));
  StepOrder last = step_of(again, 7);
  last.step = 2;
  again.start_step(last);
  EXPECT_EQ(runner_.prepared.size(), 2u);
  EXPECT_TRUE(runner_.calls.contains(7));
}

// The last one is told with the step's end.
TEST_F(ActiveAttemptTest, EachTaskOfAStepIsToldAsItEndsWhereThatIsAskedFor) {
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  StepOrder step = step_of(held, 5);
  step.tasks.push_back(step.tasks[0]);
  step.tasks[1].rank = 6;
  step.each_exit = true;
  held.start_step(step);
  runner_.end(6, 3);
  EXPECT_EQ(kinds(), Kinds{kStepTaskEnded});
  EXPECT_EQ(std::get<protocol::StepTaskOver>(reports_[0]).exit.rank, Rank{6});
  runner_.end(5, 0);
  EXPECT_EQ(kinds(), (Kinds{kStepTaskEnded, kStepEnded}));
  step.step = 1;
  step.each_exit = false;
  held.start_step(step);
  runner_.end(6, 3);
  EXPECT_EQ(kinds().size(), 2u);
}

// It may have missed them, and may not want them.
TEST_F(ActiveAttemptTest, AClientThatComesBackIsToldAgainWhichTasksOfItsStepHaveEnded) {
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  StepOrder step = step_of(held, 5);
  step.tasks.resize(3);
  step.tasks[1].rank = 6;
  step.tasks[2].rank = 7;
  held.start_step(step);
  runner_.end(6, 3);
  StepAttach attach;
  attach.ranks = {5, 6, 7};
  held.attach_step(attach);
  EXPECT_EQ(kinds(), Kinds{});
  attach.each_exit = true;
  held.attach_step(attach);
  EXPECT_EQ(kinds(), Kinds{kStepTaskEnded});
  EXPECT_EQ(std::get<protocol::StepTaskOver>(reports_[0]).exit.exit_code, 3);
  runner_.end(7, 0);
  EXPECT_EQ(kinds(), (Kinds{kStepTaskEnded, kStepTaskEnded}));
  attach.each_exit = false;
  held.attach_step(attach);
  runner_.end(5, 0);
  EXPECT_EQ(kinds(), (Kinds{kStepTaskEnded, kStepTaskEnded, kStepEnded}));
}

TEST_F(ActiveAttemptTest, StepsEndBeforeTheirPlacement) {
  ActiveAttempt held = make(1, false);
  held.launch("{}");
  held.start_step(step_of(held, 5));
  runner_.end(0, 0);
  EXPECT_EQ(runner_.stopped, std::vector<Rank>{5});
  EXPECT_EQ(held.stage(), ActiveAttempt::Stage::kStarted);
  runner_.end(5, 0);
  EXPECT_EQ(kinds(), (Kinds{kStepEnded, kEnded}));
}

}  // namespace
}  // namespace dove::agent
