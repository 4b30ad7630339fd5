#include "slurm/exposure.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

JobSeen job(std::int64_t id, JobPhase phase, std::int64_t started_s) {
  JobSeen job;
  job.id = id;
  job.phase = phase;
  job.started_s = started_s;
  job.allocations = {{"n1", {}, {}, 0}};
  return job;
}

TEST(Exposure, CountsJobsThatNobodyHeardOf) {
  Exposure exposure;
  exposure.reported({job(1, JobPhase::kEnded, 50), job(2, JobPhase::kHolding, 60)}, 100'000'000);
  EXPECT_EQ(exposure.unseen(), 0u) << "nobody watched then";
  JobSeen cancelled = job(5, JobPhase::kEnded, 101);
  cancelled.allocations.clear();
  const std::vector<JobSeen> later = {job(1, JobPhase::kEnded, 50), job(2, JobPhase::kEnded, 60),
                                      job(3, JobPhase::kEnded, 101),
                                      job(4, JobPhase::kHolding, 101), cancelled};
  exposure.reported(later, 102'000'000);
  EXPECT_EQ(exposure.unseen(), 1u) << "3 came and went";
  exposure.reported(later, 103'000'000);
  EXPECT_EQ(exposure.unseen(), 1u);
}

}  // namespace
}  // namespace dove::slurm
