#include "sim/published/queue_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/random.h"
#include "policies/standard.h"
#include "sim/live/live_trace.h"
#include "sim/published/orders.h"
#include "sim/published/queue_nodes.h"
#include "sim/queue_figures.h"

namespace dove::sim {
namespace {

std::string file(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "queue_replay_test." + name;
  std::ofstream(path) << text;
  return path;
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

QueueJob job(std::int64_t gpus, std::int64_t submitted_s, std::int64_t run_s,
             std::size_t account = 0) {
  return {Instant{seconds(submitted_s).us}, seconds(run_s), seconds(run_s), gpus, account};
}

QueuePolicy policy(std::string_view order, Admission admission, bool by_share = false) {
  return {find_job_order(order), admission, by_share};
}

std::vector<std::int64_t> waits_s(const std::vector<QueueJob>& jobs, const QueuePolicy& by,
                                  const std::vector<std::int64_t>& nodes = {4}) {
  const QueueTrace trace{jobs, {"a", "b"}, 0};
  const Result<QueueResult> result = replay_queue(trace, nodes, by);
  EXPECT_TRUE(result.ok());
  std::vector<std::int64_t> found;
  for (const Span it : result->waited) found.push_back(it.us / 1'000'000);
  return found;
}

using Seconds = std::vector<std::int64_t>;

TEST(QueueNodes, BestFitAndWholeNodesForWideJobs) {
  QueueNodes nodes({8, 8, 8, 2});
  const Taken one = *nodes.find(1);
  EXPECT_EQ(one[0].node, 3u);  // the one that it leaves the least on
  nodes.allocate(one);
  nodes.allocate(*nodes.find(5));
  const Taken wide = *nodes.find(11);
  ASSERT_EQ(wide.size(), 2u);
  EXPECT_EQ(wide[0].node, 1u);
  EXPECT_EQ(wide[1].node, 0u);  // its remainder of 3 beside the 5
  nodes.allocate(wide);
  EXPECT_EQ(nodes.free(), 26 - 1 - 5 - 11);
  EXPECT_TRUE(nodes.find(9));
  EXPECT_FALSE(nodes.find(10));
  nodes.release(wide);
  EXPECT_TRUE(nodes.has(wide));
}

// A wide job ahead of narrow ones, behind one that runs for 100 s.
const std::vector<QueueJob> kBlocked = {job(3, 0, 100), job(4, 1, 50), job(1, 2, 90),
                                        job(1, 3, 200)};

TEST(QueueReplay, PassingOverTakesWhoFits) {
  EXPECT_EQ(waits_s(kBlocked, policy("fifo", Admission::kPassOver)), (Seconds{0, 291, 0, 89}));
}

TEST(QueueReplay, AStrictHeadBlocksEverybody) {
  EXPECT_EQ(waits_s(kBlocked, policy("fifo", Admission::kHeadBlocks)), (Seconds{0, 99, 148, 147}));
}

TEST(QueueReplay, EasyFillsUpWithoutDelayingTheHead) {
  // The third ends before the head can start at 100 s, the fourth would not.
  EXPECT_EQ(waits_s(kBlocked, policy("fifo", Admission::kReserveHead)), (Seconds{0, 99, 0, 147}));
}

TEST(QueueReplay, EasyLetsTheLongOnesHaveWhatTheHeadLeaves) {
  const std::vector<QueueJob> jobs = {job(3, 0, 100), job(3, 1, 50), job(1, 2, 1000)};
  EXPECT_EQ(waits_s(jobs, policy("fifo", Admission::kReserveHead)), (Seconds{0, 99, 0}));
}

TEST(QueueReplay, DrfAlternatesBetweenAccounts) {
  std::vector<QueueJob> jobs = {job(4, 0, 10)};
  for (int i = 0; i < 4; ++i) jobs.push_back(job(2, 1, 10, 0));
  for (int i = 0; i < 2; ++i) jobs.push_back(job(2, 2, 10, 1));
  EXPECT_EQ(waits_s(jobs, policy("drf", Admission::kPassOver, true)),
            (Seconds{0, 9, 19, 29, 29, 8, 18}));
}

TEST(QueueReplay, NeverGivesAGpuTwiceAndLosesNoJob) {
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    QueueTrace trace;
    trace.accounts = {"a", "b"};
    std::int64_t at_s = 0;
    for (int i = 0; i < 300; ++i) {
      at_s += static_cast<std::int64_t>(random.below(20));
      trace.jobs.push_back(job(1 + static_cast<std::int64_t>(random.below(10)), at_s,
                               1 + static_cast<std::int64_t>(random.below(300)), random.below(2)));
    }
    for (const auto admission :
         {Admission::kPassOver, Admission::kHeadBlocks, Admission::kReserveHead}) {
      const Result<QueueResult> result =
          replay_queue(trace, {4, 4, 4}, policy("drf", admission, true));
      ASSERT_TRUE(result.ok());
      std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // at, GPUs; ends first
      for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
        const QueueJob& it = trace.jobs[i];
        ASSERT_GE(result->waited[i].us, 0);
        const std::int64_t start_us = it.submitted_at.us + result->waited[i].us;
        changes.emplace_back(start_us, it.gpus);
        changes.emplace_back(start_us + it.run.us, -it.gpus);
      }
      std::sort(changes.begin(), changes.end());
      std::int64_t used = 0;
      for (const auto& change : changes) {
        used += change.second;
        ASSERT_LE(used, 12);
      }
    }
  }
}

// Where nobody may be stopped and nothing is promised, first come is first come in both engines.
TEST(QueueReplay, EqualsTheLiveSchedulerUnderFirstCome) {
  Random random(3);
  for (int round = 0; round < 10; ++round) {
    QueueTrace trace;
    trace.accounts = {"a", "b"};
    std::int64_t at_s = 0;
    for (int i = 0; i < 200; ++i) {
      at_s += static_cast<std::int64_t>(random.below(20));
      trace.jobs.push_back(job(1 + static_cast<std::int64_t>(random.below(8)), at_s,
                               1 + static_cast<std::int64_t>(random.below(300)), random.below(2)));
    }
    const std::vector<std::int64_t> nodes = {8};
    const auto published =
        replay_queue(trace, nodes, {find_job_order("fifo"), Admission::kPassOver, false});
    const auto live =
        replay_live_queue(trace, nodes, {policies::standard_policies(), ClusterSettings{}});
    ASSERT_TRUE(published.ok() && live.ok());
    EXPECT_EQ(published->waited, live->waited);
    EXPECT_EQ(published->last_end, live->last_end);
  }
}

TEST(QueueReplay, AJobThatIsTooLargeIsAnError) {
  const QueueTrace trace{{job(5, 0, 1)}, {"a"}, 0};
  const auto result = replay_queue(trace, {4}, policy("fifo", Admission::kPassOver));
  ASSERT_FALSE(result.ok());
  expect_contains(result.error().message, "wants 5 GPUs and the 1 nodes with 4 GPUs");
}

TEST(QueueFigures, WorstAccountIsTheOneThatIsSlowedDownMost) {
  const QueueTrace trace{{job(4, 0, 100, 0), job(4, 0, 100, 1)}, {"a", "b"}, 0};
  const auto result = replay_queue(trace, {4}, policy("fifo", Admission::kPassOver));
  const QueueFigures found = figures_of(trace, *result, 4);
  EXPECT_EQ(found.worst.name, "b");
  EXPECT_DOUBLE_EQ(found.worst.slowdown, 2);
  EXPECT_DOUBLE_EQ(found.wait_s, 50);
  EXPECT_DOUBLE_EQ(found.jct_s, 150);
  EXPECT_DOUBLE_EQ(found.use_pct, 100);
  EXPECT_EQ(found.jobs_waited, 1);
}

TEST(PhillyTrace, ReadsAndSorts) {
  const auto trace = read_philly(file("philly",
                                      "timestamp,duration,num_gpus,gpu_time,cluster\n"
                                      "2017-12-31 23:59:59,66.5,2,133.0,x\n"
                                      "2016-02-29 00:00:00,1.0,1,1.0,y\n"
                                      "2016-03-01 00:00:00,0.0,1,0.0,y\n\n"));
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->left_out, 1);
  EXPECT_EQ(trace->jobs[0].submitted_at.us, 0);
  // From a leap day to the last second of the next year.
  EXPECT_EQ(trace->jobs[1].submitted_at, Instant{} + seconds(672 * 86'400 - 1));
  EXPECT_EQ(trace->jobs[1].run, milliseconds(66'500));
  EXPECT_EQ(trace->accounts[trace->jobs[1].account], "x");
}

TEST(PhillyTrace, ErrorsNameThePlace) {
  const std::string heading = "timestamp,duration,num_gpus,cluster\n";
  const auto message = [&](const std::string& row) {
    const auto trace = read_philly(file("bad", heading + row));
    return trace.ok() ? std::string("no error") : trace.error().message;
  };
  expect_contains(message("2017-13-01 00:00:00,1,1,x\n"), "bad:2:1: timestamp is '2017-13-01");
  expect_contains(message("2017-12-01 00:00:00,-1,1,x\n"), "bad:2:21: duration is '-1'");
  expect_contains(message("2017-12-01 00:00:00,1,1,a b\n"), "bad:2:25: cluster has other");
  expect_contains(message(""), "no job that ran");
}

TEST(SwfTrace, ReadsJobsAndLeavesOutWhatNeverRan) {
  const auto trace = read_swf(file("swf",
                                   "; Version: 2.2\n"
                                   "1 100 5 60 4 -1 -1 8 120 -1 1 7 1 1 1 1 -1 -1\n"
                                   "  2 40 5 -1 4 -1 -1 4 120 -1 5 7 1 1 1 1 -1 -1\n"
                                   "3 50 5 60 4 -1 -1 -1 -1 -1 1 9 1 1 1 1 -1 -1\n"));
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->left_out, 1);
  EXPECT_EQ(trace->jobs[0].gpus, 4);
  EXPECT_EQ(trace->jobs[0].limit, seconds(60));
  EXPECT_EQ(trace->jobs[1].gpus, 8);
  EXPECT_EQ(trace->jobs[1].limit, seconds(120));
  EXPECT_EQ(trace->jobs[1].submitted_at.us, seconds(50).us);
}

TEST(SwfTrace, ErrorsNameThePlace) {
  const auto message = [&](const std::string& text) {
    const auto trace = read_swf(file("bad.swf", text));
    return trace.ok() ? std::string("no error") : trace.error().message;
  };
  expect_contains(message("; x\n1 2 3\n"), "bad.swf:2:6: 3 fields where SWF has 18");
  expect_contains(message("1 x 5 60 4 -1 -1 8 120 -1 1 7 1 1 1 1 -1 -1\n"),
                  "bad.swf:1:3: submit time is 'x'");
  expect_contains(message("1 1 5 60 4 -1 -1 8 120 -1 1 7 1 1 1 1 -1 -1 0\n"), "more than 18");
}

}  // namespace
}  // namespace dove::sim
