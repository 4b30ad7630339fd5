#include "cli/commands/list_watch.h"

#include <gtest/gtest.h>

#include "cli/cli_bed_for_test.h"

namespace dove::cli {
namespace {

using std::chrono::milliseconds;

TEST(ListWatch, WhatIsHeldIsDrawnTwiceASecondAtMost) {
  EXPECT_EQ(pause_of({true, milliseconds(100)}, milliseconds(20)), milliseconds(500));
  EXPECT_EQ(pause_of({true, milliseconds(10'000)}, milliseconds(20)), milliseconds(500));
}

TEST(ListWatch, AServerThatHoldsNothingIsAskedEveryTwoSeconds) {
  EXPECT_EQ(pause_of({true, milliseconds(3)}, milliseconds(20)), milliseconds(2000));
  EXPECT_EQ(pause_of({false, milliseconds(5000)}, milliseconds(20)), milliseconds(2000));
}

TEST(ListWatch, ALongListIsDrawnLessOften) {
  EXPECT_EQ(pause_of({true, milliseconds(100)}, milliseconds(1000)), milliseconds(5000));
}

using ListWatchOfServer = CliTest;

TEST_F(ListWatchOfServer, WithoutWatchTheListIsReadOnce) {
  server_.set("GET /v1/nodes", {200, R"({"nodes":[],"next":null,"log_head":3})"});
  EXPECT_EQ(run({"dove", "nodes"}).code, kExitOk);
  EXPECT_EQ(server_.requests().size(), 1U);
}

}  // namespace
}  // namespace dove::cli
