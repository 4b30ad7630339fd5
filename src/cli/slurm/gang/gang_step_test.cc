#include "cli/slurm/gang/gang_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/slurm/gang/srun_lines.h"
#include "cli/slurm/step_sizes.h"

namespace dove::cli {
namespace {

using Words = std::vector<std::string>;
using Values = std::map<std::string, std::vector<std::string>>;

GangContext context() {
  GangContext made;
  made.job = {"12", "12", "", "70"};
  made.nodes = {{"n0", "10.0.0.1", "70", 2, 2}, {"n1", "10.0.0.2", "71", 2, 2}};
  made.workdir = "/data";
  made.environment = {{"DOVE_NODELIST", "n[0-1]"},
                      {"DOVE_CPUS_PER_NODE", "2(x2)"},
                      {"PATH", "/bin"},
                      {"SLURM_NNODES", "2"},
                      {"SLURM_NTASKS", "4"},
                      {"SLURM_CONF", "/etc/slurm.conf"},
                      {"SLURM_ARRAY_TASK_ID", "3"}};
  return made;
}

Result<GangStep> step_of(Values values, const GangContext& context) {
  Invocation invocation;
  invocation.operands = {"prog", "-n", "%j"};
  invocation.values = std::move(values);
  const Result<nlohmann::json> sizes = step_sizes(invocation);
  if (!sizes.ok()) return sizes.error();
  return gang_step(invocation, *sizes, context);
}

GangStep step_of(Values values = {}) {
  Result<GangStep> step = step_of(std::move(values), context());
  EXPECT_TRUE(step.ok()) << step.error().message;
  return std::move(*step);
}

std::string refused(Values values) {
  const Result<GangStep> step = step_of(std::move(values), context());
  return step.ok() ? "" : step.error().message;
}

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The arguments of the tasks: rank, output and error output of each.
Words tasks_of(const SrunCall& call) {
  const auto begin = std::find(call.words.begin(), call.words.end(), "dove-step") + 4;
  return {begin, std::find(begin, call.words.end(), "--")};
}

TEST(GangStep, EachNodeHasASrunInItsAllocation) {
  const GangStep step = step_of({{"unbuffered", {""}}, {"ntasks-per-node", {"2"}}});
  ASSERT_EQ(step.calls.size(), 2u);
  EXPECT_EQ(step.tasks, 4);
  const Words& words = step.calls[1].words;
  EXPECT_EQ(step.calls[1].first_rank, 2);
  EXPECT_EQ(words.front(), "--jobid=71");
  for (const char* word :
       {"--nodes=1", "--ntasks=2", "--unbuffered", "SLURM_NODEID=1", "SLURM_NTASKS=4",
        "SLURM_NNODES=2", "SLURM_STEP_NODELIST=n[0-1]", "SLURM_TASKS_PER_NODE=2(x2)",
        "SLURM_GTIDS=2,3", "SLURM_JOB_ID=12", "DOVE_SLURM_JOB_ID=71"}) {
    EXPECT_TRUE(has(words, word)) << word;
  }
  EXPECT_FALSE(has(words, "--ntasks-per-node=2"));
  EXPECT_EQ(tasks_of(step.calls[1]), (Words{"2", "", "", "3", "", ""}));
  EXPECT_EQ(Words(words.end() - 3, words.end()), (Words{"prog", "-n", "%j"}));
}

TEST(GangStep, WhatTellsOfThisProcesssOwnStepSteersNothing) {
  const GangStep step = step_of();
  EXPECT_TRUE(has(step.environment, "SLURM_CONF=/etc/slurm.conf"));
  EXPECT_TRUE(has(step.environment, "SLURM_ARRAY_TASK_ID=3"));
  EXPECT_TRUE(has(step.environment, "PATH=/bin"));
  EXPECT_FALSE(has(step.environment, "SLURM_NNODES=2"));
  EXPECT_FALSE(has(step.environment, "SLURM_NTASKS=4"));
}

TEST(GangStep, RanksMeetOnItsFirstNode) {
  const GangStep step = step_of({{"relative", {"1"}}});
  ASSERT_EQ(step.calls.size(), 1u);
  EXPECT_TRUE(has(step.calls[0].words, "MASTER_ADDR=10.0.0.2"));
  EXPECT_TRUE(has(step.calls[0].words, "WORLD_SIZE=2"));
  GangContext own = context();
  own.environment["MASTER_ADDR"] = "there";
  own.environment["WORLD_SIZE"] = "4";
  own.environment["DOVE_GIVEN"] = "WORLD_SIZE=4";
  const Result<GangStep> mine = step_of({}, own);
  EXPECT_FALSE(has(mine->calls[0].words, "MASTER_ADDR=10.0.0.1")) << "the user's own";
  EXPECT_TRUE(has(mine->calls[0].words, "WORLD_SIZE=4"));
}

TEST(GangStep, FilesAreOfTheStepOfNodesOrOfTasks) {
  GangStep step = step_of({{"output", {"%j.out"}}});
  for (const SrunCall& call : step.calls) {
    EXPECT_EQ(call.output.path, "/data/12.out");
    EXPECT_EQ(call.error.path, "/data/12.out");
  }
  step = step_of({{"output", {"/x/%N%%.out"}}, {"error", {"none"}}});
  EXPECT_EQ(step.calls[1].output.path, "/x/n1%.out");
  EXPECT_EQ(step.calls[1].error.path, "/dev/null");
  step = step_of({{"output", {"%j_%2t.out"}}});
  EXPECT_EQ(tasks_of(step.calls[1]),
            (Words{"2", "/data/12_02.out", "&1", "3", "/data/12_03.out", "&1"}));
  EXPECT_NE(refused({{"output", {"%J.out"}}}).find("use %j and %t"), std::string::npos);
}

TEST(GangStep, ItsNumberIsThatOfTheJobsStepOnAllNodes) {
  GangContext own = context();
  own.step = 3;
  Result<GangStep> step = step_of({{"output", {"%J-%2s.out"}}, {"error", {"%s.%t"}}}, own);
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_EQ(step->calls[1].output.path, "/data/12.3-03.out");
  EXPECT_EQ(tasks_of(step->calls[1]), (Words{"2", "", "/data/3.2", "3", "", "/data/3.3"}));
  const auto has = [](const SrunCall& call, const char* word) {
    return std::find(call.words.begin(), call.words.end(), word) != call.words.end();
  };
  EXPECT_TRUE(has(step->calls[1], "SLURM_STEP_ID=3"));
  step = step_of({{"nodes", {"1"}}, {"ntasks", {"1"}}, {"output", {"%J-%s"}}}, own);
  ASSERT_TRUE(step.ok()) << step.error().message;
  EXPECT_TRUE(has(step->calls[0], "--output=12.3-3")) << "a step of one node counts, too";
}

TEST(GangStep, OutputMayBeThatOfOneTask) {
  const GangStep step = step_of({{"output", {"2"}}});
  EXPECT_EQ(tasks_of(step.calls[0]),
            (Words{"0", "/dev/null", "/dev/null", "1", "/dev/null", "/dev/null"}));
  EXPECT_EQ(tasks_of(step.calls[1]), (Words{"2", "", "", "3", "/dev/null", "/dev/null"}));
  EXPECT_EQ(tasks_of(step_of({{"error", {"3"}}}).calls[1]),
            (Words{"2", "", "/dev/null", "3", "", ""}));
  for (const char* stream : {"output", "error"}) {
    EXPECT_NE(refused({{stream, {"4"}}}).find("=4: the step has 4 tasks, from 0 on"),
              std::string::npos);
  }
}

// Each node says when its tasks have begun, and a step that waits for none takes no turn.
TEST(GangStep, TheFirstTaskOfANodeSaysThatItHasBegun) {
  for (const SrunCall& call : step_of().calls) {
    EXPECT_TRUE(has(call.words, std::string(kBegunMark)));
  }
  EXPECT_FALSE(
      has(step_of({{"nodes", {"1"}}, {"ntasks", {"1"}}}).calls[0].words, std::string(kBegunMark)));
  EXPECT_TRUE(step_of().waits);
  EXPECT_FALSE(step_of({{"overlap", {""}}}).waits);
}

TEST(GangStep, TheFirstTaskGetsTheTerminal) {
  const GangStep step = step_of({{"pty", {""}}, {"label", {""}}});
  EXPECT_TRUE(has(step.calls[0].words, "--pty"));
  EXPECT_TRUE(step.calls[0].has_terminal);
  EXPECT_EQ(step.calls[0].output.path, "");
  EXPECT_FALSE(has(step.calls[0].words, std::string(kBegunMark))) << "it would show there";
  EXPECT_FALSE(has(step.calls[1].words, "--pty"));
  EXPECT_TRUE(has(step.calls[1].words, "--input=none"));
  EXPECT_EQ(step.calls[1].output.path, "/dev/null");
  EXPECT_FALSE(step.label);
  EXPECT_NE(refused({{"pty", {""}}, {"output", {"x"}}}).find("exclude"), std::string::npos);
}

TEST(GangStep, TheProgramIsCopiedToEachNode) {
  const GangStep step = step_of({{"bcast", {"/tmp/p"}}, {"compress", {""}}});
  EXPECT_EQ(step.calls[1].copy, (Words{"--force", "--jobid=71", "--compress", "prog", "/tmp/p"}));
  const Words& words = step.calls[1].words;
  EXPECT_EQ(Words(words.end() - 3, words.end()), (Words{"/tmp/p", "-n", "%j"}));
  EXPECT_TRUE(has(words, "--job-name=prog"));
  EXPECT_FALSE(has(words, "--compress"));
  EXPECT_EQ(step_of({{"bcast", {"/tmp/"}}}).calls[1].copy.back(), "/tmp/slurm_bcast_12.0_n1");
  EXPECT_EQ(step_of({{"bcast", {""}}}).calls[1].copy.back(), "/data/slurm_bcast_12.0_n1");
  EXPECT_EQ(step_of({{"bcast", {"p"}}, {"nodes", {"1"}}, {"ntasks", {"1"}}}).calls[0].copy.back(),
            "/data/p");
  EXPECT_NE(refused({{"bcast", {""}}, {"send-libs", {""}}}).find("LD_LIBRARY_PATH"),
            std::string::npos);
  EXPECT_EQ(refused({{"bcast", {""}}, {"send-libs", {"no"}}}), "");
}

TEST(GangStep, WhatTheExportNamesIsTheUsers) {
  const Words words = step_of({{"export", {"ALL,MASTER_ADDR=there"}}}).calls[0].words;
  EXPECT_FALSE(has(words, "MASTER_ADDR=10.0.0.1"));
  EXPECT_TRUE(has(words, "--export=ALL,MASTER_ADDR=there"));
  EXPECT_TRUE(has(words, "WORLD_SIZE=4"));
}

TEST(GangStep, ProgramsAroundTheStepRunOnce) {
  const GangStep step = step_of({{"prolog", {"/p"}}});
  EXPECT_TRUE(has(step.calls[0].words, "--prolog=/p"));
  EXPECT_FALSE(has(step.calls[1].words, "--prolog=/p"));
}

TEST(GangStep, WhatNoSrunOfOneNodeCanDoIsRefused) {
  EXPECT_NE(refused({{"het-group", {"1"}}}).find("one group"), std::string::npos);
  EXPECT_FALSE(has(step_of({{"het-group", {"0"}}}).calls[0].words, "--het-group=0"));
  EXPECT_NE(refused({{"nodefile", {"/f"}}}).find("--nodelist"), std::string::npos);
  EXPECT_NE(refused({{"wait", {"soon"}}}).find("--wait=soon is no number"), std::string::npos);
  EXPECT_EQ(step_of({{"wait", {"5"}}}).wait_s, 5);
  EXPECT_EQ(step_of({{"wait", {"9999999999999"}}}).wait_s, INT32_MAX);
}

TEST(GangStep, InputOfOneTaskGoesToItsNode) {
  const GangStep step = step_of({{"input", {"3"}}});
  EXPECT_TRUE(has(step.calls[0].words, "--input=none"));
  EXPECT_FALSE(step.calls[0].takes_input);
  EXPECT_TRUE(has(step.calls[1].words, "--input=1"));
  EXPECT_TRUE(step.calls[1].takes_input);
}

TEST(GangStep, GpusOfTheStepAreSplit) {
  EXPECT_TRUE(has(step_of({{"gpus", {"h200:4"}}}).calls[1].words, "--gpus=h200:2"));
  EXPECT_NE(refused({{"gpus", {"3"}}}).find("--gpus-per-node"), std::string::npos);
}

TEST(GangStep, WhatJoinsTasksOfOneNodeOnlyIsRefused) {
  EXPECT_NE(refused({{"mpi", {"pmix"}}}).find("mpirun"), std::string::npos);
  EXPECT_NE(refused({{"mpi", {"pmi2"}}}).find("mpirun"), std::string::npos);
  EXPECT_EQ(refused({{"mpi", {"none"}}}), "");
  EXPECT_EQ(step_of({{"distribution", {"cyclic"}}}).warnings.size(), 1u);
}

TEST(GangStep, FunctionsOfBashPassAPlainShellAndAreInNoCommandLine) {
  GangContext own = context();
  own.environment["BASH_FUNC_module%%"] = "() { :; }";
  const Result<GangStep> step = step_of({}, own);
  EXPECT_TRUE(has(step->environment, "DOVE_FUNCTION_0=BASH_FUNC_module%%=() { :; }"));
  for (const std::string& word : step->calls[0].words) {
    EXPECT_EQ(word.find("() { :; }"), std::string::npos) << word;
  }
}

TEST(GangStep, EachCallSaysWhatItTakesWhere) {
  const GangStep step = step_of({{"cpus-per-task", {"3"}}});
  EXPECT_EQ(step.calls[1].allocation, "71");
  EXPECT_EQ(step.calls[1].cpus, 6);
}

TEST(GangStep, SrunStaysLoudEnoughToSayHowTasksEnd) {
  const Words words = step_of({{"quiet", {"", ""}}}).calls[0].words;
  EXPECT_EQ(std::count(words.begin(), words.end(), "--quiet"), 1);
}

}  // namespace
}  // namespace dove::cli
