#include "core/explain/explain_ahead.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ExplainAhead : public testing::Test {
 protected:
  // The reason that names jobs ahead of it; its count is 0 where nobody is.
  Reason ahead(JobId job, bool blocked = true) {
    ExplainIndex index(cluster.state, plain_policies());
    std::vector<Reason> out;
    add_ahead(index, cluster.job(job), blocked, out);
    EXPECT_LE(out.size(), 1u);
    return out.empty() ? Reason{} : out.front();
  }

  TestCluster cluster{1, {.gpus = 4}};
};

TEST_F(ExplainAhead, WhoCameBeforeIsCountedAndTheNearestNamed) {
  const JobId first = cluster.submit();
  const JobId second = cluster.submit();
  const JobId third = cluster.submit();
  EXPECT_EQ(ahead(first).count, 0);
  const Reason reason = ahead(third);
  EXPECT_EQ(reason.kind, ReasonKind::kAhead);
  EXPECT_EQ(reason.count, 2);
  EXPECT_EQ(reason.other, second) << "the last of them before it";
  EXPECT_EQ(reason.resource, "submission");
  EXPECT_EQ(ahead(second).count, 1);
}

TEST_F(ExplainAhead, APriorityIsNamedWithBothItsValues) {
  const JobId job = cluster.submit({.priority = 1});
  cluster.submit();
  const JobId urgent = cluster.submit({.priority = 5});
  const Reason reason = ahead(job);
  EXPECT_EQ(reason.count, 1) << "the younger one of less priority is behind";
  EXPECT_EQ(reason.other, urgent);
  EXPECT_EQ(reason.resource, "priority");
  EXPECT_EQ(reason.needs, 1);
  EXPECT_EQ(reason.used, 5);
}

TEST_F(ExplainAhead, WhoCannotStartOrIsOfAnotherPoolIsNotAhead) {
  const JobId held = cluster.submit();
  cluster.tell(JobHeld{held});
  JobSpec later = spec_of({});
  later.begin_at = cluster.state.now + seconds(60);
  cluster.submit(later);
  Pool other;
  other.name = "other";
  other.nodes = {"n1"};
  cluster.declare(other);
  JobSpec elsewhere = spec_of({});
  elsewhere.pool = "other";
  cluster.submit(elsewhere);
  const JobId job = cluster.submit();
  EXPECT_EQ(ahead(job).count, 0);
  cluster.tell(JobReleased{held});
  EXPECT_EQ(ahead(job).count, 1);
}

// Where others may pass, the order alone keeps nobody waiting.
TEST_F(ExplainAhead, WhoIsNotBlockedWaitsForNobody) {
  cluster.submit();
  EXPECT_EQ(ahead(cluster.submit(), /*blocked=*/false).count, 0);
}

TEST_F(ExplainAhead, AHigherBandComesFirstWithAllItsJobs) {
  Queue high = queue_of("high");
  high.band = 1;
  cluster.declare(high);
  const JobId job = cluster.submit();
  for (int i = 0; i < 3; ++i) cluster.submit({.queue = "high"});
  const Reason reason = ahead(job);
  EXPECT_EQ(reason.count, 3);
  EXPECT_EQ(reason.resource, "band");
  EXPECT_EQ(reason.needs, 0);
  EXPECT_EQ(reason.used, 1);
}

// Once its next job has started, it may be above its guarantee.
TEST_F(ExplainAhead, OfAQueueBelowItsGuaranteeOneJobCounts) {
  Queue owed = queue_of("owed");
  owed.guaranteed.gpus_milli = 2000;
  cluster.declare(owed);
  const JobId job = cluster.submit({.gpus = 1});
  for (int i = 0; i < 3; ++i) cluster.submit({.gpus = 1, .queue = "owed"});
  const Reason reason = ahead(job);
  EXPECT_EQ(reason.count, 1);
  EXPECT_EQ(reason.resource, "guarantee");
  cluster.submit_and_start({.gpus = 2, .queue = "owed"});
  EXPECT_EQ(ahead(job).count, 0) << "now it has what it is guaranteed";
}

}  // namespace
}  // namespace dove::core
