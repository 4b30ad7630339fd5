#include "controller/boot_doubt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "controller/controller_fixture.h"
#include "policies/standard.h"
#include "store/memory/memory_store.h"
#include "telemetry/clock.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kDay_us = 86'400 * kSecond_us;

// A machine that goes off with a job that runs, and is started anew.
struct Booted : testing::Test {
  store::MemoryStore store;
  FakeBackend backend;
  const std::int64_t wall_us = telemetry::now_us();
  std::atomic<std::int64_t> kept_us = 0;
  std::atomic<std::int64_t> doubted_us = 0;
  std::unique_ptr<Controller> controller;

  ~Booted() override { controller->stop(); }
  void start(ControllerOptions options) {
    controller = std::make_unique<Controller>(store, store, backend, std::move(options));
    ASSERT_TRUE(controller->open().ok());
    controller->start();
  }
  void live_until(std::int64_t off_us, bool runs) {
    ControllerOptions options = test_options(policies::standard_policies());
    options.clock = [off_us] { return off_us; };
    start(std::move(options));
    const NodeId node = add_node(*controller, "n1", 1);
    JobSpec spec = small_job();
    spec.time_limit = seconds(3600);
    ASSERT_TRUE(submit_and_wait(*controller, submission(spec)).ok());
    ASSERT_TRUE(submit_and_wait(*controller, PlacementStarted{JobId(1), 1, node}).ok());
    if (!runs) end_job();
    controller->stop();
  }
  void boot(std::int64_t off_since_us) {
    ControllerOptions options = test_options(policies::standard_policies());
    options.off_since_us = off_since_us;
    go_on(std::move(options));
  }
  // In the same boot.
  void restart() {
    controller->stop();
    ControllerOptions options = test_options(policies::standard_policies());
    options.begin_us = kept_us;
    options.doubted_us = doubted_us;
    go_on(std::move(options));
  }
  void go_on(ControllerOptions options) {
    options.keep_time = [this](std::int64_t now_us, std::int64_t, bool, std::int64_t doubt_us) {
      kept_us = now_us;
      doubted_us = doubt_us;
    };
    backend.take();
    start(std::move(options));
    ASSERT_TRUE(submit_and_wait(*controller, NodeConnected{NodeId(1), "boot"}).ok());
  }
  void end_job() {
    const PlacementEnded ended{JobId(1), 1, NodeId(1), {TaskExit{}}, 0, 0};
    ASSERT_TRUE(submit_and_wait(*controller, ended).ok());
  }
  // The controller looks around with each of them.
  void let_it_look() {
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(submit_and_wait(*controller, submission(small_job("later"))).ok());
    }
  }
  bool has_stopped_something() {
    const auto orders = backend.take();
    return std::any_of(orders.begin(), orders.end(), [](const backends::Order& order) {
      return order.kind == backends::OrderKind::kStop;
    });
  }
};

TEST_F(Booted, AClockThatIsFarAheadEndsNoJobUntilItIsKnownToHaveEnded) {
  const std::int64_t off_us = wall_us - 10 * kDay_us;
  live_until(off_us, /*runs=*/true);
  boot(off_us + kSecond_us);
  let_it_look();
  EXPECT_FALSE(has_stopped_something()) << "its limit of an hour";
  EXPECT_LT(controller->now_us(), off_us + 600 * kSecond_us);
  ASSERT_TRUE(controller->leap().has_value()) << "which is told";
  EXPECT_EQ(controller->leap()->code, "clock_leapt");
  EXPECT_NE(controller->leap()->message.find("accept-clock"), std::string::npos);
  end_job();
  let_it_look();
  EXPECT_GE(controller->now_us(), wall_us) << "the clock was right";
  EXPECT_FALSE(controller->leap().has_value());
}

TEST_F(Booted, AControllerThatIsRestartedGoesOnDoubting) {
  const std::int64_t off_us = wall_us - 10 * kDay_us;
  live_until(off_us, /*runs=*/true);
  boot(off_us + kSecond_us);
  let_it_look();
  restart();
  EXPECT_GT(doubted_us, 0);
  // What begins meanwhile tells nothing about the clock.
  add_node(*controller, "n2", 2);
  let_it_look();
  EXPECT_LT(controller->now_us(), off_us + 600 * kSecond_us);
  end_job();
  let_it_look();
  EXPECT_GE(controller->now_us(), wall_us) << "what ran before the boot has ended";
  restart();
  EXPECT_EQ(doubted_us, 0);
}

TEST_F(Booted, AnAdministratorMayKnowBetter) {
  live_until(wall_us - 10 * kDay_us, /*runs=*/true);
  boot(wall_us - 10 * kDay_us);
  ASSERT_TRUE(submit_and_wait(*controller, ClockAccepted{}).ok());
  EXPECT_GE(controller->now_us(), wall_us);
  let_it_look();
  EXPECT_TRUE(has_stopped_something());
}

TEST_F(Booted, WhereNothingRanTheClockIsRight) {
  live_until(wall_us - 10 * kDay_us, /*runs=*/false);
  boot(wall_us - 10 * kDay_us);
  EXPECT_GE(controller->now_us(), wall_us);
}

// A job may run for as long without a controller.
TEST_F(Booted, WithinTheGraceOfAnOutageTheClockIsRight) {
  live_until(wall_us - kDay_us, /*runs=*/true);
  boot(wall_us - kDay_us);
  EXPECT_GE(controller->now_us(), wall_us);
  let_it_look();
  EXPECT_TRUE(has_stopped_something()) << "its limit of an hour";
}

// Nobody wrote anything while it ran, which says nothing about how long it was off.
TEST_F(Booted, WhatCountsIsWhenTheMachineWasLastOn) {
  live_until(wall_us - 10 * kDay_us, /*runs=*/true);
  boot(wall_us - 60 * kSecond_us);
  EXPECT_GE(controller->now_us(), wall_us);
}

}  // namespace
}  // namespace dove::controller
