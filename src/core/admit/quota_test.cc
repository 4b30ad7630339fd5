#include "core/admit/quota.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class QuotaTest : public testing::Test {
 protected:
  void limit_ann(const Limits& limits) { cluster.declare(UserLimit{"ann", limits, {}}); }
  // "user ann: cores 3/8 (+1)": what is used, of what, and the part that is only asked for.
  std::vector<std::string> rows(const std::vector<std::string>& projects = {}) {
    std::vector<std::string> found;
    for (const QuotaRow& row : quota_of(cluster.state, "ann", projects)) {
      found.push_back(fmt::format("{} {}: {} {}/{} (+{})", row.level, row.name, row.resource,
                                  row.used, row.limit, row.asked));
    }
    return found;
  }
  // The first refusal; "": none.
  std::string refusal(const JobSpec& spec) {
    for (const Result<void>& verdict : check_job_limits(cluster.state, spec)) {
      if (!verdict.ok()) return verdict.error().message;
    }
    return "";
  }
  bool says(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  }

  TestCluster cluster{2, {.cores = 8, .gpus = 4}};
};

using Rows = std::vector<std::string>;

TEST_F(QuotaTest, WhatIsNotLimitedIsNoRow) {
  EXPECT_EQ(rows(), Rows{});
  Limits limits;
  limits.cores = 8;
  limits.jobs_waiting = 5;
  limit_ann(limits);
  cluster.submit_and_start({.cores = 3});
  cluster.submit({.cores = 4});
  EXPECT_EQ(rows(), (Rows{"user ann: jobs_waiting 1/5 (+0)", "user ann: cores 3/8 (+0)"}));
}

TEST_F(QuotaTest, OfProjectsWhatWaitingJobsAskForCountsToo) {
  Project course;
  course.name = "course";
  course.limits.gpus_milli = 4000;
  cluster.declare(course);
  JobSpec spec = spec_of({.gpus = 1});
  spec.project = "course";
  const JobId first = cluster.submit(spec);
  cluster.launch(first);
  cluster.start(first);
  cluster.submit(spec);
  EXPECT_EQ(rows({"course", "deleted"}), (Rows{"project course: gpus_milli 2000/4000 (+1000)"}));
}

TEST_F(QuotaTest, OneJobMayBeTooLargeByItself) {
  Limits limits;
  limits.job.gpus_milli = 2000;
  limits.job.nodes = 1;
  limits.job.time_limit = seconds(60);
  limit_ann(limits);
  EXPECT_EQ(refusal(spec_of({.gpus = 2, .limit_s = 60})), "");
  EXPECT_TRUE(says(refusal(spec_of({.gpus = 3, .limit_s = 60})),
                   "user ann may have 2 GPUs in one job and this one asks for 3, over by 1"));
  JobSpec wide = spec_of({.tasks = 2, .limit_s = 60});
  wide.groups[0].tasks_per_node = 1;
  EXPECT_TRUE(says(refusal(wide), "may have 1 nodes in one job and this one asks for 2"));
  EXPECT_TRUE(says(refusal(spec_of({.limit_s = 61})), "run for 60 s at most"));
  EXPECT_TRUE(says(refusal(spec_of({})), "has no time limit"));
  EXPECT_EQ(refusal(spec_of({.gpus = 3, .user = "bob"})), "");
}

// The limit by which the job will be stopped counts, whoever said it.
TEST_F(QuotaTest, ThePoolsTimeLimitCountsWhereTheJobHasNone) {
  Limits limits;
  limits.job.time_limit = seconds(60);
  limit_ann(limits);
  Pool pool = cluster.state.pools.at("default");
  pool.time_limit_default = seconds(90);
  cluster.declare(pool);
  EXPECT_TRUE(says(refusal(spec_of({})), "its pool's time limit is 90 s, over by 30 s"));
}

TEST_F(QuotaTest, AJobThatCannotWaitForTheNextMonthIsRefused) {
  Limits limits;
  limits.gpu_ms_month = 3'600'000;  // an hour
  limit_ann(limits);
  const JobSpec spec = spec_of({.gpus = 1});
  EXPECT_EQ(month_warning(cluster.state, spec), "");
  cluster.submit_and_start({.gpus = 4});
  cluster.pass(seconds(1800));
  JobSpec soon = spec;
  soon.deadline = cluster.state.now + seconds(600);
  EXPECT_TRUE(says(month_warning(cluster.state, spec), "user ann has used 2 of 1 GPU hours"));
  EXPECT_TRUE(check_month(cluster.state, spec).ok());
  EXPECT_FALSE(check_month(cluster.state, soon).ok());
  EXPECT_TRUE(check_month(cluster.state, spec_of({.user = "bob"})).ok());
  JobSpec cores_only = spec_of({});
  cores_only.deadline = soon.deadline;
  EXPECT_TRUE(check_month(cluster.state, cores_only).ok()) << "it takes no GPU hours";
}

TEST_F(QuotaTest, WhatIsOverIsSaidAsPeopleWriteIt) {
  Reason broken;
  broken.resource = "gpus_milli";
  broken.used = 1500;
  broken.needs = 3000;
  broken.limit = 4000;
  EXPECT_EQ(over_text(broken), "GPUs: 1.500 used, 3 asked, limit 4, over by 0.500");
  broken.resource = "memory_bytes";
  broken.used = broken.needs = std::int64_t{512} << 20;
  broken.limit = std::int64_t{768} << 20;
  EXPECT_EQ(over_text(broken),
            "memory: 512 MiB used, 512 MiB asked, limit 768 MiB, over by 256 MiB");
}

}  // namespace
}  // namespace dove::core
