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

TEST_F(LogTraceTest, SaysSoWhenNobodyRan) {
  batch(1, {ControllerStarted{}});
  EXPECT_FALSE(trace_.take("log").ok());
}

}  // namespace
}  // namespace dove::sim
