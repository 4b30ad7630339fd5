#include "sim/traces/log_trace.h"

#include <gtest/gtest.h>

#include "core/cycle/scheduler.h"
#include "core/state/apply.h"
#include "policies/standard.h"

namespace dove::sim {
namespace {

std::shared_ptr<const JobSpec> job(const std::string& user, std::int32_t gpus) {
  auto spec = std::make_shared<JobSpec>();
  spec->user = user;
  spec->groups.resize(1);
  spec->groups[0].per_task.gpus = gpus;
  return spec;
}

// A controller in small: what it decides is told to the trace as its log would.
class LogTraceTest : public testing::Test {
 protected:
  void batch(std::int64_t at_s, const std::vector<Event>& events) {
    const Instant at{at_s * 1'000'000};
    core::begin_batch(state_, at, Epoch{1});
    trace_.begin(at, Epoch{1});
    for (const Event& event : events) {
      core::apply(state_, StampedEvent{event, {}});
      trace_.add(StampedEvent{event, {}});
    }
    for (const Decision& decision : core::decide(state_, policies::standard_policies())) {
      trace_.add(decision);
    }
  }

  core::State state_;
  LogTrace trace_;
};

TEST_F(LogTraceTest, TellsWhoRanForHowLongOnHowManyGpus) {
  NodeRegistered node;
  node.name = "n1";
  node.boot_id = "boot";
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  inventory->devices.resize(4);
  for (Device& device : inventory->devices) device.kind = "gpu";
  node.inventory = inventory;
  const NodeId n1(1);
  batch(100, {node, NodeConnected{n1, "boot"}, JobSubmitted{job("ann", 3)},
              JobSubmitted{job("bob", 2)}, JobSubmitted{job("ann", 0)}});
  batch(110, {PlacementStarted{JobId(1), 1, n1}, PlacementStarted{JobId(3), 1, n1}});
  batch(150, {PlacementEnded{JobId(1), 1, n1, {TaskExit{}}, 0, 0},
              PlacementEnded{JobId(3), 1, n1, {TaskExit{}}, 0, 0}});
  batch(151, {PlacementStarted{JobId(2), 1, n1}});
  batch(160, {PlacementEnded{JobId(2), 1, n1, {TaskExit{}}, 0, 0}, JobSubmitted{job("bob", 1)}});
  const auto trace = trace_.take("log");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->left_out, 1);
  EXPECT_EQ(trace->accounts, (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(trace->jobs[0].run, seconds(40));
  EXPECT_EQ(trace->jobs[0].gpus, 3);
  EXPECT_EQ(trace->jobs[1].run, seconds(9));
  EXPECT_EQ(trace->jobs[1].submitted_at, Instant{});
  EXPECT_EQ(trace->jobs[1].account, 1u);
}

TEST_F(LogTraceTest, TellsJobsAsTheyWereSubmittedAndTheClusterAsItIsAtTheEnd) {
  NodeRegistered node;
  node.name = "n1";
  node.boot_id = "boot";
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < 4; ++core) inventory->numa[0].cores.insert(core);
  node.inventory = inventory;
  const NodeId n1(1);
  Queue team;
  team.name = "a-team";  // comes before its parent by name
  team.parent = "lab";
  Queue lab;
  lab.name = "lab";
  JobSpec held = *job("ann", 0);
  held.hold = true;
  held.queue = "a-team";
  held.time_limit = seconds(10);
  JobSpec array = *job("bob", 0);
  array.groups[0].per_task.cores = 1;
  array.array.indices = {2, 5};
  batch(100, {node, NodeConnected{n1, "boot"}, ObjectApplied{lab}, ObjectApplied{team},
              JobSubmitted{std::make_shared<JobSpec>(held)},
              JobSubmitted{std::make_shared<JobSpec>(array)}});
  batch(105, {JobReleased{JobId(2)}});  // which nobody held
  batch(110, {PlacementStarted{JobId(2), 1, n1}, PlacementStarted{JobId(3), 1, n1}});
  batch(120, {JobReleased{JobId(1)}, JobPriorityChanged{JobId(1), 7}});
  batch(121, {PlacementStarted{JobId(1), 1, n1}});
  TaskExit bad;
  bad.exit_code = 3;
  batch(131, {PlacementEnded{JobId(1), 1, n1, {TaskExit{}}, 0, 0},
              PlacementEnded{JobId(2), 1, n1, {TaskExit{}}, 0, 0},
              PlacementEnded{JobId(3), 1, n1, {bad}, 0, 0}});
  NodeDeclaration drained;
  drained.name = "n1";
  drained.drained = true;
  drained.features = {"fast"};
  batch(132, {ObjectApplied{drained}});
  const auto work = trace_.take_work("log");
  ASSERT_TRUE(work.ok()) << work.error().message;
  ASSERT_EQ(work->jobs.size(), 2u);
  const LoggedJob& first = work->jobs.at(JobId(1));
  EXPECT_EQ(first.spec.queue, "a-team");
  EXPECT_FALSE(first.spec.hold);
  EXPECT_EQ(first.spec.begin_at, Instant{} + seconds(120)) << "not before it was released";
  EXPECT_EQ(first.spec.priority, 7);
  EXPECT_EQ(first.runs.at(0).run, seconds(10));
  const LoggedJob& second = work->jobs.at(JobId(2));
  EXPECT_EQ(second.spec.begin_at, Instant{});
  ASSERT_EQ(second.runs.size(), 2u);
  EXPECT_EQ(second.runs[1].id, JobId(3));
  EXPECT_EQ(second.runs[1].array_index, 5);
  EXPECT_EQ(second.runs[1].exit_code, 3);
  ASSERT_EQ(work->nodes.size(), 1u);
  EXPECT_FALSE(work->nodes[0].declared.drained);
  EXPECT_EQ(work->nodes[0].declared.features, (std::vector<std::string>{"fast"}));
  std::vector<std::string> queues;
  for (const Declared& object : work->objects) {
    if (const auto* queue = std::get_if<Queue>(&object)) queues.push_back(queue->name);
  }
  EXPECT_EQ(queues, (std::vector<std::string>{"lab", "a-team", "default"}));
}

TEST_F(LogTraceTest, SaysSoWhenNobodyRan) {
  batch(1, {ControllerStarted{}});
  EXPECT_FALSE(trace_.take("log").ok());
  EXPECT_FALSE(trace_.take_work("log").ok());
}

}  // namespace
}  // namespace dove::sim
