#include <gtest/gtest.h>

#include "core/executors/sync.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class SyncListed : public testing::Test {
 protected:
  SyncListed() {
    cluster.declare(executor);
    tell({});
  }
  // The number of events that it came to.
  std::size_t tell(const Observation& said) {
    const std::vector<Event> events = news(cluster.state, executor, said);
    for (const Event& event : events) cluster.tell(event);
    EXPECT_TRUE(news(cluster.state, executor, said).empty()) << "said twice, nothing is new";
    return events.size();
  }

  TestCluster cluster{2, {.gpus = 4}};
  Executor executor{"slurm", "", {"n1"}, true, {}};
};

TEST_F(SyncListed, ANodeThatItDoesNotListIsDownThere) {
  const auto there = [&] { return cluster.node(1).executors[0]; };
  Observation said;
  said.nodes = {{"other", ExecutorNodeState::kUp, ""}};
  said.complete = false;
  tell(said);
  EXPECT_EQ(there().state, ExecutorNodeState::kUp) << "not all was said";
  said.complete = true;
  tell(said);
  EXPECT_EQ(there().state, ExecutorNodeState::kDown);
  EXPECT_EQ(there().why, "it does not list this node");
  tell({});
  EXPECT_EQ(there().state, ExecutorNodeState::kDown) << "that says nothing of nodes";
  said.nodes = {{"n1", ExecutorNodeState::kUp, ""}};
  EXPECT_EQ(tell(said), 1u);
  EXPECT_EQ(there().state, ExecutorNodeState::kUp);
}

// Slurm's PriorityFlags=CALCULATE_RUNNING: the log would grow by all that runs, every few minutes.
TEST_F(SyncListed, APriorityThatIsComputedAnewIsNoNews) {
  Observation said;
  for (const char* id : {"7", "8"}) {
    SaidAllocation& one = said.allocations.emplace_back();
    one.node = "n1";
    one.allocation.id = id;
  }
  tell(said);
  for (SaidAllocation& one : said.allocations) one.allocation.priority = 100;
  EXPECT_EQ(tell(said), 0u);
  said.allocations[0].allocation.ends_by = cluster.state.now + seconds(60);
  EXPECT_EQ(tell(said), 1u);
  EXPECT_EQ(cluster.node(1).executors[0].foreign[0].priority, 100) << "it comes with other news";
  EXPECT_EQ(cluster.node(1).executors[0].foreign[1].priority, 0);
}

}  // namespace
}  // namespace dove::core
