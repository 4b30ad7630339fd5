// An agent whose machine was paused, or its clock set, while it has a session.
#include <gtest/gtest.h>

#include "agent/session/session_test_bed.h"

namespace dove::agent {
namespace {

class LeapTest : public SessionTestBed {
 protected:
  LeapTest() {
    scripted_ = true;
    options_.wall_us = [this] { return loop_.wall_us() + ahead_us_; };
  }
  // Farther than the grace.
  void leap() { ahead_us_ += 3'600'000'000; }
  // For some fences.
  bool renews() {
    const std::size_t before = renewals_.size();
    return until([&] { return renewals_.size() >= before + 12; });
  }
  // That job 7 has started; the report is under way from then on.
  void report_without_answer() {
    connect_agent();
    controller_.unanswered_event = "started";
    controller_.line(launch(7, 1, 1, false));
    ASSERT_TRUE(until([&] { return script_.has("r0"); }));
    script_.start("r0");
    ASSERT_TRUE(reported("started", 7));
  }

  std::int64_t ahead_us_ = 0;
};

TEST_F(LeapTest, AControllerThatAnswersCountsOnTheNode) {
  connect_agent();
  leap();
  EXPECT_TRUE(renews());
  EXPECT_TRUE(agent_->connected());
}

// As while its database fails over: the clock of a node that it counts on may be set meanwhile.
TEST_F(LeapTest, ItIsAskedBesideAReportThatWaitsForAWrite) {
  report_without_answer();
  leap();
  EXPECT_TRUE(renews());
  EXPECT_EQ(count("started", 7), 1) << "it is still waited for";
  EXPECT_EQ(controller_.streams, 1);
  EXPECT_EQ(controller_.reports.back()["events"].size(), 0u);
}

// The placements may differ from the ledger's by the report that is under way.
TEST_F(LeapTest, AQuestionAsksForNoSync) {
  report_without_answer();
  controller_.resync = true;
  leap();
  EXPECT_TRUE(renews());
  EXPECT_EQ(controller_.syncs.size(), 1u);
}

TEST_F(LeapTest, AControllerThatGaveTheNodeUpRenewsNothing) {
  connect_agent();
  controller_.report_status = 410;
  controller_.sync_status = 409;
  leap();
  ASSERT_TRUE(until([&] { return agent_->refused().has_value(); }));
  const std::size_t before = renewals_.size();
  const std::size_t syncs = controller_.syncs.size();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() >= syncs + 2; }));
  EXPECT_EQ(renewals_.size(), before);
}

}  // namespace
}  // namespace dove::agent
