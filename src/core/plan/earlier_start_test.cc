#include "core/plan/earlier_start.h"

#include <gtest/gtest.h>

#include "core/place/reservation.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// All four devices of the node are in use, and promised to a job that waits.
class EarlierStartTest : public testing::Test {
 protected:
  EarlierStartTest() {
    running = cluster.submit_and_start({.gpus = 4, .limit_s = 900});
    waiting = cluster.submit({.gpus = 4, .limit_s = 100});
    promise.start_at = cluster.state.now + seconds(2000);
    Placement& placement = promise.placements.emplace_back();
    placement.node = NodeId(1);
    for (std::int32_t device = 0; device < 4; ++device) placement.devices.push_back({device});
  }
  std::optional<Instant> find() {
    Plan plan;
    return earlier_start(cluster.state, plan, waiting, promise, entry);
  }

  TestCluster cluster{1, {.gpus = 4}};
  JobId running, waiting;
  PromiseRecord promise;
  PlannedPromise entry;
};

TEST_F(EarlierStartTest, IsWhenTheLastOfItsPlacesIsFree) {
  EXPECT_EQ(find(), places_free_at(cluster.state, cluster.job(running)));
  cluster.end(running);
  EXPECT_EQ(find(), cluster.state.now);
}

TEST_F(EarlierStartTest, IsNoneWhereTheyAreNotFreeSooner) {
  promise.start_at = places_free_at(cluster.state, cluster.job(running));
  EXPECT_EQ(find(), std::nullopt);
  EXPECT_EQ(entry.blocker, NodeId(1)) << "as long as its plan stands nobody needs to look again";
}

}  // namespace
}  // namespace dove::core
