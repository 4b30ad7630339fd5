#include "agent/tasks/task_plan.h"

#include <gtest/gtest.h>

namespace dove::agent {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// On a node of two NUMA nodes, on a core of the second.
class TaskPlanTest : public ::testing::Test {
 protected:
  TaskPlanTest() {
    inventory_.numa = {NumaNode{{0, 1}, 8 * kGiB}, NumaNode{{2, 3}, 8 * kGiB}};
    facts_.node = "n1";
    facts_.inventory = &inventory_;
    order_.key = {JobId(7), 1};
    order_.exec.command = {"true"};
    order_.nodes = {{"n1", "127.0.0.1", 0, {}, 1, {}}};
    order_.placement.cores = {2};
    order_.placement.memory_bytes = kGiB;
    grant_.cores = {2};
  }
  Result<TaskPlan> plan() {
    PlanContext context{facts_, order_, directory_};
    context.checks_files = false;
    return plan_main_task(context, grant_);
  }

  Inventory inventory_;
  AgentFacts facts_;
  LaunchOrder order_;
  TaskGrant grant_;
  std::string directory_ = "/data/7.1";
};

TEST_F(TaskPlanTest, MemoryIsThatBesideItsCores) {
  order_.placement.countables = {{"rdma", 1}};
  const Result<TaskPlan> made = plan();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->numa_nodes, (std::vector<std::int32_t>{1}));
  EXPECT_TRUE(made->huge_pages.empty());
}

TEST_F(TaskPlanTest, HugePagesMayLieOnAnyNumaNode) {
  order_.placement.countables = {{"hugepages-1Gi", 4 * kGiB}, {"hugepages-2Mi", kGiB}, {"rdma", 1}};
  const Result<TaskPlan> made = plan();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->huge_pages, (BytesByPage{{2 << 20, kGiB}, {kGiB, 4 * kGiB}}));
  EXPECT_TRUE(made->numa_nodes.empty());
}

TEST_F(TaskPlanTest, ASessionInAnImageHasAHomeThatItsAttemptsShare) {
  const auto homes_of = [](const TaskPlan& made) {
    std::vector<std::string> targets;
    for (const SharedPath& shared : made.shared) {
      if (shared.source == "/shared/homes/5f0c-7") targets.push_back(shared.target);
    }
    return targets;
  };
  facts_.cluster_id = "5f0c";
  order_.exec.container.image = "lab";
  facts_.shared_directory = "/shared";
  EXPECT_TRUE(homes_of(*plan()).empty()) << "no session";
  order_.exec.app.name = "notebook";
  Result<TaskPlan> made = plan();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(homes_of(*made), std::vector<std::string>{"/home/user"});
  EXPECT_EQ(made->environment.at("HOME"), "/home/user");
  EXPECT_EQ(made->container.workdir, "/home/user");

  order_.exec.container.root = true;
  order_.exec.container.workdir = "/workspace";
  made = plan();
  EXPECT_EQ(homes_of(*made), std::vector<std::string>{"/root"});
  EXPECT_EQ(made->container.workdir, "/workspace");

  order_.exec.container.volumes = {{"/data/root", "/root", true}};
  EXPECT_TRUE(homes_of(*plan()).empty()) << "it has one there";
  order_.exec.container.volumes = {{"/data/r", "/roo", true}};
  EXPECT_FALSE(homes_of(*plan()).empty());
  order_.exec.environment["HOME"] = "/data";
  EXPECT_TRUE(homes_of(*plan()).empty()) << "it says where";
}

TEST_F(TaskPlanTest, CardsOfItsOwnAreOutOfReachInTheNetworkOfItsGang) {
  order_.exec.container.image = "train";
  order_.placement.countables = {{"nics", 1}};
  const auto warnings = [&] {
    const Result<TaskPlan> made = plan();
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? made->warnings : std::vector<std::string>();
  };
  EXPECT_TRUE(warnings().empty());
  order_.in_network = true;
  order_.nodes[0].ranks = {0};
  ASSERT_EQ(warnings().size(), 1U);
  EXPECT_NE(warnings()[0].find("--container-network=host"), std::string::npos);
}

}  // namespace
}  // namespace dove::agent
