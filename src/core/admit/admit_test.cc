#include "core/admit/admit.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class AdmitTest : public testing::Test {
 protected:
  bool is_admitted(const JobSpec& spec) { return admit(cluster.state, spec).ok(); }

  // Ann is of the domain "corp", which may have `jobs_waiting` jobs waiting.
  void declare_corp(std::int32_t jobs_waiting) {
    Domain corp;
    corp.name = "corp";
    corp.limits.jobs_waiting = jobs_waiting;
    cluster.declare(corp);
    UserDeclaration ann;
    ann.name = "ann";
    ann.domain = "corp";
    cluster.declare(ann);
  }

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

TEST_F(AdmitTest, AllNodesCanHaveTheSameOfOneListOfFeatures) {
  JobSpec spec = spec_of({});
  spec.features = {"[a|b]", "c|d"};
  EXPECT_TRUE(is_admitted(spec));
  spec.features.push_back("[e|f]");
  const auto refused = admit(cluster.state, spec);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "too_many_choices");
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

TEST_F(AdmitTest, EachJobIsWithinWhatOneJobMayHave) {
  UserLimit limit;
  limit.name = "ann";
  limit.limits.job.gpus_milli = 1000;
  limit.limits.job.nodes = 2;
  limit.limits.job.time_limit = seconds(3600);
  cluster.declare(limit);
  const auto code = [&](const Ask& ask) {
    const auto admitted = admit(cluster.state, spec_of(ask));
    return admitted.ok() ? "" : admitted.error().code;
  };
  EXPECT_EQ(code({.gpus = 1, .limit_s = 3600}), "");
  EXPECT_EQ(code({.gpus = 2, .limit_s = 60}), "job_limit");
  EXPECT_EQ(code({.limit_s = 3601}), "job_limit");
  EXPECT_EQ(code({}), "time_limit_needed");
  EXPECT_EQ(code({.user = "bob"}), "");
  JobSpec wide = spec_of({.tasks = 3, .limit_s = 60});
  wide.groups[0].nodes_min = 3;
  EXPECT_EQ(admit(cluster.state, wide).error().code, "job_limit");
  // The pool's default serves, if it is not longer.
  Pool pool = cluster.state.pools.at("default");
  pool.time_limit_default = seconds(600);
  cluster.declare(pool);
  EXPECT_EQ(code({}), "");
  pool.time_limit_default = seconds(7200);
  cluster.declare(pool);
  EXPECT_EQ(code({}), "job_limit");
}

TEST_F(AdmitTest, ADomainsWaitingJobsCountAndAreRefused) {
  declare_corp(2);
  cluster.submit();
  cluster.submit();
  const auto refused = admit(cluster.state, spec_of({}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "domain_quota");
  EXPECT_NE(refused.error().message.find("jobs: 2 used, 1 asked, limit 2, over by 1"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(is_admitted(spec_of({.user = "bob"})));
}

TEST_F(AdmitTest, ARefusalNamesAllLimitsThatAreInTheWay) {
  declare_corp(1);
  UserLimit limit;
  limit.name = "ann";
  limit.limits.jobs_waiting = 1;
  limit.limits.job.cores = 1;
  limit.limits.job.time_limit = seconds(60);
  cluster.declare(limit);
  cluster.submit();
  const auto refused = admit(cluster.state, spec_of({.cores = 4}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "job_limit") << "the first that is in the way";
  const std::string& said = refused.error().message;
  for (const char* each :
       {"in one job and this one asks for 4", "; also: jobs of user ann run for 60 s at most",
        "; also: domain \"corp\"", "; also: user ann may have 1 jobs waiting"}) {
    EXPECT_NE(said.find(each), std::string::npos) << each << " is missing in: " << said;
  }
}

TEST_F(AdmitTest, AMonthThatIsUsedUpIsWaitedForIfTheDeadlineLetsIt) {
  UserLimit limit;
  limit.name = "ann";
  limit.limits.gpu_ms_month = 3600 * 1000;
  cluster.declare(limit);
  cluster.submit_and_start({.gpus = 1});
  cluster.pass(seconds(2 * 3600));
  const auto waits = admit(cluster.state, spec_of({.gpus = 1}));
  ASSERT_TRUE(waits.ok());
  ASSERT_EQ(waits.value().size(), 1u);
  EXPECT_EQ(
      waits.value()[0],
      "user ann has used 2 of 1 GPU hours in January 1970 (UTC), over by 1: the job waits for "
      "the next month, or until an administrator of the cluster raises the limit");
  JobSpec late = spec_of({.gpus = 1, .limit_s = 3600});
  late.deadline = cluster.state.now + seconds(24 * 3600);
  EXPECT_EQ(admit(cluster.state, late).error().code, "month_used_up");
  late.deadline = cluster.state.now + seconds(40 * 24 * 3600);
  EXPECT_TRUE(is_admitted(late));
  EXPECT_TRUE(admit(cluster.state, spec_of({})).value().empty()) << "it has no GPUs";
}

}  // namespace
}  // namespace dove::core
