#include "core/admit/admit.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class AdmitTest : public testing::Test {
 protected:
  bool is_admitted(const JobSpec& spec) { return admit(cluster.state, spec).ok(); }

  TestCluster cluster{1, {.cores = 8, .gpus = 2}};
};

TEST_F(AdmitTest, APlainJobIsAdmittedWithoutWarning) {
  const auto admitted = admit(cluster.state, spec_of({.gpus = 1}));
  ASSERT_TRUE(admitted.ok());
  EXPECT_TRUE(admitted.value().empty());
}

TEST_F(AdmitTest, AJobThatNoNodesCouldHoldIsWarnedOfNotRefused) {
  const auto admitted = admit(cluster.state, spec_of({.gpus = 8}));
  ASSERT_TRUE(admitted.ok());
  EXPECT_FALSE(admitted.value().empty());
}

TEST_F(AdmitTest, UnknownQueuesAndPoolsAreRefused) {
  EXPECT_FALSE(is_admitted(spec_of({.queue = "none such"})));
  JobSpec spec = spec_of({});
  spec.pool = "none such";
  EXPECT_FALSE(is_admitted(spec));
}

TEST_F(AdmitTest, AClosedQueueTakesNoJobs) {
  Queue closed = queue_of("team");
  closed.open = false;
  cluster.declare(closed);
  EXPECT_FALSE(is_admitted(spec_of({.queue = "team"})));
}

}  // namespace
}  // namespace dove::core
