#include "core/place/fit.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TaskGroup tasks_of(const Ask& ask) { return spec_of(ask).groups.front(); }

class FitTest : public testing::Test {
 protected:
  std::int32_t room(const TaskGroup& group, std::int32_t most = 100) {
    return capacity(view_of(cluster.node(1)), group, first_fit, most);
  }

  TestCluster cluster{1, {.cores = 8, .gpus = 4, .memory_bytes = 100}};
  FirstFit first_fit;
};

TEST_F(FitTest, TheScarcestResourceDecides) {
  EXPECT_EQ(room(tasks_of({.cores = 3})), 2);
  EXPECT_EQ(room(tasks_of({.cores = 1, .gpus = 2})), 2);
  TaskGroup hungry = tasks_of({});
  hungry.per_task.memory_bytes = 40;
  EXPECT_EQ(room(hungry), 2);
  EXPECT_EQ(room(tasks_of({}), 5), 5);  // no more than was asked
}

TEST_F(FitTest, WhatIsAskedPerNodeIsTakenOnce) {
  TaskGroup group = tasks_of({.cores = 2});
  group.per_node.cores = 4;
  EXPECT_EQ(room(group), 2);
}

TEST_F(FitTest, AnotherModelDoesNotFit) {
  TaskGroup group = tasks_of({.gpus = 1});
  group.per_task.gpu_model = "A100";
  EXPECT_EQ(room(group), 0);
}

TEST_F(FitTest, WhatIsGrantedIsNoLongerThere) {
  const TaskGroup group = tasks_of({.cores = 2, .gpus = 1, .tasks = 2});
  FreeBooks books(cluster.node(1));
  Placement placement;
  placement.node = NodeId(1);
  grant(books, group, 0, 0, 2, first_fit, placement);
  EXPECT_EQ(placement.cores.size(), 4u);
  ASSERT_EQ(placement.devices.size(), 2u);
  ASSERT_EQ(placement.tasks.size(), 2u);
  EXPECT_EQ(placement.tasks[1].rank, 1u);
  EXPECT_EQ(capacity(books.view(), group, first_fit, 100), 2);
}

TEST_F(FitTest, AnExclusiveJobGetsTheRestToo) {
  FreeBooks books(cluster.node(1));
  Placement placement;
  grant(books, tasks_of({.cores = 1, .gpus = 1}), 0, 0, 1, first_fit, placement);
  grant_along(books, true, placement);
  EXPECT_EQ(placement.cores.size(), 8u);
  EXPECT_EQ(placement.devices.size(), 4u);
  EXPECT_EQ(placement.memory_bytes, 100);
}

class WholeCoresTest : public testing::Test {
 protected:
  WholeCoresTest() : books_(cluster_.node(1)) {
    inventory_ = *cluster_.node(1).inventory;
    inventory_.thread_order = {0, 4, 1, 5, 2, 6, 3, 7};
    inventory_.threads_per_core = 2;
    books_.inventory = &inventory_;
    books_.whole_cores = true;
  }

  Placement granted(const TaskGroup& group, std::int32_t tasks) {
    Placement placement;
    grant(books_, group, 0, 0, tasks, first_fit_, placement);
    grant_along(books_, false, placement);
    return placement;
  }

  TestCluster cluster_{1, {.cores = 8, .gpus = 4, .memory_bytes = 100}};
  FirstFit first_fit_;
  Inventory inventory_;
  FreeBooks books_;
};

TEST_F(WholeCoresTest, ThreadsOfACoreGoTogetherAndNoneIsLeftOver) {
  const Placement first = granted(tasks_of({.cores = 3}), 1);
  EXPECT_EQ(first.cores, (CoreSet{0, 1, 4, 5}));
  EXPECT_EQ(first.tasks[0].cores, first.cores) << "the thread beside is its task's";
  const Placement second = granted(tasks_of({.cores = 1}), 1);
  EXPECT_EQ(second.cores, (CoreSet{2, 6}));
  EXPECT_EQ(books_.cores, (CoreSet{3, 7}));
}

TEST_F(WholeCoresTest, TasksOfOneJobShareACore) {
  const Placement placement = granted(tasks_of({.cores = 1, .tasks = 8}), 8);
  EXPECT_EQ(placement.cores.size(), 8u);
  EXPECT_EQ(placement.tasks[0].cores, (CoreSet{0}));
  EXPECT_EQ(placement.tasks[1].cores, (CoreSet{4}));
}

TEST_F(WholeCoresTest, AThreadThatIsNotThereIsNotGiven) {
  books_.cores -= CoreSet{0, 6};
  EXPECT_EQ(granted(tasks_of({.cores = 3}), 1).cores, (CoreSet{1, 2, 4, 5}));
  EXPECT_EQ(books_.cores, (CoreSet{3, 7}));
}

TEST_F(FitTest, NeedsAreSumsOfTasksAndNode) {
  TaskGroup group = tasks_of({.cores = 2, .gpus = 1});
  group.per_node.memory_bytes = 7;
  const NodeNeeds needs = needs_of(group, 3);
  EXPECT_EQ(needs.cores, 6);
  EXPECT_EQ(needs.gpus_milli, 3000);
  EXPECT_EQ(needs.memory_bytes, 7);
}

}  // namespace
}  // namespace dove::core
