#include "slurm/accounting/ended_jobs.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

// As sacct of Slurm 22.05 writes them.
constexpr const char kTwo[] =
    "1|1795988137|1795988140|n[0-1]|lab|billing=2,cpu=2,gres/gpu=2,mem=200M,node=2|x|y\n"
    "4|1795988130|1795988138|n0|lab|billing=1,cpu=1,mem=1.50G,node=1|wrap\n";

TEST(EndedJobs, LinesOfSacctAreReadInTheOrderOfTheirStarts) {
  const EndedJobs read = read_ended_jobs(kTwo);
  EXPECT_EQ(read.not_understood, 0u);
  ASSERT_EQ(read.jobs.size(), 2u);
  EXPECT_EQ(read.jobs[0].use,
            (PastUse{4, "lab", 1795988130, 1795988138, 1, 0, std::int64_t{1536} << 20}));
  EXPECT_EQ(read.jobs[1].use,
            (PastUse{1, "lab", 1795988137, 1795988140, 2, 2000, std::int64_t{200} << 20}));
  EXPECT_EQ(read.jobs[1].name, "x|y");
  EXPECT_EQ(read.jobs[1].nodes, "n[0-1]");
}

TEST(EndedJobs, GpusThatAreCountedByTypeAloneCountToo) {
  const auto gpus = [](const std::string& tres) {
    const EndedJobs read = read_ended_jobs("1|5|6|n0|lab|" + tres + "|a\n");
    return read.jobs.empty() ? -1 : read.jobs[0].use.gpus_milli;
  };
  EXPECT_EQ(gpus("cpu=1,gres/gpu:h200_0=1,gres/gpu:h200_1=2"), 3000);
  EXPECT_EQ(gpus("cpu=1,gres/gpu=3,gres/gpu:h200_0=1,gres/gpu:h200_1=2"), 3000);
  EXPECT_EQ(gpus("cpu=1,gres/gpumem=3"), 0);
}

TEST(EndedJobs, OddLinesAreCountedAndThoseThatNeverStartedPassedOver) {
  const EndedJobs read = read_ended_jobs(
      "3|1795988137|1795988137|None assigned|lab||wrap\n"
      "5|None|1795988137|None assigned|lab||wrap\n"
      "nonsense\n"
      "\n"
      "6|1795988137|Unknown|n0|lab|cpu=1|runs\n"
      "7|1795988137|1795988130|n0|lab|cpu=1|backwards\n"
      "8.batch|1795988137|1795988140|n0|lab|cpu=1|step\n"
      "9|1795988137|1795988140|n0|lab|cpu=-1|odd\n"
      "10|1795988137|1795988140|n0|lab|cpu=1,mem=7X|odd\n"
      "11|1795988137|1795988140|n0|lab|cpu=99999999999999999999|odd\n"
      "12|1795988137|1795988140|n0|lab|cpu=1|whole\n"
      "13|1795988137|1795988140|n0|lab|cpu=1|cu");
  ASSERT_EQ(read.jobs.size(), 1u);
  EXPECT_EQ(read.jobs[0].use.id, 12);
  EXPECT_EQ(read.not_understood, 9u);
}

TEST(EndedJobs, OfItsNodesOnlyThoseOfTheExecutorCount) {
  const EndedJobs read = read_ended_jobs("1|5|6|n[0-3]|lab|cpu=8,gres/gpu=2,mem=400M|a\n");
  const EndedJob& job = read.jobs.at(0);
  EXPECT_EQ(use_on(job, {"n[0-9]"}), job.use);
  const PastUse part = use_on(job, {"n3", "m1"});
  EXPECT_EQ(part.cores, 2);
  EXPECT_EQ(part.gpus_milli, 500);
  EXPECT_EQ(part.memory_bytes, std::int64_t{100} << 20);
  EXPECT_EQ(use_on(job, {"m1"}).cores, 0);
}

}  // namespace
}  // namespace dove::slurm
