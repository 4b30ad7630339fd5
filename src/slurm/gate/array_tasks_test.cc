#include "slurm/gate/array_tasks.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

using Tasks = std::vector<int>;

TEST(ArrayTasks, ThoseBeforeACommaAreTakenFirst) {
  EXPECT_EQ(first_tasks("7", 16), (Tasks{7}));
  EXPECT_EQ(first_tasks("1-4,7%2", 16), (Tasks{1, 2, 3, 4}));
  EXPECT_EQ(first_tasks("0-8:3", 16), (Tasks{0, 3, 6}));
  EXPECT_EQ(first_tasks("0-2147483647", 2), (Tasks{0, 1}));
}

TEST(ArrayTasks, WhatIsNotUnderstoodNamesNone) {
  for (const char* tasks : {"", "x", "-1", "1-x", "1-4:0", "N/A"}) {
    EXPECT_EQ(first_tasks(tasks, 16), Tasks{}) << tasks;
  }
}

TEST(ArrayTasks, AtMostSoManyRunAtOnce) {
  EXPECT_EQ(tasks_at_once("1-4"), 0);
  EXPECT_EQ(tasks_at_once("1-4,7%2"), 2);
  EXPECT_EQ(tasks_at_once("1-4%x"), 1) << "as few as may be";
}

}  // namespace
}  // namespace dove::slurm
