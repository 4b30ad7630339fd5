#include "core/state/executors/foreign.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

NodeExecutor executor_of(const char* name, bool placeholders = true) {
  NodeExecutor executor;
  executor.name = name;
  executor.placeholders = placeholders;
  executor.contact = ExecutorContact::kAnswering;
  executor.knows_to_come = true;
  return executor;
}

ForeignAllocation allocation_of(const char* id, CoreSet cores, std::vector<std::int32_t> devices) {
  ForeignAllocation one;
  one.id = id;
  one.cores = std::move(cores);
  one.devices = std::move(devices);
  one.memory_bytes = 100;
  return one;
}

TEST(Foreign, AnExecutorIsOnTheNodesThatItsListsName) {
  Executor executor;
  EXPECT_FALSE(names_node(executor, "n1"));
  executor.nodes = {"n[1-2]", "gpu"};
  EXPECT_TRUE(names_node(executor, "n2"));
  EXPECT_TRUE(names_node(executor, "gpu"));
  EXPECT_FALSE(names_node(executor, "n3"));
}

TEST(Foreign, IsFoundByNameOnANode) {
  Node node;
  EXPECT_EQ(find_executor(node, "slurm"), nullptr);
  node.executors = {executor_of("k8s"), executor_of("slurm")};
  EXPECT_EQ(find_executor(node, "slurm"), &node.executors[1]);
  EXPECT_EQ(find_executor(node, "flux"), nullptr);
}

TEST(Foreign, AnAgentIsWhereNoExecutorRegisteredTheNode) {
  Node node;
  EXPECT_TRUE(has_agent(node));
  node.backend = kNative_backend;
  EXPECT_TRUE(has_agent(node));
  node.backend = "slurm";
  EXPECT_FALSE(has_agent(node));
}

TEST(Foreign, OneThatIsUpAndAnswersTakesJobsAndClosesNothing) {
  NodeExecutor executor = executor_of("slurm");
  EXPECT_TRUE(takes_jobs(executor));
  EXPECT_FALSE(closes_node(executor));
  for (const ExecutorContact contact : {ExecutorContact::kSilent, ExecutorContact::kMute}) {
    executor.contact = contact;
    EXPECT_FALSE(takes_jobs(executor));
    EXPECT_TRUE(closes_node(executor)) << "no placeholder could be had";
  }
  executor.contact = ExecutorContact::kAnswering;
  executor.state = ExecutorNodeState::kDown;
  EXPECT_FALSE(takes_jobs(executor));
  EXPECT_TRUE(closes_node(executor));
}

TEST(Foreign, OneThatIsOnlyObservedClosesTheNodeByDrainingItAlone) {
  NodeExecutor executor = executor_of("slurm", /*placeholders=*/false);
  executor.contact = ExecutorContact::kSilent;
  EXPECT_FALSE(closes_node(executor));
  executor.state = ExecutorNodeState::kDown;
  EXPECT_FALSE(closes_node(executor));
  executor.state = ExecutorNodeState::kDrained;
  EXPECT_TRUE(closes_node(executor));
}

TEST(Foreign, TheFirstThatClosesTheNodeIsToldWithItsReason) {
  Node node;
  node.executors = {executor_of("k8s"), executor_of("slurm")};
  EXPECT_EQ(closing_executor(node), nullptr);
  NodeExecutor& slurm = node.executors[1];
  slurm.state = ExecutorNodeState::kDown;
  EXPECT_EQ(closing_executor(node), &slurm);
  EXPECT_EQ(closing_text(slurm), "slurm: down there");
  slurm.why = "fan";
  EXPECT_EQ(closing_text(slurm), "slurm: down there (fan)");
  slurm.contact = ExecutorContact::kMute;
  EXPECT_EQ(closing_text(slurm), "slurm: it does not answer its adapter") << "the state may be old";
  slurm.contact = ExecutorContact::kSilent;
  EXPECT_EQ(closing_text(slurm), "slurm: its adapter is silent");
  slurm.state = ExecutorNodeState::kDrained;
  EXPECT_EQ(closing_text(slurm), "slurm: drained there (fan)");
}

TEST(Foreign, AFeatureIsDeclaredOrSaidByAnExecutor) {
  Node node;
  node.declared.features = {"z", "a"};
  node.executors = {executor_of("slurm")};
  node.executors[0].features = {"a", "b", "c"};
  EXPECT_TRUE(meets(node, "z"));
  EXPECT_TRUE(meets(node, "c"));
  EXPECT_TRUE(meets(node, "none|b"));
  EXPECT_FALSE(meets(node, "none"));
  EXPECT_EQ(features_of(node), (std::vector<std::string>{"z", "a", "b", "c"})) << "each once";
}

TEST(Foreign, AJobOfAnExecutorOnlyGetsRoomUnlessItWaitsAtAGate) {
  State state;
  state.executors["slurm"] = Executor{};
  JobSpec spec;
  spec.executor = "slurm";
  EXPECT_FALSE(only_gets_room(state, spec)) << "a job of ours";
  spec.foreign_job = "7";
  EXPECT_TRUE(only_gets_room(state, spec));
  state.executors["slurm"].gate = true;
  EXPECT_FALSE(only_gets_room(state, spec));
  state.executors.clear();
  EXPECT_FALSE(only_gets_room(state, spec));
}

TEST(Foreign, WhatAllExecutorsRunIsSummedUp) {
  Node node;
  EXPECT_FALSE(has_foreign(node));
  EXPECT_TRUE(is_idle(node));
  node.executors = {executor_of("k8s"), executor_of("slurm")};
  node.executors[0].foreign = {allocation_of("pod", {0, 1}, {2})};
  node.executors[1].foreign = {allocation_of("7", {1, 4}, {0})};
  EXPECT_TRUE(has_foreign(node));
  EXPECT_FALSE(is_idle(node));
  EXPECT_EQ(foreign_cores(node), (CoreSet{0, 1, 4}));
  EXPECT_EQ(foreign_memory(node), 200);
  EXPECT_TRUE(is_device_foreign(node, 0));
  EXPECT_FALSE(is_device_foreign(node, 1));
  EXPECT_TRUE(is_device_foreign(node, 2));
}

TEST(Foreign, WhatIsKeptForOthersLaterIsFreeUntilThen) {
  Node node;
  node.executors = {executor_of("slurm")};
  ForeignAllocation& kept =
      node.executors[0].foreign.emplace_back(allocation_of("reservation:maint", {0}, {0}));
  kept.started_at = Instant{1};
  EXPECT_TRUE(has_to_come(node));
  EXPECT_FALSE(has_foreign(node));
  EXPECT_TRUE(foreign_cores(node).empty());
  EXPECT_EQ(foreign_memory(node), 0);
  EXPECT_FALSE(is_device_foreign(node, 0));
  kept.started_at = {};
  EXPECT_FALSE(has_to_come(node)) << "it has begun";
  EXPECT_TRUE(has_foreign(node));
}

TEST(Foreign, AFormerProgramHoldsItFromWhenItHears) {
  Node node;
  node.executors = {executor_of("slurm")};
  node.executors[0].knows_to_come = false;
  node.executors[0].foreign = {allocation_of("reservation:maint", {0}, {0})};
  node.executors[0].foreign[0].started_at = Instant{1};
  EXPECT_FALSE(has_to_come(node));
  EXPECT_TRUE(is_device_foreign(node, 0));
}

TEST(Foreign, IsNamedForPeople) {
  ForeignAllocation one = allocation_of("7", {}, {});
  EXPECT_EQ(foreign_text(executor_of("slurm"), one), "slurm job 7");
  one.user = "ada";
  EXPECT_EQ(foreign_text(executor_of("slurm"), one), "slurm job 7 of ada");
  EXPECT_EQ(device_list({}), "");
  EXPECT_EQ(device_list({0, 2}), "0,2");
}

}  // namespace
}  // namespace dove::core
