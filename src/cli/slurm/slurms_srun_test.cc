#include "cli/slurm/slurms_srun.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dove::cli {
namespace {

using Words = std::vector<std::string>;

Words words_of(std::map<std::string, std::vector<std::string>> values,
               const JobInSlurm& job = {"12", "12", "", "7"}) {
  Invocation invocation;
  invocation.operands = {"prog", "-n", "%j"};
  invocation.values = std::move(values);
  Result<Words> words = slurms_srun_words(invocation, job);
  return words.ok() ? *words : Words{words.error().message};
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(SlurmsSrun, TheAllocationIsSlurmsAndTheTasksKnowOurNumber) {
  EXPECT_EQ(
      words_of({{"ntasks", {"2"}}, {"unbuffered", {""}}}),
      (Words{"--jobid=7", "--ntasks=2", "--unbuffered", "--job-name=prog", "/usr/bin/env",
             "SLURM_JOB_ID=12", "SLURM_JOBID=12", "DOVE_SLURM_JOB_ID=7", "prog", "-n", "%j"}));
}

TEST(SlurmsSrun, AProgramThatSrunReadsItselfComesFirst) {
  EXPECT_EQ(words_of({{"bcast", {"/tmp/p"}}}),
            (Words{"--jobid=7", "--bcast=/tmp/p", "prog", "-n", "%j"}));
}

TEST(SlurmsSrun, NamesOfFilesHaveOurNumbers) {
  const Words words = words_of({{"output", {"/d/%j/%4j_%t%%j"}}, {"error", {"%J"}}});
  EXPECT_TRUE(has(words, "--output=/d/12/0012_%t%%j"));
  EXPECT_TRUE(has(words, "--error=12.%s"));
  EXPECT_TRUE(has(words_of({{"output", {"%A_%a"}}}), "--output=12_%a"));
  EXPECT_TRUE(has(words_of({{"output", {"%A_%a"}}}, {"15", "12", "3", "7"}), "--output=12_3"));
  EXPECT_TRUE(has(words_of({{"chdir", {"/%j"}}}), "--chdir=/%j"));
}

TEST(SlurmsSrun, EitherNumberNamesTheJobAndAnotherOneIsRefused) {
  for (const char* own : {"12", "7"}) {
    EXPECT_EQ(words_of({{"jobid", {own}}}).front(), "--jobid=7");
  }
  EXPECT_NE(words_of({{"jobid", {"13"}}}).front().find("call srun from outside"),
            std::string::npos);
}

}  // namespace
}  // namespace dove::cli
