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

}  // namespace
}  // namespace dove::core
