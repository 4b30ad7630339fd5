#include "backends/native/links/running_task.h"

#include <gtest/gtest.h>

namespace dove::backends {
namespace {

JobSpec two_groups() {
  JobSpec spec;
  TaskGroup leader;
  leader.name = "leader";
  TaskGroup worker;
  worker.name = "worker";
  worker.tasks = 3;
  spec.groups = {leader, worker};
  return spec;
}

TEST(FindTask, ByRankOrByGroupAndNumber) {
  const JobSpec spec = two_groups();
  for (const auto& [text, rank] : std::vector<std::pair<std::string, Rank>>{
           {"", 0}, {"0", 0}, {"3", 3}, {"leader/0", 0}, {"worker/0", 1}, {"worker/2", 3}}) {
    const Result<Rank> found = find_task(spec, text);
    ASSERT_TRUE(found.ok()) << text;
    EXPECT_EQ(*found, rank) << text;
  }
}

TEST(FindTask, SaysWhatThereIs) {
  const JobSpec spec = two_groups();
  for (const char* text : {"4", "worker/3", "other/0", "worker/", "-1", "x", "/0", "99999999999"}) {
    const Result<Rank> found = find_task(spec, text);
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
  }
  EXPECT_NE(find_task(spec, "4").error().message.find("leader/0 to leader/0, worker/0 to worker/2"),
            std::string::npos);
}

}  // namespace
}  // namespace dove::backends
