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

}  // namespace
}  // namespace dove::core
