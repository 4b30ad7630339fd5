#include "core/state/holders/month_use.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

constexpr std::int64_t kHour_ms = 3600 * 1000;
// 2026-11-30 22:00:00 UTC: two hours before the month ends.
constexpr Instant kLate{std::int64_t{1'796'076'000} * 1'000'000};
constexpr std::int32_t kNovember = 56 * 12 + 10;

class MonthUseTest : public testing::Test {
 protected:
  MonthUseTest() { cluster.pass(kLate - cluster.state.now); }

  void limit(const std::string& name, std::int64_t hours = 100) {
    UserLimit of;
    of.name = name;
    of.limits.gpu_ms_month = hours * kHour_ms;
    cluster.declare(of);
  }
  // In GPU minutes.
  std::int64_t used(const std::string& user = "ann") {
    const State& state = cluster.state;
    return month_use_of(state, state.month_by_user, state.usage_by_user, user) / 60'000 / 1000;
  }

  TestCluster cluster{1, {.gpus = 4}};
};

TEST(Months, AreThoseOfTheCalendar) {
  EXPECT_EQ(month_of(Instant{0}), 0);
  EXPECT_EQ(month_of(kLate), kNovember);
  EXPECT_EQ(month_start(kNovember + 1), kLate + seconds(7200));
  const std::int32_t march = 54 * 12 + 2;  // of a leap year
  EXPECT_EQ(month_start(march).us, std::int64_t{1'709'251'200} * 1'000'000);
  for (std::int32_t month = 0; month < 5000; ++month) {
    const Instant start = month_start(month);
    ASSERT_EQ(month_of(start), month);
    ASSERT_EQ(month_of(Instant{start.us - 1}), month - 1);
  }
  EXPECT_EQ(month_name(kNovember), "November 2026");
  EXPECT_EQ(gpu_hours_text(kHour_ms * 25 / 10), "2.5");
  EXPECT_EQ(gpu_hours_text(kHour_ms * 3), "3");
}

TEST_F(MonthUseTest, OnlyWhoHasSuchALimitIsCounted) {
  cluster.submit_and_start({.gpus = 1});
  EXPECT_EQ(month_end(cluster.state), kNever);
  EXPECT_TRUE(cluster.state.month_by_user.empty());
  limit("ann");
  limit("bob");
  EXPECT_EQ(month_end(cluster.state), kLate + seconds(7200));
  cluster.pass(seconds(600));
  EXPECT_EQ(used(), 10) << "from when the limit was declared, also of what ran already";
  EXPECT_FALSE(cluster.state.month_by_user.contains("bob"));
  cluster.tell(ObjectDeleted{"limit", "ann"});
  EXPECT_TRUE(cluster.state.month_by_user.empty());
}

TEST_F(MonthUseTest, IsTheSumOfAttemptsWhateverIsDeclaredMeanwhile) {
  limit("*");
  const JobId two = cluster.submit_and_start({.gpus = 2});
  cluster.pass(seconds(600));
  const JobId one = cluster.submit_and_start({.gpus = 1});
  cluster.pass(seconds(60));
  limit("*", 200);
  cluster.end(two);
  cluster.pass(seconds(60));
  cluster.end(one);
  cluster.pass(seconds(60));
  EXPECT_EQ(used(), 2 * 11 + 1 * 2);
}

TEST_F(MonthUseTest, BeginsAnewWithTheMonthAndCutsAttemptsThere) {
  limit("ann");
  const JobId job = cluster.submit_and_start({.gpus = 1});
  cluster.pass(seconds(7200 - 60));
  EXPECT_EQ(used(), 119);
  cluster.pass(seconds(120));
  EXPECT_EQ(used(), 1);
  cluster.end(job);
  cluster.pass(seconds(31 * 24 * 3600));
  EXPECT_EQ(used(), 0);
}

TEST_F(MonthUseTest, ADomainCountsItsProjectsAndItsUsersOutsideProjects) {
  Domain corp;
  corp.name = "corp";
  corp.limits.gpu_ms_month = kHour_ms;
  cluster.declare(corp);
  UserDeclaration ann;
  ann.name = "ann";
  ann.domain = "corp";
  cluster.declare(ann);
  Project vision;
  vision.name = "vision";
  cluster.declare(vision);
  cluster.submit_and_start({.gpus = 1});
  JobSpec elsewhere = spec_of({.gpus = 1});
  elsewhere.project = "vision";
  const JobId job = cluster.submit(elsewhere);
  cluster.launch(job);
  cluster.start(job);
  EXPECT_EQ(cluster.state.usage_by_domain.at("corp").gpus_milli, 1000);
  cluster.pass(seconds(600));
  vision.domain = "corp";
  cluster.declare(vision);
  EXPECT_EQ(cluster.state.usage_by_domain.at("corp").gpus_milli, 2000);
  EXPECT_EQ(cluster.state.asked_by_domain.at("corp").jobs_waiting, 2);
  cluster.pass(seconds(60));
  const State& state = cluster.state;
  EXPECT_EQ(month_use_of(state, state.month_by_domain, state.usage_by_domain, "corp"),
            std::int64_t{1000} * 60'000 * (11 + 1));
  ann.domain = "";
  cluster.declare(ann);
  EXPECT_EQ(cluster.state.usage_by_domain.at("corp").gpus_milli, 1000);
}

}  // namespace
}  // namespace dove::core
