#include "core/state/learned/service.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

TEST(Service, LevelsGrowFourfold) {
  EXPECT_EQ(service_level(0), 0);
  EXPECT_EQ(service_level(599'999), 0);
  EXPECT_EQ(service_level(600'000), 1);
  EXPECT_EQ(service_level(2'400'000), 2);
  EXPECT_EQ(service_level(kNever.us - 1), kServiceLevels - 1);
}

TEST(Service, ALevelEndsAfterTheLeastRunThatIsPastIt) {
  for (const std::int64_t size_milli : {1, 300, 1000, 7000, 64'000}) {
    const Span end = service_level_end(0, size_milli);
    EXPECT_EQ(service_level(service_ms(end, size_milli)), 1) << size_milli;
    EXPECT_EQ(service_level(service_ms(Span{end.us - 1}, size_milli)), 0) << size_milli;
  }
  EXPECT_EQ(service_level_end(kServiceLevels - 1, 1000).us, kNever.us);
}

TEST(Service, SpentIsSharedOutOverTheLevels) {
  ServiceHistory history;
  history.spent(500'000, 3'000'000);
  EXPECT_EQ(history.spent_ms[0], 100'000);
  EXPECT_EQ(history.spent_ms[1], 1'800'000);
  EXPECT_EQ(history.spent_ms[2], 600'000);
}

TEST(Service, WithoutAHistoryMoreServiceHadIsMoreToCome) {
  const ServiceOutlook found = outlook(ServiceHistory{});
  for (std::size_t level = 1; level < found.left_ms.size(); ++level) {
    EXPECT_GT(found.left_ms[level], found.left_ms[level - 1]);
  }
}

TEST(Service, LearnsThatJobsPastALevelEndSoon) {
  ServiceHistory history;  // half end in the first minute, the others after 10 000 s, sharp
  for (int job = 0; job < 500; ++job) {
    history.spent(0, 60'000);
    history.finished(60'000, milliseconds(60'000));
    history.spent(0, 10'000'000);
    history.finished(10'000'000, milliseconds(10'000'000));
  }
  const ServiceOutlook found = outlook(history);
  const auto last = static_cast<std::size_t>(service_level(10'000'000));
  EXPECT_LT(found.left_ms[0], 1'000'000);
  EXPECT_GT(found.left_ms[1], found.left_ms[0] * 4);
  EXPECT_LT(found.left_ms[last], found.left_ms[1]);  // near its end: before those half way there
}

TEST(Service, LearnsTheMeanRun) {
  ServiceHistory history;
  EXPECT_EQ(outlook(history).mean_run, seconds(600));
  for (int job = 0; job < 599; ++job) history.finished(0, seconds(job % 2 == 0 ? 0 : 2000));
  EXPECT_EQ(outlook(history).mean_run.us / 1'000'000, (299 * 2000 + 600) / 600);
}

TEST(Service, RunningJobsCountAgainstAnEarlyEnd) {
  ServiceHistory ended;
  for (int job = 0; job < 10; ++job) {
    ended.spent(0, 100'000);
    ended.finished(100'000, milliseconds(100'000));
  }
  ServiceHistory with_running = ended;
  for (int job = 0; job < 90; ++job) with_running.spent(0, 590'000);
  EXPECT_GT(outlook(with_running).left_ms[0], 4 * outlook(ended).left_ms[0]);
}

}  // namespace
}  // namespace dove::core
