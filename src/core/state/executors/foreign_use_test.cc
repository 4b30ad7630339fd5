#include "core/state/executors/foreign_use.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// The account "lab" of a Slurm stands for the queue "team" of "org".
class ForeignUseCounted : public testing::Test {
 protected:
  ForeignUseCounted() {
    cluster.declare(queue_of("org"));
    cluster.declare(queue_of("team", "org"));
    executor.queues = {{"lab", "team"}, {"nobody", ""}};
    cluster.declare(executor);
  }
  void observe(const char* id, std::vector<std::int32_t> devices, const char* account = "lab") {
    ForeignAllocation one;
    one.id = id;
    one.cores = {0, 1};
    one.devices = std::move(devices);
    one.memory_bytes = 100;
    one.account = account;
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), one});
  }
  void end(const char* id) { cluster.tell(ForeignAllocationEnded{"slurm", NodeId(1), id}); }
  const Usage& use(const char* queue) { return cluster.state.usage_by_queue[queue]; }
  void limit_models() {
    UserLimit limit;
    limit.name = "ann";
    limit.limits.gpus_by_model = {{"h200", 9000}};
    cluster.declare(limit);
  }

  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  Executor executor{"slurm", "", {"n1"}, true, {}};
};

TEST_F(ForeignUseCounted, AnAccountStandsForTheQueueThatIsDeclaredForIt) {
  ASSERT_NE(queue_of(cluster.state, "slurm", "lab"), nullptr);
  EXPECT_EQ(*queue_of(cluster.state, "slurm", "lab"), "team");
  EXPECT_EQ(queue_of(cluster.state, "slurm", "nobody"), nullptr);
  EXPECT_EQ(queue_of(cluster.state, "slurm", "unknown"), nullptr);
  EXPECT_EQ(queue_of(cluster.state, "k8s", "lab"), nullptr);
}

TEST_F(ForeignUseCounted, TheQueueAndAllAboveItUseWhatIsHeldUntilItEnds) {
  observe("7", {0, 1});
  observe("8", {2});
  for (const char* queue : {"team", "org"}) {
    EXPECT_EQ(use(queue).cores, 4);
    EXPECT_EQ(use(queue).gpus_milli, 3000);
    EXPECT_EQ(use(queue).memory_bytes, 200);
  }
  EXPECT_EQ(use("default").gpus_milli, 0);
  end("7");
  EXPECT_EQ(use("org").gpus_milli, 1000);
  end("8");
  EXPECT_EQ(use("org").gpus_milli, 0);
  EXPECT_EQ(use("org").cores, 0);
  EXPECT_EQ(use("org").memory_bytes, 0);
}

TEST_F(ForeignUseCounted, AnAccountWithoutAQueueCountsTowardsNobody) {
  observe("7", {0}, "unknown");
  observe("8", {1}, "nobody");
  for (const auto& [name, usage] : cluster.state.usage_by_queue) {
    EXPECT_EQ(usage.gpus_milli, 0) << name;
  }
}

TEST_F(ForeignUseCounted, ModelsAreCountedWhereALimitNamesOne) {
  observe("7", {0, 1});
  EXPECT_TRUE(use("team").gpus_by_model.empty());
  limit_models();
  EXPECT_EQ(use("team").gpus_by_model, (std::map<std::string, std::int64_t>{{"h200", 2000}}));
  end("7");
  EXPECT_TRUE(use("team").gpus_by_model.empty()) << "no zeros stay";
}

TEST_F(ForeignUseCounted, WhatWasUsedIsChargedAtTheLevelOfItsTime) {
  observe("7", {0});
  cluster.pass(seconds(100));
  observe("8", {1, 2, 3});
  const std::int64_t one = cluster.state.past_by_queue["org"].amount;
  // A GPU and two cores, each a tenth of a GPU, for 100 s: less a little by its half-life.
  EXPECT_NEAR(static_cast<double>(one), 1200.0 * 100'000, 1200.0 * 100);
  EXPECT_EQ(cluster.state.past_by_queue["team"].at, cluster.state.now);
  cluster.pass(seconds(100));
  end("8");
  EXPECT_NEAR(static_cast<double>(cluster.state.past_by_queue["org"].amount - one),
              4400.0 * 100'000, 4400.0 * 200);
}

TEST_F(ForeignUseCounted, AnAccountThatComesToStandForAnotherQueueTakesItsUseThere) {
  observe("7", {0});
  executor.queues["lab"] = "default";
  cluster.declare(executor);
  EXPECT_EQ(use("team").gpus_milli, 0);
  EXPECT_EQ(use("org").gpus_milli, 0);
  EXPECT_EQ(use("default").gpus_milli, 1000);
}

TEST_F(ForeignUseCounted, AllThatOneExecutorRunsIsTakenAwayAndPutBack) {
  observe("7", {0});
  observe("8", {1});
  count_all_foreign(cluster.state, "k8s", -1);
  EXPECT_EQ(use("team").gpus_milli, 2000);
  count_all_foreign(cluster.state, "slurm", -1);
  EXPECT_EQ(use("team").gpus_milli, 0);
  count_all_foreign(cluster.state, +1);
  EXPECT_EQ(use("team").gpus_milli, 2000);
}

}  // namespace
}  // namespace dove::core
