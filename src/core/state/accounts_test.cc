#include "core/state/accounts.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(Accounts, JobsOfOneUserAndQueueShareOne) {
  TestCluster cluster;
  const JobId one = cluster.submit();
  const JobId two = cluster.submit();
  const JobId bob = cluster.submit({.user = "bob"});
  EXPECT_NE(cluster.job(one).account, 0u);
  EXPECT_EQ(cluster.job(one).account, cluster.job(two).account);
  EXPECT_NE(cluster.job(one).account, cluster.job(bob).account);
}

TEST(Accounts, PointAtTheUsageOfTheState) {
  TestCluster cluster;
  cluster.declare(queue_of("org"));
  cluster.declare(queue_of("team", "org"));
  const JobId id = cluster.submit({.queue = "team"});
  const Account& account = cluster.state.accounts.of(cluster.state, *cluster.state.find_job(id));
  EXPECT_EQ(account.user, &cluster.state.usage_by_user.at("ann"));
  ASSERT_EQ(account.queues.size(), 2u);
  EXPECT_EQ(account.queues[1].usage, &cluster.state.usage_by_queue.at("org"));
}

TEST(Accounts, ACopyFindsItsOwn) {
  TestCluster cluster;
  const JobId id = cluster.submit();
  State copy = cluster.state;
  const Account& account = copy.accounts.of(copy, *copy.find_job(id));
  EXPECT_EQ(account.user, &copy.usage_by_user.at("ann"));
  EXPECT_NE(account.user, &cluster.state.usage_by_user.at("ann"));
}

}  // namespace
}  // namespace dove::core
