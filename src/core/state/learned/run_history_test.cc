#include "core/state/learned/run_history.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

TEST(RunHistory, BeginsWithTenMinutes) { EXPECT_EQ(RunHistory().likely("1", 1000), seconds(600)); }

TEST(RunHistory, TellsAccountsAndWidthsApart) {
  RunHistory history;
  for (int job = 0; job < 1000; ++job) {
    history.ended("1", 1000, seconds(60));
    history.ended("1", 8000, seconds(3600));
    history.ended("2", 1000, seconds(86'400));
  }
  EXPECT_LT(history.likely("1", 1000), seconds(120));
  EXPECT_NEAR(static_cast<double>(history.likely("1", 8000).us), 3600e6, 60e6);
  EXPECT_GT(history.likely("2", 1000), seconds(80'000));
  // A width that the account never used is its average, an account that is new everybody's.
  EXPECT_NEAR(static_cast<double>(history.likely("1", 2000).us), 1830e6, 300e6);
  EXPECT_EQ(history.likely("3", 1000), history.mean());
}

TEST(RunHistory, OneOddJobDoesNotDecide) {
  RunHistory history;
  for (int job = 0; job < 100; ++job) history.ended("1", 1000, seconds(60));
  history.ended("2", 1000, seconds(1'000'000));
  EXPECT_LT(history.likely("2", 1000), seconds(300'000));
}

}  // namespace
}  // namespace dove::core
