// What executors hold, in the answer to why a job waits.
#include "core/explain/explain_foreign.h"

#include <gtest/gtest.h>

#include <string>

#include "core/explain/explain.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// A node of two GPUs, both given to a job that waits in Slurm.
TEST(ExplainForeign, RoomForAJobThatWaitsThereIsNamed) {
  TestCluster cluster(1, {.gpus = 2});
  Executor executor;
  executor.name = "slurm";
  executor.nodes = {"n1"};
  executor.yields_to = {"inference"};
  cluster.declare(executor);
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  JobSpec spec = spec_of({.gpus = 2, .user = "ada"});
  spec.executor = "slurm";
  spec.foreign_job = "77";
  const JobId room = cluster.submit(spec);
  cluster.launch(room);
  const JobId ours = cluster.submit({.gpus = 1});
  std::string subject;
  std::string held;
  for (const Reason& reason : explain(cluster.state, plain_policies(), ours)) {
    if (reason.kind != ReasonKind::kForeign) continue;
    subject = reason.subject;
    held = reason.resource;
  }
  EXPECT_EQ(subject, "slurm job 77 of ada, for which room was made,");
  EXPECT_EQ(held, "gpu 0,1");
}

TEST(ExplainForeign, WhatIsKeptForOthersLaterIsNamed) {
  TestCluster cluster(1, {.cores = 4});
  cluster.tell(LevelRaised{kNewestLevel});
  cluster.declare(Executor{"slurm", "", {"n1"}, false, {}});
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  ForeignAllocation kept;
  kept.id = "reservation:course";
  kept.cores = {2, 3};
  kept.started_at = cluster.state.now + seconds(1000);
  kept.ends_by = cluster.state.now + seconds(3000);
  cluster.tell(ForeignAllocationObserved{"slurm", NodeId(1), kept});
  const auto told = [&](const Ask& ask) {
    std::string text;
    for (const Reason& reason : explain(cluster.state, plain_policies(), cluster.submit(ask))) {
      if (reason.kind != ReasonKind::kForeign) continue;
      EXPECT_EQ(reason.until, kept.ends_by);
      text = reason.subject + " " + reason.resource + " " + reason.level;
    }
    return text;
  };
  EXPECT_EQ(told({.cores = 3}), "slurm reservation:course, which is still to come, 2 cores n1");
  EXPECT_EQ(told({.cores = 2}), "");
  EXPECT_EQ(told({.cores = 3, .limit_s = 10}), "") << "it will be gone";
  const JobId promised = cluster.submit({.cores = 4});
  Placement placement;
  placement.node = NodeId(1);
  placement.cores = {0, 1, 2, 3};
  cluster.decided(Promise{promised, kept.ends_by, {placement}, false});
  const auto reasons = explain(cluster.state, plain_policies(), promised);
  ASSERT_EQ(reasons.size(), 1u) << "it knows when, and hears why not before";
  EXPECT_EQ(reasons[0].subject, "slurm reservation:course, which is still to come,");
}

}  // namespace
}  // namespace dove::core
