#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/published/openb_published_fgd.h"
#include "sim/published/openb_replay.h"
#include "sim/published/placements.h"
#include "sim/traces/csv_table.h"
#include "sim/traces/openb_trace.h"

namespace dove::sim {
namespace {

class Openb : public testing::Test {
 protected:
  Openb()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("dove-openb.{}.{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~Openb() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  Result<OpenbTrace> read(const std::string& nodes, const std::string& tasks,
                          const std::string& arrivals) const {
    return read_openb(
        {write("nodes.csv", nodes), write("tasks.csv", tasks), write("arrivals.txt", arrivals)});
  }

  // The message of the failure, from the file's name on.
  std::string error(const std::string& nodes, const std::string& tasks,
                    const std::string& arrivals) const {
    const Result<OpenbTrace> trace = read(nodes, tasks, arrivals);
    if (trace.ok()) return "none";
    const std::string& message = trace.error().message;
    return message.substr(folder_.string().size() + 1);
  }

 private:
  std::filesystem::path folder_;
};

const std::string kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "b,8000,1024,2,V100\n"
    "a,4000,1024,1,T4\n";
const std::string kTasks =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "t1,1000,10,1,600,,LS\n"
    "t0,2000,20,1,1000,V100|A10,LS\n"
    "t2,1000,0,0,0,,BE\n";
const std::string kArrivals = "# ranks, then tasks\n7 3\n1 0 1 1 2\n";

TEST_F(Openb, ReadsNodesByRankAndTasksByName) {
  const Result<OpenbTrace> trace = read(kNodes, kTasks, kArrivals);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->nodes.size(), 2u);
  EXPECT_EQ(trace->nodes[0].cpu_milli, 8000);  // b has the smaller rank
  EXPECT_EQ(trace->nodes[1].memory_bytes, std::int64_t{1024} << 20);
  EXPECT_EQ(trace->gpus_milli(), 3000);
  EXPECT_EQ(trace->arrivals, (std::vector<std::int32_t>{0, 1, 0, 0, 2}));
  EXPECT_EQ(trace->shapes[0].device_milli, 600);
  EXPECT_EQ(trace->shapes[1].models, std::uint64_t{1} << trace->nodes[0].model);
  ASSERT_EQ(trace->typical.size(), 3u);
  EXPECT_EQ(trace->typical[0].shape.cpu_milli, 2000);  // equal counts: the larger first
  EXPECT_EQ(trace->typical[1].shape.device_milli, 600);
}

TEST_F(Openb, RareTasksAreNotTypical) {
  std::string tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n";
  for (int i = 0; i < 95; ++i) tasks += fmt::format("t{},1000,{},1,500\n", i, i);
  for (int i = 95; i < 100; ++i) tasks += fmt::format("t{},{},1,1,1000\n", i, i);
  const Result<OpenbTrace> trace = read(kNodes, tasks, "0 1\n0\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->typical.size(), 1u);
  EXPECT_EQ(trace->typical[0].count, 95);
}

TEST_F(Openb, ErrorsNameThePlaceAndTheRemedy) {
  EXPECT_EQ(error("sn,cpu_milli\n", kTasks, kArrivals),
            "nodes.csv:1:1: there is no column 'memory_mib', only sn, cpu_milli; is it the right "
            "file?");
  EXPECT_EQ(error(kNodes + "c,x,1024,1,T4\n", kTasks, kArrivals),
            "nodes.csv:4:3: cpu_milli is 'x'; write a whole number from 0 to 100000000");
  EXPECT_EQ(error(kNodes + "b,8000,1024,1,T4\n", kTasks, kArrivals),
            "nodes.csv:4:1: 'b' is there twice; names must differ");
  EXPECT_EQ(error(kNodes, kTasks + "t3,1,1,1\n", kArrivals),
            "tasks.csv:5:9: 4 fields where the heading has 7; give one for each column");
  EXPECT_EQ(error(kNodes, kTasks + "t3,1,1,2,500,,LS\n", kArrivals),
            "tasks.csv:5:10: gpu_milli is '500'; write a whole number from 1000 to 1000");
  EXPECT_EQ(error(kNodes, kTasks + "t3,1,\"1\",0,0,,LS\n", kArrivals),
            "tasks.csv:5:6: a quote; fields are written without, and have no comma");
  EXPECT_EQ(error(kNodes, kTasks, "1 2\n0 1 3\n"),
            "arrivals.txt:2:5: the number of a task is '3'; write a whole number from 0 to 2");
  EXPECT_EQ(error(kNodes, kTasks, "1 2 3\n0\n"),
            "arrivals.txt:1:1: 3 ranks for 2 nodes; give one for each node, of the same list");
  EXPECT_EQ(error(kNodes, kTasks, "1 1\n0\n"),
            "arrivals.txt:1:1: rank 1 is there twice; ranks must differ");
  EXPECT_EQ(error(kNodes, kTasks, "1 2\n"),
            "arrivals.txt:2:1: two lines of numbers are needed: the ranks of the nodes, then the "
            "arriving tasks");
  EXPECT_EQ(error("", kTasks, kArrivals),
            "nodes.csv:1:1: the file is empty; its first line names the columns");
}

TEST_F(Openb, DroppedTasksStayUnallocated) {
  const Result<OpenbTrace> trace = read(kNodes, kTasks, kArrivals);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const OpenbResult result =
      replay_openb(*trace, *find_published_placement("best-fit"), OpenbOptions{});
  EXPECT_EQ(result.placed, 4);
  EXPECT_EQ(result.dropped, 1);  // the third share of 600, once the V100s hold 600 and 1000
  // Arrived 20, 53, 73, 93, 93 %: what is in use then is 20, 53.33, 73.33, 73.33, 73.33.
  ASSERT_EQ(result.unallocated_pct.size(), 2u);
  EXPECT_NEAR(result.unallocated_pct.at(73), 26.67, 1e-9);
  EXPECT_NEAR(result.unallocated_pct.at(93), 26.67, 1e-9);
}

TEST_F(Openb, PublishedRoundingChangesTiesOfTasksWithoutDevicesOnly) {
  std::string tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
  for (int i = 0; i < 390; ++i) {
    const bool cpu_only = i % 3 == 0;
    tasks += fmt::format("t{:03},{},1,{},{},\n", i, cpu_only ? 2000 + 37 * (i * i % 23) : 900,
                         cpu_only ? 0 : 1, cpu_only ? 0 : 130 + 10 * (i * i % 77));
  }
  const Result<OpenbTrace> trace =
      read("sn,cpu_milli,memory_mib,gpu,model\na,8000,1024,8,V100\n", tasks, "0\n0\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const core::ScorePolicy& fgd = *find_published_placement("fgd");
  const auto exact = fgd.prepare(trace->typical, trace->classes);
  const OpenbPublishedFgd published(fgd.prepare(trace->typical, trace->classes), *trace);
  int differ = 0;
  for (std::int32_t milli = 0; milli < 1000; milli += 7) {
    core::FreeState node = core::all_free(trace->nodes[0]);
    node.devices_milli = {milli, 1000, 1000, 1000, 370, 190, 530, 1000};
    node.cpu_milli = 4300;  // tasks without devices change causes, the others fit all the same
    for (const core::MixEntry& entry : trace->typical) {
      if (!core::fits(node, entry.shape)) continue;
      const std::int64_t right = exact->score(node, entry.shape).value;
      const std::int64_t found = published.score(node, entry.shape).value;
      if (right == found) continue;
      ++differ;
      EXPECT_EQ(entry.shape.devices, 0);
      EXPECT_EQ(right, 50);
      EXPECT_EQ(found, 49);
    }
  }
  EXPECT_GT(differ, 0);
}

TEST_F(Openb, EveryPolicyGivesTheSameTwice) {
  std::string nodes = "sn,cpu_milli,memory_mib,gpu,model\n";
  for (int i = 0; i < 20; ++i) {
    nodes += fmt::format("n{:02},{},100000,{},{}\n", i, 16'000 + 8000 * (i % 3), 1 << (i % 4),
                         i % 2 == 0 ? "A" : "B");
  }
  std::string tasks = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
  std::string order;
  std::string ranks;
  for (int i = 0; i < 20; ++i) ranks += fmt::format("{} ", (i * 7) % 20);
  for (int i = 0; i < 300; ++i) {
    const int gpus = i % 5 == 0 ? 0 : i % 7 == 0 ? 2 : 1;
    tasks += fmt::format("t{:03},{},64,{},{},{}\n", i, 1000 + 500 * (i % 8), gpus,
                         gpus == 0   ? 0
                         : gpus == 2 ? 1000
                                     : 100 + 90 * (i % 11),
                         i % 9 == 0 ? "A" : "");
    order += fmt::format("{} ", (i * 37) % 300);
  }
  const Result<OpenbTrace> trace = read(nodes, tasks, ranks + "\n" + order + "\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  for (const PublishedPlacement& it : published_placements()) {
    const OpenbResult once = replay_openb(*trace, *it.policy, OpenbOptions{});
    EXPECT_EQ(once.placed + once.dropped, 300) << it.name;
    EXPECT_GT(once.placed, 60) << it.name;
    EXPECT_GT(once.dropped, 0) << it.name;
    const OpenbResult again = replay_openb(*trace, *it.policy, OpenbOptions{});
    EXPECT_EQ(once.unallocated_pct, again.unallocated_pct) << it.name;
  }
}

}  // namespace
}  // namespace dove::sim
