#include "core/place/limits.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/state/amount.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class LimitsTest : public testing::Test {
 protected:
  std::vector<Reason> broken(const Ask& ask) {
    const JobSpec spec = spec_of(ask);
    return broken_limits(cluster.state, spec, least_amount(spec), false);
  }

  TestCluster cluster{1, {.gpus = 4}};
};

TEST_F(LimitsTest, AQueueHoldsItsJobsAndThoseBelowIt) {
  Queue org = queue_of("org");
  org.limits.gpus_milli = 2000;
  cluster.declare(org);
  cluster.declare(queue_of("team", "org"));
  cluster.submit_and_start({.gpus = 1, .queue = "team"});
  EXPECT_TRUE(broken({.gpus = 1, .queue = "team"}).empty());
  const auto over = broken({.gpus = 2, .queue = "team"});
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].kind, ReasonKind::kQueueLimit);
  EXPECT_EQ(over[0].subject, "org");
  EXPECT_EQ(over[0].needs, 2000);
  EXPECT_EQ(over[0].used, 1000);
  EXPECT_EQ(over[0].limit, 2000);
}

TEST_F(LimitsTest, WhatIsNotAskedForBreaksNoLimit) {
  UserLimit limit;
  limit.name = "*";
  limit.limits.gpus_milli = 0;
  cluster.declare(limit);
  EXPECT_TRUE(broken({.cores = 4}).empty());
  EXPECT_EQ(broken({.gpus = 1}).front().kind, ReasonKind::kUserLimit);
}

TEST_F(LimitsTest, AUsersOwnLimitsStandInForEverybodys) {
  UserLimit everybody;
  everybody.name = "*";
  everybody.limits.jobs_running = 0;
  UserLimit ann;
  ann.name = "ann";
  cluster.declare(everybody);
  cluster.declare(ann);
  EXPECT_TRUE(broken({.user = "ann"}).empty());
  EXPECT_FALSE(broken({.user = "bob"}).empty());
}

TEST_F(LimitsTest, ADomainHoldsItsProjectsAndItsUsersOutsideProjects) {
  Domain corp;
  corp.name = "corp";
  corp.limits.gpus_milli = 2000;
  cluster.declare(corp);
  Project vision;
  vision.name = "vision";
  vision.domain = "corp";
  cluster.declare(vision);
  UserDeclaration ann;
  ann.name = "ann";
  ann.domain = "corp";
  cluster.declare(ann);
  cluster.submit_and_start({.gpus = 2});
  EXPECT_TRUE(broken({.gpus = 1, .user = "bob"}).empty());
  JobSpec spec = spec_of({.gpus = 1, .user = "bob"});
  spec.project = "vision";
  const auto over = broken_limits(cluster.state, spec, least_amount(spec), false);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].subject, "corp");
  EXPECT_EQ(over[0].kind, ReasonKind::kDomainLimit);
  EXPECT_EQ(over[0].used, 2000);
  EXPECT_EQ(raised_by(cluster.state, "project", "vision"),
            "an administrator of domain corp, or of the cluster");
}

TEST_F(LimitsTest, AMonthIsUsedUpByWhatRanAndRunsAndOnlyForJobsWithGpus) {
  Queue org = queue_of("org");
  org.limits.gpu_ms_month = 2 * 3600 * 1000;
  cluster.declare(org);
  cluster.declare(queue_of("team", "org"));
  cluster.submit_and_start({.gpus = 1, .queue = "team"});
  cluster.pass(seconds(2 * 3600 - 1));
  EXPECT_TRUE(broken({.gpus = 4, .queue = "team"}).empty()) << "something is left";
  cluster.pass(seconds(3601));
  const auto over = broken({.gpus = 1, .queue = "team"});
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].resource, "gpu_ms_month");
  EXPECT_EQ(over[0].used, 3 * 3600 * 1000);
  EXPECT_EQ(over[0].limit, 2 * 3600 * 1000);
  EXPECT_EQ(over[0].until.us, std::int64_t{31} * 24 * 3600 * 1'000'000);
  EXPECT_TRUE(broken({.queue = "team"}).empty());
}

TEST_F(LimitsTest, LicencesAreTheClusters) {
  ClusterSettings settings;
  settings.countables = {{"licence:x", 2}};
  cluster.declare(settings);
  JobSpec spec = spec_of({});
  spec.cluster_requests = {{"licence:x", 3}};
  const auto over = broken_limits(cluster.state, spec, least_amount(spec), false);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].kind, ReasonKind::kClusterLimit);
}

TEST_F(LimitsTest, AClosedPoolIsAnObstacleWhateverIsFree) {
  EXPECT_TRUE(declared_obstacles(cluster.state, spec_of({})).empty());
  Pool pool = cluster.state.pools.at("default");
  pool.open = false;
  cluster.declare(pool);
  EXPECT_EQ(declared_obstacles(cluster.state, spec_of({})).front().kind, ReasonKind::kPoolClosed);
}

TEST_F(LimitsTest, APoolIsOpenToWhomeverItLists) {
  Pool pool;
  pool.users = {"ann"};
  EXPECT_TRUE(may_use(cluster.state, pool, "ann", ""));
  EXPECT_FALSE(may_use(cluster.state, pool, "bob", ""));
  pool.projects = {"p"};
  EXPECT_TRUE(may_use(cluster.state, pool, "bob", "p"));
}

TEST_F(LimitsTest, TheQuickCheckAgreesWithTheFullOne) {
  Queue queue = queue_of("team");
  queue.limits.jobs_running = 1;
  cluster.declare(queue);
  for (int running = 0; running < 2; ++running) {
    const JobId id = cluster.submit({.queue = "team"});
    const JobSpec& spec = *cluster.job(id).spec;
    const Account& account = cluster.state.accounts.of(cluster.state, *cluster.state.find_job(id));
    EXPECT_EQ(is_within_limits(cluster.state, spec, account, least_amount(spec)),
              broken_limits(cluster.state, spec, least_amount(spec), true).empty());
    cluster.launch(id);
  }
}

// Once an array of such jobs was admitted, and what was asked for wrapped around: no quota of
// memory held any more.
TEST_F(LimitsTest, WhatCannotBeCountedIsMoreThanAnyLimit) {
  Project project;
  project.name = "p";
  project.limits.memory_bytes = 1000;
  cluster.declare(project);
  JobSpec spec = spec_of({.tasks = 4096});
  spec.project = "p";
  spec.groups[0].per_task.memory_bytes = std::int64_t{1} << 50;
  EXPECT_FALSE(broken_project_limits(cluster.state, spec, 3).empty());
  project.limits = {};
  cluster.declare(project);
  const auto by_memory = broken_project_limits(cluster.state, spec, 3);
  ASSERT_EQ(by_memory.size(), 1U) << "without a quota, too";
  EXPECT_EQ(by_memory[0].resource, "memory_bytes");
  JobSpec gpus = spec_of({.gpus = 8, .tasks = 32});
  gpus.project = "p";
  EXPECT_TRUE(broken_project_limits(cluster.state, gpus, 10'000).empty()) << "2 560 000 GPUs";
  gpus.array.indices.resize(10'000);
  std::iota(gpus.array.indices.begin(), gpus.array.indices.end(), 0);
  cluster.submit(gpus);
  EXPECT_EQ(cluster.state.asked_by_project.at("p").gpus_milli, 2'560'000'000);
}

}  // namespace
}  // namespace dove::core
