#include "core/queue/queue_tree.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// One class of jobs in each user queue; its number is the job's.
class QueueTreeTest : public testing::Test {
 protected:
  void build() { tree.build(cluster.state, plain_policies()); }
  void wait(JobId id) {
    const Job& job = cluster.job(id);
    const QueueKey key{queue_rank(job, job.priority), job.submitted_seq, id};
    user_queues[id] = tree.user_queue_of(*job.spec);
    tree.update(user_queues[id], id.value, std::nullopt, key, true);
    keys[id] = key;
  }
  void close(JobId id) { tree.update(user_queues[id], id.value, keys[id], keys[id], false); }
  std::vector<std::uint64_t> order() {
    std::vector<std::uint64_t> tried;
    while (const auto first = tree.first(cluster.state)) {
      tried.push_back(*first);
      close(JobId(*first));
    }
    return tried;
  }

  TestCluster cluster;
  QueueTree tree;
  std::map<JobId, std::int32_t> user_queues;
  std::map<JobId, QueueKey> keys;
};

TEST_F(QueueTreeTest, InOneQueueTheOrderPolicyDecidesThenAge) {
  build();
  wait(cluster.submit());
  wait(cluster.submit({.priority = 5}));
  wait(cluster.submit());
  EXPECT_EQ(order(), (std::vector<std::uint64_t>{2, 1, 3}));
  EXPECT_FALSE(tree.any_open());
}

TEST_F(QueueTreeTest, AHigherBandComesFirst) {
  cluster.declare(queue_of("low"));
  Queue high = queue_of("high");
  high.band = 1;
  cluster.declare(high);
  build();
  wait(cluster.submit({.queue = "low"}));
  wait(cluster.submit({.queue = "high"}));
  EXPECT_EQ(order(), (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(QueueTreeTest, AQueueBelowItsGuaranteeComesFirst) {
  Queue owed = queue_of("owed");
  owed.guaranteed.cores = 4;
  cluster.declare(owed);
  build();
  EXPECT_TRUE(is_below_guarantee(cluster.state, cluster.state.queues.at("owed")));
  EXPECT_TRUE(tree.depends_on_usage());
  wait(cluster.submit());
  wait(cluster.submit({.queue = "owed"}));
  EXPECT_EQ(order(), (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(QueueTreeTest, WhatIsClosedIsNotTried) {
  build();
  const JobId first = cluster.submit();
  wait(first);
  const JobId second = cluster.submit({.user = "bob"});
  wait(second);
  close(first);
  EXPECT_EQ(order(), std::vector<std::uint64_t>{second.value});
}

}  // namespace
}  // namespace dove::core
