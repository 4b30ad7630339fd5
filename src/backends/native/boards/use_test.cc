#include "backends/native/boards/use.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::backends {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;

class UseBoardTest : public testing::Test {
 protected:
  // At `s` seconds by the controller, of the ten before.
  void tell(std::int64_t s, std::optional<std::int32_t> gpu, std::uint32_t node = 1) {
    protocol::Use said;
    said.key = {job, 1};
    said.span_us = 10 * kSecond_us;
    said.gpu = gpu;
    said.gpu_memory = 100;
    said.cpu = 200;
    board.take(cluster.state, NodeId(node), said, s * kSecond_us, Instant{s * kSecond_us});
  }
  JobUse seen(std::int64_t s, std::int64_t window_s = 60) const {
    return board.use_of(cluster.job(job), seconds(window_s), s * kSecond_us);
  }

  core::TestCluster cluster{2, {.gpus = 1}};
  JobId job = cluster.submit_and_start({.gpus = 1});
  UseBoard board;
};

TEST_F(UseBoardTest, TheMeanIsOfTheWholeWindowOrOfNone) {
  for (std::int64_t s = 10; s <= 50; s += 10) tell(s, 1000);
  EXPECT_FALSE(seen(50).gpu.mean) << "50 of 60 s";
  EXPECT_EQ(seen(50).gpu.lately, 1000);
  tell(60, 0);
  EXPECT_EQ(seen(60).gpu.mean, 833);
  EXPECT_EQ(seen(60).gpu.lately, 0);
  EXPECT_EQ(seen(60).cpu.mean, 200);
  EXPECT_EQ(seen(60, 10).gpu.mean, 0);
}

TEST_F(UseBoardTest, WhatWasNotMeasuredIsNotKnown) {
  for (std::int64_t s = 10; s <= 60; s += 10) tell(s, s == 30 ? std::nullopt : std::optional(0));
  EXPECT_FALSE(seen(60).gpu.mean);
  EXPECT_EQ(seen(60, 20).gpu.mean, 0);
  tell(100, 0);
  EXPECT_FALSE(seen(100, 60).gpu.mean) << "30 s were told to nobody";
  EXPECT_FALSE(seen(161).is_told) << "too long ago";
  EXPECT_FALSE(seen(161).gpu.lately);
}

TEST_F(UseBoardTest, OfAGangTheBusiestNodeCountsAndNoneMayBeSilent) {
  job = cluster.submit_and_start({.gpus = 1, .tasks = 2}, {1, 2});
  // Node 1 has one device, which the first job holds: the second has none there.
  tell(60, 0, 1);
  EXPECT_FALSE(seen(60, 10).is_told);
  tell(60, 900, 2);
  EXPECT_TRUE(seen(60, 10).is_told);
  EXPECT_EQ(seen(60, 10).gpu.mean, 900);
}

TEST_F(UseBoardTest, PointsBecomeFewerAndTheirMeanStays) {
  std::int64_t s = 0;
  for (int i = 0; i < 3000; ++i) tell(s += 10, i % 2 == 0 ? 100 : 300);
  const auto day = seen(s, 20'000).gpu.mean;
  ASSERT_TRUE(day);
  EXPECT_NEAR(*day, 200, 2);
}

TEST_F(UseBoardTest, OthersAttemptsAreNotTheNodesToTellOf) {
  tell(60, 0, 2);
  EXPECT_FALSE(seen(60, 10).is_told);
  tell(60, 0, 1);
  EXPECT_TRUE(seen(60, 10).is_told);
  board.decided(EndJob{job, Outcome::kCompleted, 0});
  EXPECT_FALSE(seen(60, 10).is_told);
}

TEST_F(UseBoardTest, TheAppsWordIsAnInstant) {
  protocol::Use said;
  said.key = {job, 1};
  said.span_us = 10 * kSecond_us;
  said.app_told = true;
  said.unused_us = 7 * kSecond_us;
  board.take(cluster.state, NodeId(1), said, 0, Instant{100 * kSecond_us});
  EXPECT_EQ(seen(0).last_input, Instant{93 * kSecond_us});
  EXPECT_FALSE(seen(0).is_app_told) << "0 is never";
  board.take(cluster.state, NodeId(1), said, 1, Instant{100 * kSecond_us});
  EXPECT_TRUE(seen(1).is_app_told);
}

TEST_F(UseBoardTest, TheCourseIsToldInEqualStepsFromTheFirstPoint) {
  for (std::int64_t s = 10; s <= 40; s += 10) tell(s, s == 30 ? std::nullopt : std::optional(s));
  const UseCourse course = board.course_of(cluster.job(job), 45 * kSecond_us);
  EXPECT_EQ(course.begin, Instant{0});
  EXPECT_EQ(course.step, seconds(10));
  EXPECT_EQ(course.gpu.mean, (std::vector<UseCourse::Part>{10, 20, std::nullopt, 40}));
  EXPECT_EQ(course.gpu.least, course.gpu.mean);
  EXPECT_EQ(course.cpu.mean, (std::vector<UseCourse::Part>{200, 200, 200, 200}));
  ASSERT_EQ(course.nodes.size(), 1u);
  EXPECT_EQ(course.nodes[0].gpu, 40);
}

TEST_F(UseBoardTest, TheCourseOfAGangHasTheMeanAndTheLeastOfItsNodes) {
  job = cluster.submit_and_start({.tasks = 2}, {1, 2});
  tell(10, 5000, 1);
  tell(20, 5000, 1);
  tell(20, 1000, 2);
  const UseCourse course = board.course_of(cluster.job(job), 20 * kSecond_us);
  EXPECT_EQ(course.gpu.mean, (std::vector<UseCourse::Part>{5000, 3000}));
  EXPECT_EQ(course.gpu.least, (std::vector<UseCourse::Part>{5000, 1000}));
  ASSERT_EQ(course.nodes.size(), 2u);
  EXPECT_EQ(course.nodes[0].node, NodeId(2)) << "the one that uses least";
  tell(30, std::nullopt, 2);
  const UseCourse later = board.course_of(cluster.job(job), 30 * kSecond_us);
  EXPECT_EQ(later.nodes.at(0).node, NodeId(1)) << "of the other nothing is known";
}

TEST_F(UseBoardTest, TheCourseOfAWeekHasNoMoreSteps) {
  for (std::int64_t s = 10; s <= 7 * 86'400; s += 600) tell(s, 1000);
  const std::int64_t now_us = 7 * 86'400 * kSecond_us;
  const UseCourse course = board.course_of(cluster.job(job), now_us);
  EXPECT_LE(course.gpu.mean.size(), static_cast<std::size_t>(UseBoard::kSteps_max));
  EXPECT_GE(course.gpu.mean.size(), static_cast<std::size_t>(UseBoard::kSteps_max) - 2);
  EXPECT_TRUE(course.nodes.empty()) << "told too long ago";
}

TEST_F(UseBoardTest, TheCourseOfAnEndedJobIsKeptAndBounded) {
  for (std::int64_t s = 20; s <= 40; s += 10) tell(s, 100 * s);
  cluster.decided(EndJob{job, Outcome::kCompleted, 0});
  board.decided(EndJob{job, Outcome::kCompleted, 0});
  const UseCourse kept = board.course_of(cluster.job(job), 3600 * kSecond_us);
  EXPECT_EQ(kept.begin, Instant{10 * kSecond_us});
  EXPECT_EQ(kept.gpu.mean, (std::vector<UseCourse::Part>{2000, 3000, 4000}));
  EXPECT_TRUE(kept.nodes.empty());
  const JobId first = job;
  for (std::size_t i = 1; i < UseBoard::kEnded_max; ++i) {
    job = cluster.submit_and_start({.gpus = 1});
    tell(50, 0);
    cluster.decided(EndJob{job, Outcome::kCompleted, 0});
    board.decided(EndJob{job, Outcome::kCompleted, 0});
  }
  EXPECT_NE(board.course_of(cluster.job(first), 0).step, Span{});
  job = cluster.submit_and_start({.gpus = 1});
  tell(50, 0);
  board.decided(EndJob{job, Outcome::kCompleted, 0});
  EXPECT_EQ(board.course_of(cluster.job(first), 0).step, Span{});
  board.decided(ForgetJob{job, true});
  cluster.decided(EndJob{job, Outcome::kCompleted, 0});
  EXPECT_EQ(board.course_of(cluster.job(job), 0).step, Span{});
}

}  // namespace
}  // namespace dove::backends
