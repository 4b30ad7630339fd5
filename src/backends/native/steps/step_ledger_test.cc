#include "backends/native/steps/step_ledger.h"

#include <gtest/gtest.h>

#include "backends/native/steps/step_waiting.h"

namespace dove::backends {
namespace {

Placement placement() {
  Placement placement;
  placement.node = NodeId(1);
  placement.cores = {0, 1, 2, 3};
  placement.devices = {{0}, {1}};
  placement.memory_bytes = 100;
  return placement;
}

TEST(StepLedger, WhatOneStepHoldsIsNotFreeForAnother) {
  const JobId job(7);
  StepLedger ledger;
  ledger.hold({job, 1, 0}, NodeId(1), {{0, 1}, {{1}}, 60});
  ledger.hold({job, 1, 1}, NodeId(2), {{2}, {{0}}, 60});    // another node
  ledger.hold({job, 2, 0}, NodeId(1), {{2}, {{0}}, 60});    // another attempt
  ledger.hold({JobId(8), 1, 0}, NodeId(1), {{3}, {}, 60});  // another job
  StepHolding left = ledger.free(job, 1, placement());
  EXPECT_EQ(left.cores, CoreSet({2, 3}));
  EXPECT_EQ(left.devices, (std::vector<DeviceGrant>{{0}}));
  EXPECT_EQ(left.memory_bytes, 40);
  EXPECT_TRUE(ledger.release({job, 1, 0}, NodeId(1)));
  EXPECT_FALSE(ledger.release({job, 1, 0}, NodeId(1)));
  left = ledger.free(job, 1, placement());
  EXPECT_EQ(left.cores.size(), 4u);
  EXPECT_EQ(left.memory_bytes, 100);
}

TEST(StepWaiting, OfEqualStepsOnlyTheFirstIsLookedAt) {
  StepWaiting waiting;
  for (int i = 0; i < 1000; ++i) {
    auto step = std::make_shared<WaitingStep>();
    step->job = JobId(1);
    step->attempt = 1;
    step->request.tasks = i == 999 ? 1 : 2;
    waiting.add(step);
  }
  int looks = 0;
  waiting.look(JobId(1), 1, [&](const auto& step) {
    ++looks;
    return step->request.tasks == 1 ? StepWaiting::Outcome::kBegun : StepWaiting::Outcome::kBusy;
  });
  EXPECT_EQ(looks, 2);
  int left = 0;
  waiting.look(JobId(1), 1, [&](const auto&) {
    ++left;
    return StepWaiting::Outcome::kOver;
  });
  EXPECT_EQ(left, 999);
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace dove::backends
