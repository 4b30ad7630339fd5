#include "cli/slurm/gang/srun_lines.h"

#include <gtest/gtest.h>

namespace dove::cli {
namespace {

TEST(SrunLines, TasksThatSrunNamesAreThoseOfTheStep) {
  SrunLines lines(4, 0);
  const auto text = lines.take(
      "srun: error: n1: tasks 0-1,3: Exited with exit code 1\n"
      "srun: StepId=2.5 task 0: running\nsrun: task queue: full\n");
  EXPECT_EQ(text.sruns,
            "srun: error: n1: tasks 4-5,7: Exited with exit code 1\n"
            "srun: StepId=2.5 task 4: running\nsrun: task queue: full\n");
  EXPECT_EQ(text.tasks, "");
  EXPECT_TRUE(lines.has_begun());
}

TEST(SrunLines, WithoutAWordOfItsTasksItHasNotBegunAny) {
  SrunLines lines(4, 0);
  lines.take("srun: error: Unable to create step for job 7: Invalid job id specified\n");
  lines.take("srun: StepId=2.5 tasks 0-1: running\n");
  EXPECT_FALSE(lines.has_begun());
  EXPECT_TRUE(lines.has_refused());
}

TEST(SrunLines, WhatTasksHaveWrittenSaysThatTheyHaveBegun) {
  SrunLines lines(4, 0);
  lines.take("slurmstepd: error: no cgroup\n");
  EXPECT_FALSE(lines.has_begun()) << "the node's daemon";
  lines.take("loading");
  EXPECT_TRUE(lines.has_begun());
  EXPECT_FALSE(lines.has_refused());
}

TEST(SrunLines, TheMarkOfTheFirstTaskIsNotShown) {
  const std::string mark(kBegunMark);
  for (std::size_t cut = 0; cut <= mark.size(); ++cut) {
    SrunLines lines(4, 0);
    std::string tasks = lines.take("50%" + mark.substr(0, cut)).tasks;
    tasks += lines.take(mark.substr(cut) + "done\n" + mark).tasks;
    EXPECT_EQ(tasks, "50%done\n" + mark) << "the second one is a task's own";
    EXPECT_TRUE(lines.has_begun());
  }
  SrunLines alone(4, 0);
  EXPECT_EQ(alone.take("slurmstepd: x\n" + mark).tasks, "slurmstepd: x\n");
  EXPECT_TRUE(alone.has_begun()) << "the task has written nothing";
  SrunLines labelled(4, 2);
  EXPECT_EQ(labelled.take("0: " + mark + "0: text\n").tasks, " 4: text\n");
  EXPECT_TRUE(labelled.has_begun());
  SrunLines other(4, 0);
  EXPECT_EQ(other.take("\001dove").tasks, "");
  EXPECT_EQ(other.finish().tasks, "\001dove");
}

TEST(SrunLines, SrunSaysThatItHasWaitedLongEnough) {
  SrunLines lines(4, 0);
  EXPECT_FALSE(lines.has_waited());
  lines.take("srun: First task exited. Terminating job in 5s\n");
  EXPECT_FALSE(lines.has_waited()) << "with -v, as the time begins";
  lines.take("srun: First task exited 5s ago\n");
  EXPECT_TRUE(lines.has_waited());
}

TEST(SrunLines, AnEndIsReadBehindALineThatATaskHasBegun) {
  for (const bool is_one_piece : {false, true}) {
    SrunLines lines(4, 0);
    const std::string bar = "50%|###";
    if (!is_one_piece) {
      EXPECT_EQ(lines.take(bar).tasks, bar);
    }
    const SrunLines::Text text = lines.take(
        (is_one_piece ? bar : "") + "srun: error: n1: task 0: Exited with exit code 1\nmore\n");
    EXPECT_EQ(text.tasks, (is_one_piece ? bar : "") + "more\n");
    EXPECT_EQ(text.sruns, "srun: error: n1: task 4: Exited with exit code 1\n");
    EXPECT_TRUE(lines.has_begun());
  }
}

TEST(SrunLines, ALineWithoutAnEndIsNotKeptWithoutBound) {
  SrunLines lines(4, 0);
  EXPECT_EQ(lines.take("srun: ").sruns, "");
  EXPECT_GT(lines.take(std::string(2 << 20, 'x')).sruns.size(), 2u << 20);
}

TEST(SrunLines, NothingOfTasksIsHeldBack) {
  SrunLines lines(4, 0);
  EXPECT_EQ(lines.take("10%\r").tasks, "10%\r");
  EXPECT_EQ(lines.take("srun: \nsr").tasks, "srun: \n") << "the end of that line";
  const auto text = lines.take("un: bye\nsru");
  EXPECT_EQ(text.sruns, "srun: bye\n");
  EXPECT_EQ(lines.finish().tasks, "sru");
}

TEST(SrunLines, LabelsAreRanksOfTheStep) {
  SrunLines lines(9, 2);
  EXPECT_EQ(lines.take("0: a\n1: b: 2\nno label\n1:").tasks, " 9: a\n10: b: 2\nno label\n");
  EXPECT_EQ(lines.take(" half").tasks, "");
  EXPECT_EQ(lines.finish().tasks, "10: half");
}

}  // namespace
}  // namespace dove::cli
