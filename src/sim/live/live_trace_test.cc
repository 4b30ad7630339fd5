#include "sim/live/live_trace.h"

#include <gtest/gtest.h>

#include "policies/standard.h"

namespace dove::sim {
namespace {

LiveScheduler scheduler(const std::string& order = "priority_fifo") {
  ClusterSettings settings;
  settings.order = order;
  return {policies::standard_policies(), settings};
}

QueueJob job(std::int64_t gpus, std::int64_t submitted_s, std::int64_t run_s,
             std::size_t account = 0) {
  return {Instant{seconds(submitted_s).us}, seconds(run_s), seconds(run_s), gpus, account};
}

std::vector<std::int64_t> waits_s(const QueueTrace& trace, const LiveScheduler& by,
                                  const std::vector<std::int64_t>& nodes = {4}) {
  const Result<QueueResult> result = replay_live_queue(trace, nodes, by);
  EXPECT_TRUE(result.ok()) << result.error().message;
  std::vector<std::int64_t> found;
  for (const Span it : result->waited) found.push_back(it.us / 1'000'000);
  return found;
}

using Seconds = std::vector<std::int64_t>;

TEST(LiveQueue, FirstComeLetsWhoFitsPass) {
  const QueueTrace trace{{job(3, 0, 100), job(4, 1, 50), job(1, 2, 90), job(1, 3, 200)}, {"a"}, 0};
  EXPECT_EQ(waits_s(trace, scheduler()), (Seconds{0, 291, 0, 89}));
}

TEST(LiveQueue, ATimeLimitThatTheTraceTellsIsPromisedOn) {
  QueueTrace trace{{job(3, 0, 100), job(4, 1, 50), job(1, 2, 90), job(1, 3, 2000)}, {"a"}, 0};
  for (QueueJob& it : trace.jobs) it.says_limit = true;
  const Seconds waits = waits_s(trace, scheduler());
  EXPECT_EQ(waits[1], 99);  // the last one does not pass it: it would still hold its GPU then
}

TEST(LiveQueue, AccountsThatAreQueuesShareByTheClustersOrder) {
  QueueTrace trace{{job(4, 0, 10)}, {"a", "b"}, 0, true};
  for (int i = 0; i < 4; ++i) trace.jobs.push_back(job(2, 1, 10, 0));
  for (int i = 0; i < 2; ++i) trace.jobs.push_back(job(2, 2, 10, 1));
  const Seconds waits = waits_s(trace, scheduler("drf"));
  EXPECT_EQ(waits[5], 8);
  EXPECT_EQ(waits[6], 18);
}

TEST(LiveQueue, AJobThatIsTooLargeIsAnError) {
  const QueueTrace trace{{job(5, 0, 1)}, {"a"}, 0};
  const auto result = replay_live_queue(trace, {4}, scheduler());
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("of 5 GPUs, never ended"), std::string::npos);
}

GangJob gang(std::int64_t gpus, std::int64_t submitted_s, std::int64_t work_s,
             std::int64_t loss_s = 0) {
  return {gpus, Instant{seconds(submitted_s).us}, seconds(work_s), seconds(loss_s)};
}

TEST(LiveGangs, RunningJobsLoseTheirOverheadAtArrivalsAndEnds) {
  // The second's arrival at 10 and end at 40 cost the first 5 s each.
  const auto result =
      replay_live_gangs({gang(2, 0, 100, 5), gang(2, 10, 30, 5)}, 1, 4, scheduler());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->completion, (std::vector<Span>{seconds(110), seconds(30)}));
  EXPECT_EQ(result->starts, 2);
}

TEST(LiveGangs, AJobThatNoClusterHoldsIsNamed) {
  const auto result = replay_live_gangs({gang(1, 0, 1), gang(5, 0, 1)}, 1, 4, scheduler());
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("job 2 of the trace wants 5 GPUs"), std::string::npos);
}

TEST(LiveOpenb, WhatHasNoPlaceIsDroppedAndModelsBind) {
  OpenbTrace trace;
  trace.nodes = {{0, 8000, 1 << 20, 2}, {1, 8000, 1 << 20, 1}};
  trace.shapes = {{2000, 10, 1, 600, core::kAnyModel}, {2000, 20, 1, 1000, 2}, {1002, 10, 0, 0}};
  trace.arrivals = {1, 1, 0, 0, 0, 2};
  const auto result = replay_live_openb(trace, scheduler());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->placed, 4);  // the second of the model and the third share have no place
  EXPECT_EQ(result->dropped, 2);
}

TEST(LiveOpenb, ModelsMayBeFeaturesOfNodes) {
  OpenbTrace trace;
  trace.nodes = {{0, 8000, 1 << 20, 2}, {1, 8000, 1 << 20, 1}};
  trace.shapes = {{2000, 20, 1, 1000, 2}, {2000, 20, 1, 1000, 3}, {2000, 20, 1, 1000, 0}};
  trace.arrivals = {0, 0, 1, 1, 2};
  const auto result = replay_live_openb(trace, scheduler(), OpenbJobs::kFeatures);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->placed, 3) << "one of the second model, two of either, none of no model";
}

TEST(LiveOpenb, TasksMayBeSplitOrHalved) {
  OpenbTrace trace;
  trace.nodes = {{0, 8000, 1 << 20, 2}, {0, 8000, 1 << 20, 1}};
  trace.shapes = {{2000, 10, 3, 1000, core::kAnyModel}, {2000, 10, 1, 800, core::kAnyModel}};
  const auto placed = [&](std::vector<std::int32_t> arrivals, OpenbJobs jobs) {
    trace.arrivals = std::move(arrivals);
    const auto result = replay_live_openb(trace, scheduler(), jobs);
    EXPECT_TRUE(result.ok());
    return result.ok() ? result->placed : -1;
  };
  EXPECT_EQ(placed({0}, OpenbJobs::kTasks), 0) << "no node has three GPUs";
  EXPECT_EQ(placed({0}, OpenbJobs::kSplit), 1);
  EXPECT_EQ(placed({1, 1, 1, 1}, OpenbJobs::kTasks), 3);
  EXPECT_EQ(placed({1, 1, 1, 1}, OpenbJobs::kHalves), 3) << "a fifth of each GPU is left";
}

}  // namespace
}  // namespace dove::sim
