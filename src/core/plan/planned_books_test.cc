#include <gtest/gtest.h>

#include "core/plan/plan.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// Two nodes of two GPUs. One of the first is held for 100 s; the other one of it is promised, to a
// job that starts in 20 s.
class PlannedBooksTest : public testing::Test {
 protected:
  PlannedBooksTest() {
    cluster.submit_and_start({.gpus = 1, .limit_s = 100});
    const JobId waiting = cluster.submit({.gpus = 1, .limit_s = 50});
    const Placement last = first_free(cluster.node(1), *cluster.job(waiting).spec);
    cluster.decided(Promise{waiting, in(20), {last}, false});
    note_promises(cluster.state, plan);
  }
  Instant in(std::int64_t s) const { return cluster.state.now + seconds(s); }
  PlannedBooks from(Instant at) { return {cluster.state, plan, {&spec, 0, JobId{}, at, in(30)}}; }

  TestCluster cluster{2, {.gpus = 2}};
  Plan plan;
  JobSpec spec = spec_of({.gpus = 1});
};

TEST_F(PlannedBooksTest, AreTheNodesOwnWhereNothingIsPromised) {
  PlannedBooks planned = from(in(0));
  EXPECT_EQ(planned.books(NodeId(2)), nullptr);
  EXPECT_TRUE(planned.is_open(NodeId(2)));
  EXPECT_FALSE(planned.is_spare(NodeId(2)));
  EXPECT_FALSE(planned.takes_spares());
  spec.exclusive = true;
  EXPECT_TRUE(planned.is_open(NodeId(2)));
  cluster.submit_and_start({}, {2});
  EXPECT_FALSE(planned.is_open(NodeId(2)));
}

TEST_F(PlannedBooksTest, LackWhatIsPromisedWhileItStays) {
  PlannedBooks planned = from(in(0));
  ASSERT_NE(planned.books(NodeId(1)), nullptr);
  EXPECT_EQ(planned.books(NodeId(1))->devices.free_milli[1], 0);
  EXPECT_TRUE(planned.is_open(NodeId(1)));
}

TEST_F(PlannedBooksTest, OfALaterStartAreOfThatInstant) {
  PlannedBooks planned = from(in(10));
  ASSERT_NE(planned.books(NodeId(2)), nullptr);
  EXPECT_EQ(planned.books(NodeId(2))->devices.free_milli[0], kWholeDevice_milli);
}

}  // namespace
}  // namespace dove::core
