#include "cli/slurm/job_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/slurm/job_fields.h"

namespace dove::cli {
namespace {

nlohmann::json running() {
  return nlohmann::json{{"id", 7},
                        {"name", "j"},
                        {"state", "running"},
                        {"phase", "active"},
                        {"attempt", 2},
                        {"nodes", {"n1"}},
                        {"started_at_us", 1'700'000'000'000'000},
                        {"time_limit_s", 7200}};
}

std::int64_t end_of(const nlohmann::json& job) {
  return queue_json({read_job(job)}, "c").at("jobs").at(0).at("end_time").get<std::int64_t>();
}

// A job that was preempted has what was left of its limit: its controller says when it ends.
TEST(JobJson, TheEndIsThatOfTheLastAttempt) {
  nlohmann::json job = running();
  EXPECT_EQ(end_of(job), 1'700'007'200) << "a former controller does not say it";
  job["ends_by_us"] = 1'700'003'600'000'000;
  EXPECT_EQ(end_of(job), 1'700'003'600);
  EXPECT_EQ(squeue_field(read_job(job), 'L', 1'700'003'500'000'000), "1:40");
  EXPECT_EQ(squeue_field(read_job(job), 'l', 0), "2:00:00");
}

}  // namespace
}  // namespace dove::cli
