#include "core/preempt/victim_search.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"
#include "core/preempt/victims.h"

namespace dove::core {
namespace {

class VictimSearchTest : public testing::Test {
 protected:
  JobId start(std::int32_t gpus, std::uint32_t node) {
    const JobId id = cluster.submit_and_start({.gpus = gpus, .preempt = Preempt::kRestart}, {node});
    running.push_back(id);
    return id;
  }
  std::vector<JobId> stopped(const JobSpec& spec) {
    const JobId id = cluster.submit(spec);
    const Job& job = cluster.job(id);
    const RankedNodes ranked = ranked_nodes(cluster.state);
    Stoppable stoppable(cluster.state, running, {});
    VictimSearch search(cluster.state, first_fit, job, ranked, {},
                        find_victims(cluster.state, job, ranked, stoppable, {}));
    std::vector<JobId> found;
    const auto preemption = search.find();
    if (!preemption) return found;
    for (const Victim& each : preemption->victims) found.push_back(each.job);
    return found;
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 4}};
  FirstFit first_fit;
  std::vector<JobId> running;
};

TEST_F(VictimSearchTest, SparesWhatIsNotNeeded) {
  const JobId one = start(2, 1);
  start(2, 1);
  start(4, 2);
  const auto found = stopped(spec_of({.gpus = 2, .priority = 5}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0] == one || found[0] == running[1]);
}

TEST_F(VictimSearchTest, NobodyIsStoppedInVain) {
  start(4, 1);
  start(4, 2);
  EXPECT_TRUE(stopped(spec_of({.gpus = 5, .priority = 5})).empty());
}

TEST_F(VictimSearchTest, AGangNeedsRoomOnAllItsNodes) {
  const JobId one = start(4, 1);
  const JobId other = start(4, 2);
  JobSpec gang = spec_of({.gpus = 4, .tasks = 2, .priority = 5});
  gang.groups[0].tasks_per_node = 1;
  auto found = stopped(gang);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<JobId>{one, other}));
}

}  // namespace
}  // namespace dove::core
