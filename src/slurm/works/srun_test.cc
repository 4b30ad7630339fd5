#include "slurm/works/srun.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dove::slurm {
namespace {

StepWanted step() {
  StepWanted step;
  step.slurm_job = 12;
  step.home = "/home/ada";
  step.work.key = {17, 2, "n1"};
  step.work.ranks = {4, 5};
  step.work.cores = 4;
  step.work.user = "ada";
  step.work.name = "train";
  step.work.nodes = 3;
  step.work.node_rank = 2;
  Program& program = step.work.program.emplace();
  program.command = {"python", "a b.py; rm -rf /", "$HOME"};
  program.workdir = "/data";
  program.tasks = {{4, "out", "", {}}, {5, "out", "", {}}};
  return step;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<TaskEnd> said(const char* text) { return ends_said(text, {4, 5, 6, 7}); }

TEST(Srun, RunsInThePlaceholderAlone) {
  const auto words = srun_command(step());
  EXPECT_EQ(words[0], "srun");
  EXPECT_TRUE(has(words, "--jobid=12"));
  EXPECT_TRUE(has(words, "--overlap"));
  EXPECT_TRUE(has(words, "--ntasks=2"));
  EXPECT_TRUE(has(words, "--cpus-per-task=2"));
}

TEST(Srun, WhatUsersWroteIsAnArgumentOfItsOwn) {
  const auto words = srun_command(step());
  const auto at = std::find(words.begin(), words.end(), "--");
  ASSERT_NE(at, words.end());
  EXPECT_EQ(std::vector<std::string>(at + 1, words.end()), step().work.program->command);
  const auto script = std::find(words.begin(), words.end(), "-c") + 1;
  EXPECT_EQ(script->find("rm -rf"), std::string::npos);
}

TEST(Srun, AFileOfAllTasksIsSruns) {
  StepWanted one = step();
  one.work.program->tasks = {{4, "100%", "/e", {}}, {5, "100%", "/e", {}}};
  const auto words = srun_command(one);
  EXPECT_TRUE(has(words, "--output=/data/100%%")) << "which fills in patterns of its own";
  EXPECT_TRUE(has(words, "--error=/e"));
  EXPECT_TRUE(has(words, "--open-mode=append")) << "the first node has made it";
  EXPECT_TRUE(has(words, "-")) << "the task leaves its error output to srun";
  one.work.node_rank = 0;
  EXPECT_TRUE(has(srun_command(one), "--open-mode=truncate"));
}

TEST(Srun, FilesOfTasksAreTheirs) {
  StepWanted one = step();
  one.work.program->tasks = {{4, "4.out", "", std::vector<int>{0}},
                             {5, "/x/5", "", std::vector<int>{}}};
  const auto words = srun_command(one);
  const auto at = std::find(words.begin(), words.end(), "dove-task") + 1;
  EXPECT_EQ(std::vector<std::string>(at, at + 8),
            (std::vector<std::string>{"4", "/data/4.out", "", "0", "5", "/x/5", "", ""}));
  EXPECT_TRUE(has(words, "--output=none"));
}

TEST(Srun, AScriptRunsOnceWithAllCores) {
  StepWanted one = step();
  one.work.program->script = "#!/bin/sh\n";
  const auto words = srun_command(one);
  EXPECT_TRUE(has(words, "--ntasks=1"));
  EXPECT_TRUE(has(words, "--cpus-per-task=4"));
}

TEST(Srun, AScriptOfSeveralNodesIsToldWhatHoldsThem) {
  StepWanted one = step();
  EXPECT_FALSE(runs_script_of_several(one.work)) << "a command";
  one.work.program->script = "#!/bin/sh\n";
  EXPECT_TRUE(runs_script_of_several(one.work));
  one.all_nodes = {{12, 4}, {15, 4}, {13, 2}};
  const auto all = srun_environment(one, "");
  EXPECT_TRUE(has(all, "DOVE_SLURM_ALLOCATIONS=12,15,13"));
  EXPECT_TRUE(has(all, "DOVE_CPUS_PER_NODE=4(x2),2"));
}

TEST(Srun, TheEnvironmentIsTheJobsAndNothingOfSruns) {
  StepWanted one = step();
  one.work.program->environment = {{"A", "x y"},
                                   {"SLURM_JOB_ID", "9"},
                                   {"SRUN_X", "1"},
                                   {"SLURM_ARRAY_TASK_ID", "3"},
                                   {"SLURM_SUBMIT_HOST", "login"},
                                   {"HOME", "/root"}};
  const auto all = srun_environment(one, "/etc/s.conf");
  EXPECT_TRUE(has(all, "A=x y"));
  EXPECT_TRUE(has(all, "HOME=/home/ada"));
  EXPECT_TRUE(has(all, "USER=ada"));
  EXPECT_TRUE(has(all, "SLURM_CONF=/etc/s.conf"));
  EXPECT_TRUE(has(all, "SLURM_ARRAY_TASK_ID=3"));
  EXPECT_TRUE(has(all, "SLURM_SUBMIT_HOST=login"));
  EXPECT_FALSE(has(all, "SLURM_JOB_ID=9"));
  EXPECT_FALSE(has(all, "SRUN_X=1"));
}

TEST(Srun, FunctionsOfBashPassAPlainShellAndAreInNoCommandLine) {
  StepWanted one = step();
  one.work.program->environment = {{"BASH_FUNC_module%%", "() { secret; }"}};
  EXPECT_TRUE(has(srun_environment(one, ""), "DOVE_FUNCTION_0=BASH_FUNC_module%%=() { secret; }"));
  for (const char* script : {"", "#!/bin/sh\n"}) {
    one.work.program->script = script;
    const auto words = srun_command(one);
    const auto shell = std::find(words.begin(), words.end(), "-c") + 1;
    EXPECT_NE(shell->find("$DOVE_FUNCTION_"), std::string::npos);
    for (const std::string& word : words) EXPECT_EQ(word.find("secret"), std::string::npos);
  }
}

TEST(Srun, EndsAreReadFromWhatItSays) {
  const auto ends = said(
      "srun: error: n1: tasks 0-1: Exited with exit code 3\n"
      "srun: error: n1: task 3: Killed\nsrun: Force Terminated StepId=1.1\n");
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(ends[0], (TaskEnd{4, 3, 0, ""}));
  EXPECT_EQ(ends[1], (TaskEnd{5, 3, 0, ""}));
  EXPECT_EQ(ends[2], (TaskEnd{7, 0, 9, ""}));
  EXPECT_EQ(said("srun: error: n1: task 0: Segmentation fault (core dumped)\n")[0].signal, 11);
  EXPECT_EQ(said("srun: error: n1: task 0: Out Of Memory\n")[0].cause, "out_of_memory");
}

TEST(Srun, WhatItDidNotSayIsNotRead) {
  EXPECT_TRUE(said("srun: error: n1: task 0: Exited with exit co").empty()) << "half a line";
  EXPECT_TRUE(said("srun: error: n1: task 9: Killed\n").empty());
  EXPECT_TRUE(said("srun: error: n1: task 0-: Killed\n").empty());
  EXPECT_TRUE(said("srun: error: Unable to create step: task 1 2: x\nhello\n").empty());
}

TEST(Srun, OnesThatEndedWellAreNotNamed) {
  const auto ends = ends_of("srun: error: n1: task 1: Exited with exit code 2\n", 2, {4, 5});
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0], (TaskEnd{4, 0, 0, ""}));
  EXPECT_EQ(ends[1], (TaskEnd{5, 2, 0, ""}));
  EXPECT_EQ(ends_of("", 0, {4, 5}).size(), 2u);
  EXPECT_TRUE(ends_of("srun: error: Invalid job id specified\n", 1, {4, 5}).empty());
  EXPECT_EQ(why_not_begun("a\nsrun: error: Invalid job id specified\n", 1),
            "srun: error: Invalid job id specified");
}

}  // namespace
}  // namespace dove::slurm
