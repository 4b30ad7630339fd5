#include "server/activity.h"

#include <gtest/gtest.h>

namespace dove::server {
namespace {

TEST(ActivityTest, TheLatestInputCounts) {
  Activity activity;
  EXPECT_FALSE(activity.last_input(JobId(7)).has_value());
  activity.saw_input(JobId(7), Instant{20});
  activity.saw_input(JobId(7), Instant{10});
  EXPECT_EQ(activity.last_input(JobId(7)), Instant{20});
  EXPECT_FALSE(activity.last_input(JobId(8)).has_value());
}

TEST(ActivityTest, JobsThatAreOverAreForgotten) {
  Activity activity;
  activity.saw_input(JobId(7), Instant{1});
  activity.saw_input(JobId(8), Instant{2});
  activity.keep([](JobId job) { return job == JobId(8); });
  EXPECT_EQ(activity.size(), 1U);
  EXPECT_EQ(activity.last_input(JobId(8)), Instant{2});
}

}  // namespace
}  // namespace dove::server
