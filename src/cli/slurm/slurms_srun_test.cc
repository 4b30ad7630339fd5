#include "cli/slurm/slurms_srun.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

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

// What is ignored is inherited. Then this process would wait for its sruns without end.
TEST(SlurmsSrun, AStepOnSeveralNodesEndsWhereTheEndOfChildrenIsIgnored) {
  const std::string folder = testing::TempDir() + "dove-slurms-srun";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/srun") << "#!/bin/sh\nprintf '\\001dove-step-begun\\n' >&2; exit 3\n";
  std::filesystem::permissions(folder + "/srun", std::filesystem::perms::owner_all);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"DOVE_JOB_ID", "12"},
                                            {"DOVE_SLURM_JOB_ID", "999999970"},
                                            {"DOVE_SLURM_ALLOCATIONS", "999999970,999999971"},
                                            {"DOVE_NODELIST", "n[0-1]"},
                                            {"DOVE_NODE_ADDRESSES", "10.0.0.1,10.0.0.2"},
                                            {"DOVE_TASKS_PER_NODE", "1(x2)"},
                                            {"DOVE_CPUS_PER_NODE", "1(x2)"},
                                            {"TMPDIR", folder},
                                            {"PATH", folder}}) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    ::signal(SIGCHLD, SIG_IGN);
    Invocation invocation;
    invocation.operands = {"prog"};
    const Result<int> code = run_slurms_srun(invocation);
    ::_exit(code.ok() ? *code : 255);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dove::cli
