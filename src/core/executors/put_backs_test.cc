#include "core/executors/put_backs.h"

#include <gtest/gtest.h>

#include "core/executors/sync.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// A Slurm job "7" has the devices 0 to 2 of n1, and a waiting job is promised 1 and 3 of it, for
// which others are stopped, and one device of n2, where there is no Slurm.
class PutBacksTest : public testing::Test {
 protected:
  PutBacksTest() {
    executor.preempts = {"batch"};
    cluster.declare(executor);
    ForeignAllocation theirs;
    theirs.id = "7";
    theirs.devices = {0, 1, 2};
    theirs.account = "lab";
    theirs.partition = "batch";
    theirs.may_requeue = true;
    cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), theirs});
    job = cluster.submit({.gpus = 1, .tasks = 3, .priority = 1});
    promise(true);
  }
  void promise(bool cleared) {
    Placement here;
    here.node = NodeId(1);
    here.devices = {{1}, {3}};
    Placement there;
    there.node = NodeId(2);
    there.devices = {{0}};
    cluster.decided(Promise{job, cluster.state.now + seconds(60), {here, there}, cleared});
  }
  std::size_t put_backs() const { return wanted_put_backs(cluster.state, "slurm").size(); }
  std::size_t kept() const { return kept_for_promises(cluster.state, "slurm").size(); }
  std::uint64_t version() const { return wanted(cluster.state, "slurm").version; }

  TestCluster cluster{2, {.gpus = 4}};
  Executor executor{"slurm", "", {"n1"}, true, {{"lab", "default"}}};
  JobId job;
};

TEST_F(PutBacksTest, WhatIsInThePlaceOfOneForWhichOthersAreStopped) {
  const auto wanted = wanted_put_backs(cluster.state, "slurm");
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].id, "7");
  EXPECT_EQ(wanted[0].job, job);
  const auto devices = kept_for_promises(cluster.state, "slurm");
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].node->name, "n1");
  EXPECT_EQ(devices[0].devices, (std::vector<std::int32_t>{1, 3}));
  EXPECT_TRUE(wanted_put_backs(cluster.state, "other").empty());
}

TEST_F(PutBacksTest, TheAnswerIsAnotherOne) {
  const std::uint64_t before = version();
  cluster.tell(ForeignAllocationEnded{"slurm", NodeId(1), "7"});
  const std::uint64_t gone = version();
  EXPECT_NE(gone, before);
  EXPECT_EQ(put_backs(), 0u);
  EXPECT_EQ(kept(), 1u) << "until the job is launched";
  cluster.decided(Withdraw{job});
  EXPECT_NE(version(), gone);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(PutBacksTest, WhereADeviceIsKeptTellsAnswersApart) {
  executor.nodes = {"n[1-2]"};
  cluster.declare(executor);
  const auto version_with = [&](const std::vector<Placement>& places) {
    cluster.decided(Promise{job, cluster.state.now + seconds(60), places, true});
    return version();
  };
  Placement here;
  here.node = NodeId(1);
  here.devices = {{1}};
  Placement there;
  there.node = NodeId(2);
  there.devices = {{3}};
  const std::uint64_t apart = version_with({here, there});
  here.devices = {{1}, {2}, {3}};
  EXPECT_NE(version_with({here}), apart);
}

TEST_F(PutBacksTest, NotForAPromiseThatOnlyWaits) {
  cluster.decided(Withdraw{job});
  promise(false);
  EXPECT_EQ(put_backs(), 0u);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(PutBacksTest, NotWithoutTheSetting) {
  executor.preempts.clear();
  cluster.declare(executor);
  EXPECT_EQ(put_backs(), 0u);
  EXPECT_EQ(kept(), 0u);
}

}  // namespace
}  // namespace dove::core
