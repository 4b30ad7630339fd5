#include "core/state/executors/kept_reservations.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class KeptReservations : public testing::Test {
 protected:
  KeptReservations() { cluster.declare(Executor{"slurm", "", {"n1"}, true, {}}); }

  TestCluster cluster{1, {}};
};

TEST_F(KeptReservations, TheNameSaysWhoseItIs) {
  const Executor* keeper = keeper_of(cluster.state, reservation_name("slurm", "a:b"));
  ASSERT_NE(keeper, nullptr);
  EXPECT_EQ(keeper->name, "slurm");
  for (const char* name : {"", "slurm", "course", "slurm2:course", ":course"}) {
    EXPECT_EQ(keeper_of(cluster.state, name), nullptr) << name;
  }
}

TEST_F(KeptReservations, TheyGoWithTheirExecutor) {
  for (const char* name : {"slurm:course", "slurm2:course", "course"}) {
    Reservation one;
    one.name = name;
    one.nodes = {"n1"};
    cluster.declare(one);
  }
  cluster.tell(ObjectDeleted{"executor", "slurm"});
  EXPECT_FALSE(cluster.state.reservations.contains("slurm:course"));
  EXPECT_EQ(cluster.state.reservations.size(), 2u);
}

}  // namespace
}  // namespace dove::core
