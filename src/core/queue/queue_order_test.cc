#include "core/queue/queue_order.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class Newest final : public OrderPolicy {
 public:
  std::string_view name() const override { return "newest/2"; }
  std::int64_t rank(const State&, const Job& job) const override {
    return static_cast<std::int64_t>(job.id.value);
  }
};

TEST(QueueOrder, IsTheNearestOneNamedOnTheWayUp) {
  const Newest newest;
  Policies policies = plain_policies();
  policies.orders.push_back(&newest);
  TestCluster cluster;
  Queue org = queue_of("org");
  org.order = "newest";
  cluster.declare(org);
  cluster.declare(queue_of("team", "org"));
  EXPECT_EQ(&order_of(cluster.state, policies, "team"), &newest);
  EXPECT_EQ(&order_of(cluster.state, policies, "default"), policies.order);
}

TEST(QueueOrder, APolicyIsFoundWithOrWithoutItsVersion) {
  EXPECT_EQ(find_order(plain_policies(), "oldest"), plain_policies().order);
  EXPECT_EQ(find_order(plain_policies(), "oldest/1"), plain_policies().order);
  EXPECT_EQ(find_order(plain_policies(), "oldest/2"), nullptr);
}

TEST(QueueOrder, AJobThatLostItsNodeComesFirst) {
  TestCluster cluster(1);
  const JobId job = cluster.submit_and_start();
  EXPECT_FALSE(comes_first(cluster.job(job)));
  cluster.decided(DeclareNodeLost{NodeId(1)});
  cluster.decided(Requeue{job, StopReason::kNodeLost, false, false});
  EXPECT_TRUE(comes_first(cluster.job(job)));
  EXPECT_LT(queue_rank(cluster.job(job), 0), queue_rank(cluster.job(cluster.submit()), 1'000'000));
}

}  // namespace
}  // namespace dove::core
