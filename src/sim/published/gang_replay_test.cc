#include "sim/published/gang_replay.h"

#include <gtest/gtest.h>

#include <fstream>

#include "sim/published/orders.h"

namespace dove::sim {
namespace {

constexpr const char* kHeading =
    "job_id,num_gpu,submit_time,iterations,model_name,iteration_time\n";

std::string file(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "gang_replay_test." + name;
  std::ofstream(path) << text;
  return path;
}

GangJob gang(std::int64_t gpus, std::int64_t submitted_s, std::int64_t work_s,
             std::int64_t overhead_s = 0) {
  return {gpus, Instant{seconds(submitted_s).us}, seconds(work_s), seconds(overhead_s)};
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::vector<std::int64_t> completions_s(const std::vector<GangJob>& jobs, std::string_view policy,
                                        const GangCluster& cluster = {1, 4, Packing::kNodes}) {
  Result<GangResult> result = replay_gangs(jobs, cluster, *find_job_order(policy));
  EXPECT_TRUE(result.ok());
  std::vector<std::int64_t> found;
  for (const Span it : result->completion) found.push_back(it.us / 1'000'000);
  return found;
}

TEST(GangReplay, ShortestRemainingPreempts) {
  const std::vector<GangJob> jobs = {gang(4, 0, 100), gang(4, 10, 20)};
  EXPECT_EQ(completions_s(jobs, "srtf"), (std::vector<std::int64_t>{120, 20}));
  EXPECT_EQ(completions_s(jobs, "fifo"), (std::vector<std::int64_t>{100, 110}));
}

TEST(GangReplay, RunningJobsLoseTheirOverheadAtEachEventButTheirEnd) {
  // The second's arrival at 10 and end at 40 cost the first 5 s each; ends cost nobody their own.
  const std::vector<GangJob> jobs = {gang(2, 0, 100, 5), gang(2, 10, 30, 5)};
  EXPECT_EQ(completions_s(jobs, "fifo"), (std::vector<std::int64_t>{110, 30}));
  // An event sooner than the overhead takes only what has passed.
  const std::vector<GangJob> quick = {gang(2, 0, 100, 5), gang(1, 2, 50, 0), gang(1, 4, 50, 0)};
  EXPECT_EQ(completions_s(quick, "fifo")[0], 100 + 2 + 2 + 5 + 2);
}

TEST(GangReplay, AWideGangTakesWholeNodesAndTheRestOnOneMore) {
  const GangCluster cluster{3, 4, Packing::kNodes};
  // 6 = a whole node and two GPUs: beside 3 + 3 on two nodes no second rest fits.
  const std::vector<GangJob> jobs = {gang(3, 0, 10), gang(3, 0, 10), gang(6, 0, 10)};
  EXPECT_EQ(completions_s(jobs, "fifo", cluster), (std::vector<std::int64_t>{10, 10, 20}));
  EXPECT_EQ(completions_s(jobs, "fifo", {3, 4, Packing::kSum}),
            (std::vector<std::int64_t>{10, 10, 10}));
}

TEST(GangReplay, TiresiasDemotesLongJobsBehindNewOnes) {
  // After 3 250 GPU-s the first is at level 1; the second, new, takes its place at 2 000 s.
  const std::vector<GangJob> jobs = {gang(4, 0, 5000), gang(4, 2000, 500)};
  EXPECT_EQ(completions_s(jobs, "tiresias-l"), (std::vector<std::int64_t>{5500, 500}));
}

TEST(GangReplay, AJobThatNoClusterHoldsIsNamed) {
  const std::vector<GangJob> jobs = {gang(1, 0, 1), gang(5, 0, 1)};
  const auto result = replay_gangs(jobs, {1, 4, Packing::kNodes}, *find_job_order("fifo"));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("job 2 of the trace wants 5 GPUs"), std::string::npos);
}

TEST(GangTrace, ReadsWorkAndOverheads) {
  const auto jobs = read_gang_trace(
      file("good", std::string(kHeading) + "0,2,1500,1000,bert,100\n1,2,0,10,odd,1.5\n"),
      file("overheads", "# seconds\nnum_gpu,bert\n2,7\n"));
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ((*jobs)[0].submitted_at.us, 1'500'000);
  EXPECT_EQ((*jobs)[0].work.us, 101'500'000);
  EXPECT_EQ((*jobs)[0].switch_overhead, seconds(7));
  EXPECT_EQ((*jobs)[1].work.us, 15'225);
  EXPECT_EQ((*jobs)[1].switch_overhead, seconds(10));
}

TEST(GangTrace, ErrorsNameThePlaceAndTheRemedy) {
  const std::string overheads = file("overheads2", "num_gpu,bert\n2,7\n");
  const auto message = [&](const std::string& text) {
    const auto jobs = read_gang_trace(file("bad", text), overheads);
    return jobs.ok() ? std::string("no error") : jobs.error().message;
  };
  const std::string heading = kHeading;
  expect_contains(message(heading + "0,2,0,ten,bert,100\n"), "bad:2:7: iterations is 'ten'");
  expect_contains(message(heading + "0,2,0,10,bert\n"), "bad:2:14: 5 fields");
  expect_contains(message(heading + "0,4,0,10,bert,100\n"), "no line for 4 GPUs; add one");
  expect_contains(message(heading + "0,2,-1,10,bert,100\n"), "bad:2:5: submit_time is '-1'");
  expect_contains(message(heading), "no job below the heading");
  expect_contains(message("a,b\n1,2\n"), "there is no column 'num_gpu'");
  expect_contains(message(""), "the file is empty");
}

}  // namespace
}  // namespace dove::sim
