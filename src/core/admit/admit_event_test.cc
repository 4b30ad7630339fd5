#include <gtest/gtest.h>

#include "core/admit/admit.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class AdmitEvent : public testing::Test {
 protected:
  bool may(Event event) { return admit(cluster.state, plain_policies(), event).ok(); }

  TestCluster cluster{1};
};

TEST_F(AdmitEvent, AnEndedJobIsNotCancelled) {
  const JobId job = cluster.submit_and_start();
  EXPECT_TRUE(may(JobCancelRequested{job}));
  cluster.end(job);
  EXPECT_FALSE(may(JobCancelRequested{job}));
  EXPECT_FALSE(may(JobCancelRequested{JobId(99)}));
}

TEST_F(AdmitEvent, AQueueNeedsAParentThatExists) {
  EXPECT_FALSE(may(ObjectApplied{queue_of("team", "none such")}));
  cluster.declare(queue_of("org"));
  EXPECT_TRUE(may(ObjectApplied{queue_of("team", "org")}));
}

TEST_F(AdmitEvent, QueuesFormNoCircle) {
  cluster.declare(queue_of("org"));
  cluster.declare(queue_of("team", "org"));
  EXPECT_FALSE(may(ObjectApplied{queue_of("org", "team")}));
}

TEST_F(AdmitEvent, AnUnknownOrderIsRefused) {
  Queue queue = queue_of("team");
  queue.order = "oldest";
  EXPECT_TRUE(may(ObjectApplied{queue}));
  queue.order = "none such";
  EXPECT_FALSE(may(ObjectApplied{queue}));
}

}  // namespace
}  // namespace dove::core
