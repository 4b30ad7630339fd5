// What becomes of the nodes of a script where it does not run itself.
#include <gtest/gtest.h>

#include "core/executors/sync.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ScriptNodes : public testing::Test {
 protected:
  ScriptNodes() {
    executor.runs_jobs = true;
    cluster.declare(executor);
    JobSpec spec = spec_of({.gpus = 1});
    spec.executor = "slurm";
    spec.launch = LaunchMode::kBatch;
    job = cluster.submit(spec);
    cluster.launch(job, {1, 2});
    cluster.start(job);
  }
  // The codes of its second node, once the executor says that all is over there; -1: no news.
  int codes_of_second() const {
    Observation said;
    said.works.push_back({job, 1, "n2", true, {}, 0, 0, ""});
    for (const Event& event : news(cluster.state, executor, said)) {
      const auto* ended = std::get_if<PlacementEnded>(&event);
      if (ended != nullptr && ended->node == NodeId(2))
        return static_cast<int>(ended->exits.size());
    }
    return -1;
  }

  TestCluster cluster{2, {.gpus = 4}};
  Executor executor{"slurm", "", {"n[1-2]"}, true, {}};
  JobId job;
};

TEST_F(ScriptNodes, AreLostWhileItRuns) { EXPECT_EQ(codes_of_second(), 1); }

TEST_F(ScriptNodes, AreGivenUpWhenItStops) {
  cluster.decided(Stop{job, 1, StopReason::kFinished});
  EXPECT_EQ(codes_of_second(), 0);
}

}  // namespace
}  // namespace dove::core
